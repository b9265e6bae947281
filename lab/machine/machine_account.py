"""Temporary user accounts for a lab on this machine.

It has no password, no rights, and no file outside the lab's own folders.
"""

from __future__ import annotations

import contextlib
import os
import pwd
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from lab import processes
from lab.machine import traces
from lab.machine.traces import Kind, Trace

if TYPE_CHECKING:
    from lab.instance import Instance

NO_PASSWORD = "*"  # no password fits, and sshd does not consider the account locked  # noqa: S105


def ensure(instance: Instance, name: str, home: Path) -> pwd.struct_passwd:
    """The account; creates a missing one, with its earlier uid if that is free."""
    if (found := _find(name)) is None:
        traces.record(instance, Trace(Kind.ACCOUNT, name))
        before = home.stat().st_uid if home.exists() else 0
        number = ["--uid", str(before)] if before and not _is_taken(before) else []
        options = ["--system", "--user-group", "--no-create-home", "--home-dir", str(home), "--shell", "/bin/bash"]
        processes.run(["useradd", *options, *number, "--password", NO_PASSWORD, name])
        found = pwd.getpwnam(name)
    return found


def give(account: pwd.struct_passwd, folder: Path, *, mode: int) -> None:
    """Give the account a folder and all its contents; needed again if its uid has changed."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_uid != account.pw_uid:
        for path in (*folder.rglob("*"), folder):
            os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
    folder.chmod(mode)


def end_processes(name: str) -> None:
    """End all processes of the account."""
    if (found := _find(name)) is None:
        return
    ours = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if found.pw_uid in process.uids():
                process.kill()
                ours.append(process)
    psutil.wait_procs(ours, timeout=10)


def end_all_processes(instance: Instance) -> None:
    """End all processes of any account of the lab."""
    for trace in traces.traces(instance):
        if trace.kind is Kind.ACCOUNT:
            end_processes(trace.value)


def remove(instance: Instance) -> None:
    """Remove the lab's accounts and end their processes. Safe to repeat."""
    traces.undo(instance, {Kind.ACCOUNT: lambda trace: _remove(trace.value)})


def exists(name: str) -> bool:
    """Whether the machine has such an account."""
    return _find(name) is not None


def _remove(name: str) -> None:
    end_processes(name)
    if _find(name) is not None:
        processes.run(["userdel", "--force", name])


def _find(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _is_taken(number: int) -> bool:
    try:
        pwd.getpwuid(number)
    except KeyError:
        return False
    return True
