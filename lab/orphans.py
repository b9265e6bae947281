"""Finds and ends the plugins of a killed engine."""

from __future__ import annotations

import contextlib

import psutil

from lab.instance import Instance

DYNAMIC = "pulumi-resource-pulumi-python"  # a script: it starts Python beside itself


def end(instance: Instance) -> None:
    """End the plugins of a killed `pulumi`: docker-build's takes minutes to notice, Python's never does."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            parent = process.parent()
            # The docker plugin and the one for dynamic resources are two programs: one is the child of the other.
            is_kept = parent is not None and (parent.name() == "pulumi" or _is_plugin(parent, instance))
            if _is_plugin(process, instance) and not is_kept:
                is_script = not _exe(process).startswith(_plugins(instance))
                below = [child for child in process.children() if is_script or _is_plugin(child, instance)]
                for each in (process, *below) if is_script else (process,):
                    each.terminate()
                found += [*below, process]
    stubborn = psutil.wait_procs(found, timeout=5)[1]
    for process in stubborn:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(stubborn, timeout=5)


def _plugins(instance: Instance) -> str:
    return str(instance.config / "pulumi" / "plugins")


def _is_plugin(process: psutil.Process, instance: Instance) -> bool:
    """A program in the engine's cache, or the shell that runs the dynamic resources' plugin."""
    if _exe(process).startswith(_plugins(instance)):
        return True
    try:
        return str(instance.config / "bin" / DYNAMIC) in process.cmdline()[:2]
    except psutil.Error:
        return False


def _exe(process: psutil.Process) -> str:
    """Empty if it is another user's and cannot be read."""
    try:
        return str(process.exe())
    except psutil.Error:
        return ""
