"""Installs the provider SDKs that only some stacks need."""

from __future__ import annotations

from pathlib import Path

from errors.document import read_yaml
from errors.problems import SettingsError
from lab import processes
from lab.instance import LabError, cache_home
from lab.toolchain import Report
from settings.sdks import extras_of

PROJECT = Path(__file__).resolve().parent.parent  # the code's folder, also for a project that links to it


def uv_folders() -> list[Path]:
    """Where `make` put uv, for language hosts that create environments."""
    return [found.parent for found in sorted(cache_home().glob("uv-*/bin/uv"))]


def uv() -> Path:
    """The uv that `make` installed, else the one on PATH."""
    return uv_folders()[-1] / "uv" if uv_folders() else Path("uv")


def of(stack_file: Path) -> tuple[str, ...]:
    """Extras that a stack's site needs. Raises LabError if the file cannot be read."""
    try:
        data = read_yaml(stack_file, called="--stack").data
    except SettingsError as error:
        raise LabError(str(error)) from None
    return extras_of(data.get("config") if isinstance(data, dict) else None)


def ensure(stack_file: Path, report: Report) -> None:
    """Install what this stack's site needs into the clone's environment. Safe to repeat.

    Raises LabError if the file cannot be read or a package cannot be installed.
    """
    extras = of(stack_file)
    if not extras:
        return
    report(f"Python packages for this site: {', '.join(f'pulumi-{extra}' for extra in extras)} …")
    options = [word for extra in extras for word in ("--extra", extra)]
    # Inexact: packages for other stacks stay.
    processes.run([str(uv()), "sync", "--frozen", "--inexact", "--compile-bytecode", "--quiet", *options], cwd=PROJECT)
