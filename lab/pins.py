"""The lab's tools: each with its version and the ways to get it (`lab/tools/pins.toml`)."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab import go_builds

TABLES = ("debian", "debian-clusters", "debian-docker", "debian-slurm", "debian-tests")
TOOLS_FOLDER = Path(__file__).parent / "tools"


@dataclass(frozen=True, slots=True)
class Download:
    """One official archive or program. `{program}` in a URL stands for each program of the tool."""

    url: str
    sha256: str | None = None
    checksums: str | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    """One tool: its version, its programs, and the ways to get them."""

    name: str
    version: str
    programs: tuple[str, ...]
    packages: tuple[str, ...]
    go: str
    ldflags: tuple[str, ...] = ()
    version_args: tuple[str, ...] = ()
    module_files: Mapping[str, str] = field(default_factory=dict)
    download: Download | None = None
    for_clusters: bool = field(default=False, repr=False)  # not part of what decides the program
    for_docker: bool = field(default=False, repr=False)  # a stack with Docker hosts needs it too
    for_tests: bool = field(default=False, repr=False)  # no stack needs it
    on_demand: bool = field(default=False, repr=False)  # fetched if the engine cannot have its publisher's own
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)  # folder of a module: its packages

    @property
    def source(self) -> Path:
        return TOOLS_FOLDER / self.name

    @property
    def is_plugin(self) -> bool:
        """Whether it is a plugin of the engine, not a command."""
        return self.programs[0].startswith("pulumi-resource-")

    @property
    def key(self) -> str:
        """The name of its folder: changes with everything that decides what the program is."""
        beside = repr(dict(self.beside)) if self.beside else ""
        digest = hashlib.sha256((repr(self) + beside).encode() + go_builds.fingerprint(self.go))
        for path in sorted(path for path in self.source.rglob("*") if path.is_file()):
            digest.update(path.read_bytes())
        return f"{self.name}-{self.version}-{digest.hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Pins:
    """The contents of `pins.toml`. Debian packages by program (on PATH, or any file's path)."""

    tools: dict[str, Pin]
    debian: dict[str, str]
    debian_clusters: dict[str, str]
    debian_docker: dict[str, str]  # only for a lab with a Docker engine
    debian_slurm: dict[str, str]  # only for a lab with a Slurm
    debian_tests: dict[str, str]  # only for tests


def load_pins(path: Path = TOOLS_FOLDER / "pins.toml") -> Pins:
    data = tomllib.loads(path.read_text())
    go = data.pop("go")
    debian = [data.pop(table) for table in TABLES]
    return Pins({name: _pin(name, row, go) for name, row in data.items()}, *debian)


def _pin(name: str, row: Mapping[str, Any], go: str) -> Pin:
    return Pin(
        name=name,
        go=go,
        version=row["version"],
        programs=tuple(row["programs"]),
        packages=tuple(row["packages"]),
        ldflags=tuple(row.get("ldflags", ())),
        version_args=tuple(row.get("version_args", ())),
        module_files=row.get("module_files", {}),
        download=Download(**row["download"]) if "download" in row else None,
        for_clusters=row.get("for_clusters", False),
        for_docker=row.get("for_docker", False),
        for_tests=row.get("for_tests", False),
        on_demand=row.get("on_demand", False),
        beside={folder: tuple(packages) for folder, packages in row.get("beside", {}).items()},
    )
