"""The executable that `pulumi` looks for: writes it, and tells it apart from an official one."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

MARK = "stand-in for pulumi-language-python, written by gpu-commons"
PROJECT = Path(__file__).resolve().parents[2]

# A shell script and not a shebang: a path may be too long for the kernel there, or contain a space.
# `-I`: neither PYTHONPATH nor the caller's folder decides what the host imports. `exec`: one process,
# the one that the engine interrupts.
TEMPLATE = """\
#!/bin/sh
# {mark}
exec {python} -I -c {start} {project} --exec-script "${{0%/*}}/pulumi-language-python-exec" "$@"
"""
START = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from lab.language_host.__main__ import main; sys.exit(main(sys.argv[1:]))"
)


def write_launcher(target: Path, python: Path, project: Path = PROJECT) -> None:
    """Write the executable `pulumi-language-python`, which starts this host with `python`, an environment's own.

    `project` is the folder with `lab/`. The SDK's exec script belongs beside the target.
    """
    text = TEMPLATE.format(
        mark=MARK, python=shlex.quote(str(python)), start=shlex.quote(START), project=shlex.quote(str(project))
    )
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    draft.write_text(text)
    draft.chmod(0o755)
    draft.replace(target)  # an engine that starts now finds the old one or the new one, never half of one


def is_official(path: Path) -> bool:
    """Whether this is a working host that `write_launcher` did not write."""
    if not (path.is_file() and os.access(path, os.X_OK)):
        return False
    with path.open("rb") as file:
        return MARK.encode() not in file.read(1024)
