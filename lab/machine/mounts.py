"""Finds and removes mounts below a folder."""

from __future__ import annotations

from pathlib import Path

from lab import processes
from lab.instance import LabError

TABLE = Path("/proc/self/mounts")


def below(*folders: Path) -> list[Path]:
    """Mount points in or below those folders, oldest first."""
    found = [Path(_plain(line.split()[1])) for line in TABLE.read_text().splitlines()]
    return [point for point in found if any(point.is_relative_to(folder) for folder in folders)]


def share(folder: Path) -> None:
    """Make the folder a shared mount: both its users and the machine see later mounts, as under systemd."""
    if folder not in below(folder):
        processes.run(["mount", "--bind", str(folder), str(folder)])
    processes.run(["mount", "--make-rshared", str(folder)])


def unmount_below(*folders: Path) -> None:
    """Unmount all of them, last first; those in use vanish for everybody who opens the path from now on."""
    for point in reversed(below(*folders)):
        try:
            processes.run(["umount", str(point)])
        except LabError:
            processes.run(["umount", "--lazy", str(point)])


def _plain(name: str) -> str:
    """The table writes space, tab, newline and backslash as octal numbers."""
    for written, plain in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        name = name.replace(written, plain)
    return name
