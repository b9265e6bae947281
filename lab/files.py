"""The one way to write a file that a server reads, and the one to remove a folder of the lab.

A file whose content would stay the same is left alone. Some servers watch their files, and kube-proxy ends itself when
its own is written, whatever is in it. So a second `make up` must not touch them; and what a server reads at its start
is in `Server.files`, so that another content restarts it on purpose.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

REMOVED_AT_ONCE: Final = 16


def write(path: Path, content: str | bytes, *, mode: int = 0o644) -> Path:
    """Write `content` unless it is there already, in one step: readers see the old file or the new one.

    A file that others may not read is not readable by them for a moment either. The folder is made if it is missing.
    """
    wanted = content.encode() if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == wanted:
        if path.stat().st_mode & 0o777 != mode:
            path.chmod(mode)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as sink:
        sink.write(wanted)
    draft.chmod(mode)
    draft.replace(path)
    return path


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it, many files at a time.

    Layers of images are tens of thousands of files, and a disk that is notified of each freed block (the mount option
    `discard`) makes each removal wait for it. Raises FileNotFoundError where there is no folder.
    """
    levels = [[os.fspath(folder)]]
    with ThreadPoolExecutor(REMOVED_AT_ONCE) as pool:
        while levels[-1]:
            levels.append([below for found in pool.map(_empty, levels[-1]) for below in found])
        for level in reversed(levels):
            for _ in pool.map(os.rmdir, level):
                pass  # an error is raised here


def _empty(folder: str) -> list[str]:
    """Remove everything in a folder but its folders, and give these."""
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)  # noqa: PTH108 - a Path for each of tens of thousands takes longer than its removal
    return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
