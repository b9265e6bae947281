"""An AWS of the lab's that was started anew has nothing any more: a refresh says so, and an update makes it again.

Without the refresh an update would compare the program with a state of things that are gone, and change nothing.
"""

from __future__ import annotations

from pathlib import Path

from lab import engine, files, processes, state
from lab.instance import Instance
from lab.servers import moto
from lab.toolchain import Report, Toolchain


def refresh(instance: Instance, tools: Toolchain, stack: str, report: Report) -> None:
    """Take what is gone out of the stack's state, where it was deployed in an account that has ended."""
    if not processes.is_running(instance, moto.NAME):
        return
    record, current = _record(instance, stack), moto.account(instance)
    before = record.read_text(encoding="utf-8") if record.exists() else current
    if before != current:
        report("the lab's AWS was restarted and is empty: pulumi refresh removes its former resources from the state …")
        command = [engine.program(instance, tools), "refresh", "--yes", "--skip-preview", "--non-interactive"]
        env = engine.environment(instance, tools)
        processes.run([*command, "--stack", stack], cwd=engine.PROJECT, env=env, timeout_s=900)
    # Before the update and not after it: one that is killed has made things in this account, too.
    files.write(record, current)


def _record(instance: Instance, stack: str) -> Path:
    """The account that a stack was last deployed in; it lives and dies with the stack's state."""
    return state.folder(instance) / f"{stack}.aws-account"
