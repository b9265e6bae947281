"""Privileges with which a container reaches every GPU of its node: privileged, capabilities, processes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fleet.unknown import UNKNOWN, Unknown, mapping_at
from policies.finding import Finding, Level
from policies.host_paths import plain
from policies.shapes import at, is_list, items

ROOT_CAPABILITIES = {"ALL", "SYS_ADMIN"}
# With these a container enters every process that it sees.
ENTERING_CAPABILITIES = {*ROOT_CAPABILITIES, "SYS_PTRACE"}


def is_true(value: Any) -> bool:
    """Also as text: who reads YAML may have written it so."""
    return value is True or (isinstance(value, str) and value.lower() == "true")


def privileges(path: str, container: Mapping[str, Any]) -> Iterator[Finding]:
    privileged = at(container, "securityContext", "privileged")
    if privileged is UNKNOWN:
        yield Finding(f"it is not known yet whether {path} is privileged", Level.UNPROVED)
    elif is_true(privileged):
        yield Finding(
            f"{path} is privileged: it reaches every GPU of the node",
            remedy="Remove privileged: true; request a GPU in resources.limits (nvidia.com/gpu).",
        )
    added = _added(container)
    if UNKNOWN in added:
        yield Finding(f"the capabilities of {path} are not known yet", Level.UNPROVED)
    for name in sorted(ROOT_CAPABILITIES & set(map(str, added))):
        yield Finding(
            f"{path} has the capability {name}, which lets it leave its container and reach every GPU",
            Level.WARN,
            remedy="Add only the capability that it needs.",
        )


def enters(path: str, container: Mapping[str, Any], pod: Mapping[str, Any]) -> Iterator[Finding]:
    """A container that sees the processes of the node, and may enter them: nsenter, /proc/1/root."""
    entering = sorted(ENTERING_CAPABILITIES & set(map(str, _added(container))))
    sees = ["hostPID"] if is_true(pod.get("hostPID")) else []
    for where in (at(volume, "hostPath", "path") for volume in items(pod.get("volumes"))):
        sees += [f"hostPath {where}"] if isinstance(where, str) and plain(where) == "/proc" else []
    if entering and sees:
        yield Finding(
            f"{path} sees the processes of the node through {sees[0]} and can enter them with {entering[0]}: "
            "it reaches every GPU",
            remedy="Remove one of the two.",
            names_gpus="nvidia" in sees[0],
        )


def host_processes(pod: Mapping[str, Any]) -> Iterator[Finding]:
    shares = pod.get("hostPID")
    if shares is UNKNOWN:
        yield Finding("it is not known yet whether it sees the processes of the node", Level.UNPROVED)
    elif is_true(shares):
        yield Finding(
            "hostPID exposes the processes of the node, including those that use other people's GPUs",
            Level.WARN,
            remedy="Remove hostPID: true.",
        )


def _added(container: Mapping[str, Any]) -> list[str | Unknown]:
    """Names of the capabilities that it adds, and UNKNOWN for what is not known yet of them."""
    added = at(mapping_at(container, "securityContext"), "capabilities", "add")
    listed = [UNKNOWN] if added is UNKNOWN else added if is_list(added) else ()
    return [each if each is UNKNOWN else str(each).upper().removeprefix("CAP_") for each in listed]
