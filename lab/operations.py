"""Previews and updates of a stack: a line for each change as it happens, and proof that the policy pack ran."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final

from cli.engine_events import StreamError, read_stream
from imaging.build.buildkit import Buildctl
from lab import engine, full_disk, processes, unready_pods
from lab.build_logs import failed_build
from lab.instance import LabError
from lab.progress import Mode, Progress
from lab.servers import buildkit

if TYPE_CHECKING:
    from pathlib import Path

    from lab.instance import Instance
    from lab.toolchain import Toolchain

EVENT_LOG: Final = {"PULUMI_DEBUG_COMMANDS": "true"}  # the engine's switch for --event-log
QUIET_FOR_S: Final = 30


class Detail(Enum):
    """How much of an operation is shown."""

    CHANGES = "changes"  # a line for each resource that changes
    EVERYTHING = "everything"  # the engine's own display


@dataclass(frozen=True, slots=True)
class Ended:
    """An ended operation: its exit code, and what to print at the very end."""

    code: int
    notices: Sequence[str] = ()


def preview(instance: Instance, tools: Toolchain, stack: str, detail: Detail, events: Path | None) -> Ended:
    """A preview on our terminal; also writes the engine's events to a file if given."""
    log = (events or instance.run / "events.json").absolute()
    log.unlink(missing_ok=True)  # the engine appends
    args = ["preview", "--stack", stack, "--event-log", str(log)]
    try:
        if detail is Detail.EVERYTHING:
            shown = args if events else [*args, "--diff"]
            return Ended(engine.pulumi(instance, tools, shown, **EVENT_LOG))
        return _shown(instance, tools, args, log, _progress(instance, tools, Mode.PREVIEW))
    finally:
        if events is None:
            log.unlink(missing_ok=True)


def _shown(instance: Instance, tools: Toolchain, args: Sequence[str], events: Path, progress: Progress) -> Ended:
    """Run an operation and print the lines for its events."""
    outputs = (processes.log_path(instance, "pulumi"), processes.log_path(instance, "pulumi-errors"))
    last_shown = time.time()

    def take(lines: Sequence[str]) -> None:
        nonlocal last_shown
        new = [line for event in lines for line in progress.take(json.loads(event))]
        if not new and time.time() - last_shown > QUIET_FOR_S:
            new = [waits] if (waits := progress.waits_for(time.time())) else []
        if new:
            last_shown = time.time()
            print("\n".join(new), flush=True)

    code = processes.follow(
        [engine.program(instance, tools), *args, "--non-interactive", "--color", "never"],
        cwd=engine.PROJECT,
        env={**engine.environment(instance, tools), **EVENT_LOG},
        outputs=outputs,
        lines_of=events,
        take=take,
    )
    # Before its first event and after its last one, the engine only writes to its error stream.
    reported = "\n".join(progress.reported)
    errors = outputs[1].read_text(errors="replace")
    if others := [line for line in errors.splitlines() if _plain(line) and _plain(line) not in reported]:
        print("\n".join(others), flush=True)
    if code and not progress.has_error and not errors.strip():
        print(processes.tail(outputs[0]), flush=True)
    return Ended(code, tuple(progress.notices))


def _progress(instance: Instance, tools: Toolchain, mode: Mode) -> Progress:
    builder = Buildctl(tools.path("buildctl"), f"unix://{buildkit.socket_path(instance)}")
    return Progress(mode, builder, partial(failed_build, builder))


def _plain(line: str) -> str:
    """A line of the error stream in the form of an event."""
    return line.strip().removeprefix("error: ").removeprefix("warning: ")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The policy pack's work in one operation."""

    packs: tuple[str, ...]  # name and version of each pack that was loaded
    resources: int  # resources it looked at
    advice: int  # messages that refuse nothing

    def __str__(self) -> str:
        hints = "hint" if self.advice == 1 else "hints"
        advice = f", {self.advice} {hints} above" if self.advice else ""
        return f"{', '.join(self.packs)} looked at {self.resources} resources and refused none{advice}"


def up(instance: Instance, tools: Toolchain, stack: str, detail: Detail) -> tuple[Verdict, Sequence[str]]:
    """`pulumi up`, with proof that the policy pack ran, and what to print at the very end.

    Raises LabError if the update fails, and if no pack looked at any resource.
    """
    events = instance.run / "events.json"
    events.unlink(missing_ok=True)
    before = full_disk.log_sizes(instance)
    again = instance.make("up", stack)
    args = ["up", "--yes", "--skip-preview", "--stack", stack, "--event-log", str(events)]
    try:
        if detail is Detail.EVERYTHING:
            ended = Ended(engine.pulumi(instance, tools, args, **EVENT_LOG))
        else:
            ended = _shown(instance, tools, args, events, _progress(instance, tools, Mode.UPDATE))
        if ended.code != 0:
            raise LabError(
                f"pulumi up ended with exit code {ended.code}; the output above says why.\n"
                f"{full_disk.reason(instance, before)}{unready_pods.explained(instance)}"
                f"The servers keep running. Try again: {again} ({again} V=1 shows everything). Logs: {instance.logs}"
            )
        return read_verdict(events.read_bytes()), ended.notices
    finally:
        events.unlink(missing_ok=True)  # it holds inputs of resources: nobody needs them after the verdict


def read_verdict(event_log: bytes) -> Verdict:
    """The pack's work, from an engine's event log. Raises LabError if it did none."""
    nothing = "the update ran, but no policy pack looked at any resource: nothing was proved"
    try:
        events = read_stream(event_log)
    except StreamError:
        raise LabError(f"{nothing}; the engine left no events of it") from None
    if not events.looked_at:
        raise LabError(nothing)
    packs = sorted(f"{name} {version}".strip() for name, version in events.packs.items())
    return Verdict(tuple(packs), len(events.looked_at), len(events.messages))
