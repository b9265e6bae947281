"""The one way to write a file that a server reads: a file whose content would stay the same is left alone.

Some servers watch their files, and kube-proxy ends itself when its own is written, whatever is in it. So a second
`make up` must not touch them; and what a server reads at its start is in `Server.files`, so that another content
restarts it on purpose.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


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
