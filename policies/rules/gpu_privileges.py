"""Privileges that reach every GPU of a node: privileged, capabilities, processes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleet.unknown import UNKNOWN
from policies.finding import Finding, Level
from policies.host_paths import names_gpus, plain
from policies.model import Container, Workload
from policies.wording import KUBERNETES

ROOT_CAPABILITIES = {"ALL", "SYS_ADMIN"}
# These let a container enter every process it sees.
ENTERING_CAPABILITIES = {*ROOT_CAPABILITIES, "SYS_PTRACE"}


def is_true(value: Any) -> bool:
    """True as boolean or text: a program that reads YAML may pass text."""
    return value is True or (isinstance(value, str) and value.lower() == "true")


def privileges(container: Container, workload: Workload) -> Iterator[Finding]:
    """A container that may escape isolation, or enter the node's processes: nsenter, /proc/1/root."""
    called, node = container.place, workload.words.node
    if container.privileged is UNKNOWN:
        yield Finding(f"it is not known yet whether {called} is privileged", Level.UNPROVED)
    elif is_true(container.privileged):
        yield Finding(
            f"{called} is privileged: it reaches every GPU of the {node}",
            remedy=f"Remove privileged: true; {workload.words.requests}.",
        )
    if UNKNOWN in container.capabilities:
        yield Finding(f"the capabilities of {called} are not known yet", Level.UNPROVED)
    for name in sorted(ROOT_CAPABILITIES.intersection(container.capabilities)):
        yield Finding(
            f"{called} has the capability {name}, which lets it leave its container and reach every GPU",
            Level.WARN,
            remedy="Add only the capability that it needs.",
        )
    entering = sorted(ENTERING_CAPABILITIES.intersection(container.capabilities))
    mounted = [each.path for each in workload.host_paths if isinstance(each.path, str) and plain(each.path) == "/proc"]
    shares = is_true(workload.sees_processes)
    if entering and (shares or mounted):
        through = workload.words.processes if shares else f"hostPath {mounted[0]}"
        yield Finding(
            f"{called} sees the processes of the {node} through {through} and can enter them with "
            f"{entering[0]}: it reaches every GPU",
            remedy="Remove one of the two.",
            names_gpus=not shares and names_gpus(mounted[0]),
        )


def host_processes(workload: Workload) -> Iterator[Finding]:
    """A workload that sees its node's processes."""
    words = workload.words
    if workload.sees_processes is UNKNOWN:
        yield Finding(f"it is not known yet whether it sees the processes of the {words.node}", Level.UNPROVED)
    elif is_true(workload.sees_processes):
        yield Finding(
            f"{words.processes} exposes the processes of the {words.node}, including those that use other people's "
            "GPUs",
            Level.WARN,
            remedy="Remove hostPID: true." if words == KUBERNETES else "Remove pidMode.",
        )
