"""The user's lab, which the tests of faults may not touch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab import processes, state
from lab.instance import Instance


@dataclass(frozen=True)
class Bystander:
    """The user's lab as it was before these tests."""

    instance: Instance
    files: dict[Path, bytes]
    servers: dict[str, int]


def kept_files(instance: Instance) -> dict[Path, bytes]:
    """What makes up a lab and its stacks on disk: its record, its configuration and the state of its stacks.

    Of what runs the records of its servers: what those keep beside them changes while they work.
    """
    folders = (instance.config, state.folder(instance) / ".pulumi" / "stacks")
    inside = [path for folder in folders for path in folder.rglob("*")]
    found = [path for path in (*inside, *instance.run.glob("*")) if path.is_file() and path.suffix != ".sock"]
    # The user's own engine may be at work meanwhile on what belongs to it alone: its plugins' folder.
    own = [path for path in found if (instance.config / "pulumi") not in path.parents]
    return {path: path.read_bytes() for path in (instance.home / "instance.json", *own)}


def running_servers(instance: Instance) -> dict[str, int]:
    return {record.name: record.pid for record in processes.records(instance) if record.process()}
