"""Privileges that reach every GPU of a node: privileged, capabilities, processes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fleet.unknown import UNKNOWN, Unknown, mapping_at
from policies.finding import Finding, Level
from policies.host_paths import names_gpus, plain
from policies.shapes import at, is_list, items
from policies.wording import Vocabulary

ROOT_CAPABILITIES = {"ALL", "SYS_ADMIN"}
# These let a container enter every process it sees.
ENTERING_CAPABILITIES = {*ROOT_CAPABILITIES, "SYS_PTRACE"}


def is_true(value: Any) -> bool:
    """True as boolean or text: a program that reads YAML may pass text."""
    return value is True or (isinstance(value, str) and value.lower() == "true")


def privileges(path: str, container: Mapping[str, Any], words: Vocabulary) -> Iterator[Finding]:
    """A container that may escape isolation; `path` is its place in the pod."""
    called = words.place(path)
    privileged = at(container, "securityContext", "privileged")
    if privileged is UNKNOWN:
        yield Finding(f"it is not known yet whether {called} is privileged", Level.UNPROVED)
    elif is_true(privileged):
        yield Finding(
            f"{called} is privileged: it reaches every GPU of the {words.node}",
            remedy=f"Remove privileged: true; {words.request_a_gpu}.",
        )
    added = _added(container)
    if UNKNOWN in added:
        yield Finding(f"the capabilities of {called} are not known yet", Level.UNPROVED)
    for name in sorted(ROOT_CAPABILITIES & set(map(str, added))):
        yield Finding(
            f"{called} has the capability {name}, which lets it leave its container and reach every GPU",
            Level.WARN,
            remedy="Add only the capability that it needs.",
        )


def enters(path: str, container: Mapping[str, Any], pod: Mapping[str, Any], words: Vocabulary) -> Iterator[Finding]:
    """A container that sees the node's processes and may enter them: nsenter, /proc/1/root."""
    entering = sorted(ENTERING_CAPABILITIES & set(map(str, _added(container))))
    mounted = [at(volume, "hostPath", "path") for volume in items(pod.get("volumes"))]
    by_paths = [where for where in mounted if isinstance(where, str) and plain(where) == "/proc"]
    shares = is_true(pod.get("hostPID"))
    if entering and (shares or by_paths):
        through = words.host_pid if shares else f"hostPath {by_paths[0]}"
        yield Finding(
            f"{words.place(path)} sees the processes of the {words.node} through {through} and can enter them with "
            f"{entering[0]}: it reaches every GPU",
            remedy="Remove one of the two.",
            names_gpus=not shares and names_gpus(by_paths[0]),
        )


def host_processes(pod: Mapping[str, Any], words: Vocabulary) -> Iterator[Finding]:
    """A pod that sees its node's processes."""
    shares = pod.get("hostPID")
    if shares is UNKNOWN:
        yield Finding(f"it is not known yet whether it sees the processes of the {words.node}", Level.UNPROVED)
    elif is_true(shares):
        yield Finding(
            f"{words.host_pid} exposes the processes of the {words.node}, including those that use other people's GPUs",
            Level.WARN,
            remedy=words.remove_host_pid,
        )


def _added(container: Mapping[str, Any]) -> list[str | Unknown]:
    """Its added capabilities, with UNKNOWN for those not known yet."""
    added = at(mapping_at(container, "securityContext"), "capabilities", "add")
    listed = [UNKNOWN] if added is UNKNOWN else added if is_list(added) else ()
    return [each if each is UNKNOWN else str(each).upper().removeprefix("CAP_") for each in listed]
