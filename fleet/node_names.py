"""Node names in a fleet's settings: single names and ranges such as n01-n12."""

import re
from collections.abc import Iterable

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_RANGE = re.compile(r"(?P<prefix>.*?)(?P<first>[0-9]+)-(?P=prefix)(?P<last>[0-9]+)")
_LONGEST = 253  # characters of a Kubernetes node name
_MOST = 5000  # nodes in one range: what Kubernetes supports in one cluster; more is a typo


class NodeNameError(ValueError):
    """An entry that is neither a node name nor a range. `reason` and `fix` follow it in the message."""

    def __init__(self, entry: str, reason: str, fix: str) -> None:
        super().__init__(f'"{entry}" {reason}: {fix}')
        self.reason = reason
        self.fix = fix


def expand(entry: str) -> tuple[str, ...]:
    """Names of one entry: one for `n18`, twelve with leading zeros for `n01-n12`. Raises NodeNameError.

    Both ends of a range have the same letters, so `gpu-1` and `n1-2` are names, not ranges.
    """
    match = _RANGE.fullmatch(entry) if len(entry) <= 2 * _LONGEST + 1 else None
    names = _range(entry, match["prefix"], match["first"], match["last"]) if match else (entry,)
    if all(len(name) <= _LONGEST and _NAME.fullmatch(name) for name in (names[0], names[-1])):
        return names
    raise NodeNameError(
        entry, "is not a node name or a range of them", "write names as kubectl get nodes shows them, or n01-n12"
    )


def expand_all(entries: Iterable[str]) -> tuple[str, ...]:
    """Names of all entries in their order; an entry that is listed twice counts twice. Raises NodeNameError."""
    found: list[str] = []
    for entry in entries:
        found += expand(entry)
        if len(found) > _MOST:
            raise NodeNameError(entry, f"have more than {_MOST} nodes", "a cluster takes no more: check the ranges")
    return tuple(found)


def _range(entry: str, prefix: str, first: str, last: str) -> tuple[str, ...]:
    width = len(first) if len(first) == len(last) else 0
    if not width and (first.startswith("0") or last.startswith("0")):
        raise NodeNameError(entry, "has ends of different length", "give both the same number of digits, as in n01-n12")
    if int(first) > int(last):
        raise NodeNameError(entry, "runs backwards", f"write {prefix}{last}-{prefix}{first}")
    if int(last) - int(first) >= _MOST:
        raise NodeNameError(entry, f"has more than {_MOST} nodes", "a cluster takes no more: check the last number")
    return tuple(f"{prefix}{number:0{width}d}" for number in range(int(first), int(last) + 1))
