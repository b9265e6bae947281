"""Refreshes a stack after the lab's AWS was restarted and lost everything, so that an update creates it again.

Without the refresh, an update would compare the program with resources that are gone, and change nothing.
"""

from __future__ import annotations

from pathlib import Path

from lab import engine, files, processes, state
from lab.instance import Instance
from lab.servers import moto
from lab.toolchain import Report, Toolchain


def refresh(instance: Instance, tools: Toolchain, stack: str, report: Report) -> None:
    """Remove what is gone from the stack's state, if its account has ended."""
    if not processes.is_running(instance, moto.NAME):
        return
    record, current = _record(instance, stack), moto.account(instance)
    before = record.read_text(encoding="utf-8") if record.exists() else current
    if before != current:
        report("the lab's AWS was restarted and is empty: pulumi refresh removes its former resources from the state …")
        command = [engine.program(instance, tools), "refresh", "--yes", "--skip-preview", "--non-interactive"]
        env = engine.environment(instance, tools)
        processes.run([*command, "--stack", stack], cwd=engine.PROJECT, env=env, timeout_s=900)
    # Before the update and not after it: a killed one has also created things in this account.
    files.write(record, current)


def _record(instance: Instance, stack: str) -> Path:
    """The account of a stack's last deployment; kept with the stack's state."""
    return state.folder(instance) / f"{stack}.aws-account"
