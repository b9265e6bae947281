"""Records a lab's changes to the machine outside its own folder before making them, and undoes them in reverse.

So a killed `make up` leaves nothing unknown, and undoing twice does no harm. The record has the earlier values, so that
a setting returns to the user's value and not to a default.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from lab.instance import Instance


class Kind(StrEnum):
    ADDRESS = "address"  # on the loopback device
    ROUTE = "route"  # to nowhere
    SETTING = "setting"  # a kernel setting, by its path below /proc/sys
    CHAINS = "chains"  # of iptables; `before` lists those that are not ours
    CGROUP = "cgroup"  # of one hierarchy each, with the empty ones below it
    LINK = "link"  # a network device, with the devices attached to it
    FOLDER = "folder"  # removed with its contents
    SHARED_FOLDER = "shared folder"  # removed once it is empty
    LOGIN_FOLDER = "login folder"  # empty, shared by every sshd of the machine
    ACCOUNT = "account"  # a user of this machine
    PUBLIC_FOLDER = "public folder"  # outlives `make down`, like the instance's data


@dataclass(frozen=True, slots=True)
class Trace:
    kind: Kind
    value: str
    before: str = ""


def traces(instance: Instance) -> list[Trace]:
    """Changes of this lab that are not undone yet, oldest first."""
    try:
        rows = json.loads(_path(instance).read_text())
    except FileNotFoundError:
        return []
    return [Trace(Kind(row["kind"]), row["value"], row["before"]) for row in rows]


def record(instance: Instance, trace: Trace) -> None:
    """Record `trace`. A known one keeps its first `before`: that was the user's value."""
    known = traces(instance)
    if not any((one.kind, one.value) == (trace.kind, trace.value) for one in known):
        _write(instance, [*known, trace])


def undo(instance: Instance, ways: Mapping[Kind, Callable[[Trace], None]]) -> None:
    """Undo the traces that `ways` can undo, last first; each is forgotten as soon as it is undone.

    A way that raises ends the work; the rest stays in the record for the next try.
    """
    for trace in reversed(traces(instance)):
        if trace.kind in ways:
            ways[trace.kind](trace)
            _write(instance, [one for one in traces(instance) if one != trace])


def _write(instance: Instance, known: list[Trace]) -> None:
    draft = _path(instance).with_suffix(".tmp")
    draft.write_text(json.dumps([asdict(trace) for trace in known], indent=2) + "\n")
    draft.replace(_path(instance))


def _path(instance: Instance) -> Path:
    # Not in `run`: the only *.json there are the lab's process records.
    return instance.home / "traces.json"
