"""A node's packet filter chains, and how to remove exactly those. Pure, but for two calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lab import processes

if TYPE_CHECKING:
    from collections.abc import Collection

    from lab.servers import Tools

# kubelet and kube-proxy, the CNI plugins, and the lab's own guard.
OURS = re.compile(r"KUBE-|CNI-|GPU-COMMONS-")
FAMILIES = ("iptables", "ip6tables")


def chains(saved: str) -> set[str]:
    """User-defined chains in the output of `iptables-save` that a node would create."""
    names = (line[1:].split()[0] for line in saved.splitlines() if line.startswith(":"))
    return {name for name in names if OURS.match(name)}


def render_removal(saved: str, keep: Collection[str]) -> str:
    """Input for `iptables-restore --noflush` that deletes our chains and every rule that jumps to one.

    `saved` is the output of `iptables-save`; chains in `keep` are older than the lab and stay. Empty if there is
    nothing to delete.
    """
    ours = chains(saved) - set(keep)
    tables = []
    for table in re.split(r"^(?=\*)", saved, flags=re.MULTILINE):
        lines = table.splitlines()
        here = [line[1:].split()[0] for line in lines if line.startswith(":")]
        mine = [name for name in here if name in ours]
        if not mine:
            continue
        rules = [line for line in lines if line.startswith("-A ")]
        jumps = [rule for rule in rules if rule.split()[1] not in ours and _target(rule) in ours]
        tables += [
            lines[0],
            *(f"-D {rule.removeprefix('-A ')}" for rule in jumps),
            *(f"-F {name}" for name in mine),
            *(f"-X {name}" for name in mine),
            "COMMIT",
        ]
    return "\n".join(tables) + "\n" if tables else ""


def _target(rule: str) -> str | None:
    found = re.search(r" (?:-j|-g) (\S+)", rule)
    return found[1] if found else None


def present(tools: Tools) -> set[str]:
    """Existing IPv4 and IPv6 chains that a node would create."""
    return {name for family in FAMILIES for name in chains(_save(tools, family))}


def remove(tools: Tools, keep: Collection[str]) -> None:
    """Remove our chains, both families. Does nothing if there are none."""
    for family in FAMILIES:
        if text := render_removal(_save(tools, family), keep):
            restore(tools, text, family)


def restore(tools: Tools, text: str, family: str = "iptables") -> None:
    """Apply text in the format of `iptables-restore` to the present rules, in one step per table."""
    processes.run([_program(tools, f"{family}-restore"), "--wait", "20", "--noflush"], stdin=text)


def _save(tools: Tools, family: str) -> str:
    return processes.run([_program(tools, f"{family}-save")])


def _program(tools: Tools, name: str) -> str:
    # All of Debian's iptables programs are in one folder.
    return str(tools.path("iptables").with_name(name))
