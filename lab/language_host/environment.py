"""Selects the Python for a program, pack or plug-in from the options in its yaml, as paths."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

PROJECT_FILES = ("Pulumi.yaml", "PulumiPlugin.yaml", "PulumiPolicy.yaml", "Pulumi.yml")


class Toolchain(StrEnum):
    """Who installs packages. The official host also knows Poetry."""

    PIP = "pip"
    UV = "uv"


class Typechecker(StrEnum):
    MYPY = "mypy"
    PYRIGHT = "pyright"


class EnvironmentFault(Exception):  # noqa: N818 - a fault of the user's settings, shown as it is
    """Unusable options, or a missing environment. The text is the whole message."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A program's folder and environment. Paths are absolute."""

    root: Path  # the yaml's folder: `virtualenv` is relative to it
    program: Path
    toolchain: Toolchain
    virtualenv: Path | None  # None: the machine's Python
    lock: Path | None  # the nearest uv.lock at or above the program
    typechecker: Typechecker | None

    def python(self, environ: Mapping[str, str]) -> Path:
        """The interpreter. Raises EnvironmentFault if there is none."""
        if self.virtualenv is None:
            return machine_python(environ)
        python = self.virtualenv / "bin" / "python"
        if not python.exists():
            state = "is not a virtual environment" if self.virtualenv.exists() else "does not exist"
            raise EnvironmentFault(
                f"{project_file(self.root)}: the virtual environment {self.virtualenv} {state}; "
                f"create it with `pulumi install` in {self.root}, or name another one in runtime.options.virtualenv"
            )
        return python

    def activated(self, environ: Mapping[str, str]) -> dict[str, str]:
        """`environ` after `source VIRTUALENV/bin/activate`."""
        if self.virtualenv is None:
            return dict(environ)
        kept = {name: value for name, value in environ.items() if name != "PYTHONHOME"}
        path = os.pathsep.join(part for part in (str(self.virtualenv / "bin"), environ.get("PATH")) if part)
        return {**kept, "VIRTUAL_ENV": str(self.virtualenv), "PATH": path}


def parse_environment(
    root: Path, program: Path, options: Mapping[str, object], environ: Mapping[str, str]
) -> Environment:
    """Read `runtime.options` of the yaml in `root`. Raises EnvironmentFault with every bad option at once."""
    problems = list(_problems(options))
    if problems:
        raise EnvironmentFault("\n".join(f"{project_file(root)}: runtime.options.{problem}" for problem in problems))
    lock = search_upward(program, "uv.lock")
    chosen = options.get("toolchain")
    if chosen is None and lock is None and (poetry := search_upward(program, "poetry.lock")):
        raise EnvironmentFault(
            f"{poetry}: Poetry is not supported by this stand-in for pulumi-language-python; set "
            f"runtime.options.toolchain in {project_file(root)} to uv or pip, or install the official Pulumi release"
        )
    toolchain = Toolchain(str(chosen)) if chosen else Toolchain.UV if lock else Toolchain.PIP
    checker = options.get("typechecker")
    return Environment(
        root=root,
        program=program,
        toolchain=toolchain,
        virtualenv=_virtualenv(root, program, toolchain, options.get("virtualenv"), environ),
        lock=lock,
        typechecker=Typechecker(str(checker)) if checker else None,
    )


def project_file(root: Path) -> Path:
    """The yaml that describes `root`'s contents, for messages."""
    return next((root / name for name in PROJECT_FILES if (root / name).exists()), root / PROJECT_FILES[0])


def search_upward(start: Path, name: str) -> Path | None:
    return next((folder / name for folder in (start, *start.parents) if (folder / name).exists()), None)


def machine_python(environ: Mapping[str, str]) -> Path:
    """PULUMI_PYTHON_CMD, else python3, else python on PATH."""
    wanted = environ.get("PULUMI_PYTHON_CMD")
    for name in (wanted,) if wanted else ("python3", "python"):
        if found := shutil.which(name, path=environ.get("PATH")):
            return Path(found)
    raise EnvironmentFault(f"{wanted or 'python3'} is not on PATH: install Python or set runtime.options.virtualenv")


def _virtualenv(
    root: Path, program: Path, toolchain: Toolchain, option: object, environ: Mapping[str, str]
) -> Path | None:
    if option:
        return Path(os.path.normpath(root / str(option)))
    if toolchain is Toolchain.PIP:
        return None
    # As in uv: beside the lock, else beside the project; uv's own variable overrides it.
    beside = search_upward(program, "uv.lock") or search_upward(program, "pyproject.toml") or program / "uv.lock"
    return Path(os.path.normpath(beside.parent / (environ.get("UV_PROJECT_ENVIRONMENT") or ".venv")))


def _problems(options: Mapping[str, object]) -> Iterator[str]:
    toolchain = options.get("toolchain")
    if toolchain == "poetry":
        yield (
            'toolchain: "poetry" is not supported by this stand-in for pulumi-language-python; '
            "use uv or pip, or install the official Pulumi release"
        )
    elif toolchain is not None and toolchain not in list(Toolchain):
        yield f"toolchain: {toolchain!r} is not a toolchain; use uv or pip"
    virtualenv = options.get("virtualenv")
    if virtualenv is not None and not isinstance(virtualenv, str):
        yield f"virtualenv: {virtualenv!r} is not a path; write the folder's name, relative to the yaml, such as .venv"
    checker = options.get("typechecker")
    if checker is not None and checker not in list(Typechecker):
        yield f"typechecker: {checker!r} is not a type checker; use mypy or pyright, or leave it out"
