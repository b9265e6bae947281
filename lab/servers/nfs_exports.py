"""NFS for the real node: an export is a folder of this machine, and `mount -t nfs` binds it.

A stand-in, because the kernels of many such machines have no NFS. It neither speaks NFS nor squashes root.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lab import files

if TYPE_CHECKING:
    from lab.instance import Instance
    from workloads.storage import NfsExport

OWNER: Final = (1000, 100)  # users of a hub
# The kubelet's own call ends with SERVER:PATH and the folder to mount on.
MOUNT: Final = """\
#!/bin/sh
case " $* " in *" -t nfs "*) ;; *) exec {mount} "$@" ;; esac
for word; do source=$target target=$word; done
export={folder}/${{source%%:*}}${{source#*:}}
[ -d "$export" ] || {{ echo "mount.nfs: access denied by server while mounting $source" >&2; exit 32; }}
exec {mount} --bind "$export" "$target"
"""


def make(instance: Instance, exports: Sequence[NfsExport]) -> Path:
    """Make the exports; the folder of a program `mount` that finds them, and no others. Safe to repeat."""
    for each in exports:
        export = folder(instance) / each.server / each.path.lstrip("/")
        if not export.exists():
            export.mkdir(parents=True)
            os.chown(export, *OWNER)
    programs = instance.config / "mount"
    text = MOUNT.format(mount=shlex.quote(shutil.which("mount") or "mount"), folder=shlex.quote(str(folder(instance))))
    files.write(programs / "mount", text, mode=0o755)
    return programs


def folder(instance: Instance) -> Path:
    """Users' files: data, like the volumes."""
    return instance.data / "exports"
