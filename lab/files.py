"""The only way to write a file that a server reads, and to remove a folder of the lab.

A file with the same content is not rewritten. Some servers watch their files, and kube-proxy ends itself on any write
to its own, whatever the content. So a second `make up` must not touch them; files that a server reads at start are in
`Server.files`, so that new content restarts it on purpose.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

REMOVED_AT_ONCE: Final = 16


def write(path: Path, content: str | bytes, *, mode: int = 0o644) -> Path:
    """Write `content` in one step unless the file has it: readers see the old file or the new one.

    A private file is never readable by others, even briefly. Creates a missing folder.
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
    """Remove a folder and its contents, many files at a time.

    Image layers are tens of thousands of files, and a disk that is notified of each freed block (the mount option
    `discard`) makes each removal wait for it. Raises FileNotFoundError if there is no folder.
    """
    levels = [[os.fspath(folder)]]
    with ThreadPoolExecutor(REMOVED_AT_ONCE) as pool:
        while levels[-1]:
            levels.append([below for found in pool.map(_empty, levels[-1]) for below in found])
        for level in reversed(levels):
            for _ in pool.map(os.rmdir, level):
                pass  # raises an error of the thread here


def _empty(folder: str) -> list[str]:
    """Remove everything in a folder but its folders; return these."""
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)  # noqa: PTH108 - a Path for each of tens of thousands takes longer than its removal
    return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
