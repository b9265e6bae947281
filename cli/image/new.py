"""`gpu-commons image new`: a folder for a new image, with its lock."""

import datetime as dt
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from cli.clock import today
from cli.terminal import InputError, as_json, json_text
from errors.problems import nearest, show
from imaging.inspection.network_environment import network_faults
from imaging.spec.load import IMAGES, load_family, read_spec
from imaging.spec.lock import lock_command
from imaging.spec.model import ImageSpec
from imaging.spec.pins import wheel_pin
from imaging.spec.problems import SPEC_FILE, SpecError
from platforms.templates import rendered

DEBIAN: Final = "debian"
# Bases and versions are those of this project's images, so that they share layers, locks and test results.
# CUDA lines whose runtime and run-time compiler are on PyPI, as CuPy 14 needs them: their last releases.
CUDA_WHEELS: Final = MappingProxyType(
    {
        "12.0": ("12.0.146", "12.0.140"),
        "12.1": ("12.1.105", "12.1.105"),
        "12.2": ("12.2.140", "12.2.140"),
        "12.3": ("12.3.101", "12.3.107"),
        "12.4": ("12.4.127", "12.4.127"),
        "12.5": ("12.5.82", "12.5.82"),
        "12.6": ("12.6.77", "12.6.85"),
        "12.8": ("12.8.90", "12.8.93"),
        "12.9": ("12.9.79", "12.9.86"),
    }
)
_CUPY: Final = "cupy-cuda12x==14.2.0"
_NUMPY: Final = "numpy==2.4.6"
_SERVER: Final = ("jupyterlab==4.6.6", "jupyterhub==5.5.4", "ipykernel==7.4.0")


class ImageKind(StrEnum):
    """Use of an image."""

    NOTEBOOK = "notebook"  # a JupyterLab server that a hub starts
    BATCH = "batch"  # programs for jobs


@dataclass(frozen=True, slots=True)
class NewImage:
    """The requested image. `base` is DEBIAN, or an image of ours, which brings its server."""

    name: str
    kind: ImageKind
    base: str
    cuda: str | None
    packages: tuple[str, ...]  # exact pins on PyPI
    user: tuple[str, int, int, str]  # name, UID, GID, home
    today: dt.date

    @property
    def has_server(self) -> bool:
        """Does it bring JupyterLab?"""
        return self.kind is ImageKind.NOTEBOOK and self.base == DEBIAN

    @property
    def pins(self) -> tuple[str, ...]:
        """Its packages. An image needs at least one."""
        own = (_NUMPY, _CUPY) if self.cuda else self.packages or (() if self.has_server else (_NUMPY,))
        every = {pin.partition("==")[0]: pin for pin in ((*_SERVER,) if self.has_server else ()) + own}
        return tuple({**every, **{pin.partition("==")[0]: pin for pin in self.packages}}.values())


def files_of(wanted: NewImage) -> dict[str, str]:
    """Text by file name, except the lock: PyPI resolves it."""
    values = {
        "wanted": wanted,
        "is_notebook": wanted.kind is ImageKind.NOTEBOOK,
        "is_debian": wanted.base == DEBIAN,
        "cupy": _CUPY,
        "wheels": CUDA_WHEELS[wanted.cuda] if wanted.cuda else (),
    }
    texts = {name: rendered(Path(__file__).with_name(f"{name}.j2"), **values) for name in ("image.yaml", "verify.py")}
    return {**texts, ".dockerignore": "*\n!requirements.lock\n!verify.py\n"}


_JOVYAN = ("jovyan", 1000, 100, "/home/jovyan")
_KINDS = tuple(kind.value for kind in ImageKind)


@click.command(
    epilog="Exit codes: 0 written and locked, 1 written but the lock could not be made, 2 usage: nothing is written.",
)
@click.argument("name", metavar="NAME")
@click.option(
    "--kind",
    type=click.Choice(_KINDS),
    default="notebook",
    show_default=True,
    help="A notebook server for a hub, or programs for batch jobs.",
)
@click.option(
    "--base",
    default=DEBIAN,
    show_default=True,
    metavar="debian|IMAGE",
    help="What it is based on: Debian, or an image of this project.",
)
@click.option(
    "--cuda",
    metavar="LINE",
    help=f"With CuPy for this CUDA: {', '.join(CUDA_WHEELS)}. Without it, the image uses no GPU.",
)
@click.option("--package", "packages", multiple=True, metavar="PIN", help="Another package from PyPI: scipy==1.17.1.")
@click.option("--no-lock", is_flag=True, help="Do not contact PyPI; run `image lock` later.")
@as_json
@click.pass_context
def new(  # noqa: PLR0913, PLR0917 - one argument for each option
    ctx: click.Context,
    /,
    name: str,
    kind: str,
    base: str,
    cuda: str | None,
    packages: tuple[str, ...],
    *,
    no_lock: bool,
    is_json: bool,
) -> None:
    """Write the minimum that an image needs: image.yaml, verify.py, .dockerignore and a lock resolved from PyPI.

    NAME is the name of the new image, or the path of its folder inside a folder `images`. The new image can be planned
    and built, and passes its check, as it is: change it from there. Existing files are never overwritten.

    \b
    Examples:
      gpu-commons image new statistics --package scipy==1.17.1
      gpu-commons image new cuda-course --cuda 12.6
      gpu-commons image new evaluation --kind batch --package numpy==2.4.6
      gpu-commons image new seminar --base datahub-base-notebook --package pandas==3.0.1
    """
    folder = _folder(name)
    wanted = NewImage(
        name=folder.name,
        kind=ImageKind(kind),
        base=base,
        cuda=_cuda(cuda),
        packages=tuple(map(_pin, packages)),
        user=_JOVYAN,
        today=today(),
    )
    parent = _parent(wanted, folder.parent)
    if parent is not None:
        wanted = NewImage(wanted.name, wanted.kind, base, wanted.cuda, wanted.packages, _user(parent), wanted.today)
    folder.mkdir(parents=True)
    for file, text in files_of(wanted).items():
        (folder / file).write_text(text, encoding="utf-8")
    spec = _read(folder)
    problem = "" if no_lock else _lock(spec, folder)
    _print(folder, "skipped; run image lock" if no_lock else problem, is_json=is_json)
    ctx.exit(1 if problem else 0)


def _folder(name: str) -> Path:
    path = Path(name)
    folder = IMAGES / name if path.name == name else path.absolute()
    if not re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", folder.name):
        reason = "use lower-case letters, digits and dashes, a letter first, 63 characters at most"
        raise InputError(f"NAME: {show(folder.name)} is not a name for an image; {reason}")
    if folder.parent.name != IMAGES.name:
        raise InputError(
            f"NAME: {show(str(folder))} is not inside a folder `images`; "
            f"name it {show(str(folder.parent / 'images' / folder.name))}"
        )
    if folder.exists():
        raise InputError(f"NAME: {folder} already exists and is not overwritten; choose another name, or remove it")
    return folder


def _cuda(line: str | None) -> str | None:
    if line is None or line in CUDA_WHEELS:
        return line
    advice = nearest(line, CUDA_WHEELS, what="line")
    older = (
        "; images/scipy-ml-notebook/image.yaml shows how to install older ones from conda" if line[:2] != "12" else ""
    )
    raise InputError(
        f"--cuda: {show(line)} is not a CUDA line that a new image can install from wheels; {advice}{older}"
    )


def _pin(text: str) -> str:
    try:
        return wheel_pin(text).text
    except ValueError as error:
        raise InputError(f"--package: {show(text)} {error}") from None


def _parent(wanted: NewImage, images: Path) -> ImageSpec | None:
    """The image it is based on. Raises InputError for a bad choice."""
    if wanted.base == DEBIAN:
        return None
    known = sorted(path.parent.name for path in images.glob(f"*/{SPEC_FILE}"))
    if wanted.base not in known:
        advice = nearest(wanted.base, [DEBIAN, *known], what="base")
        raise InputError(f"--base: {show(wanted.base)} is neither {DEBIAN} nor an image of this project; {advice}")
    family = load_family(wanted.base, images=images)
    if wanted.kind is ImageKind.BATCH:
        raise InputError(
            f"--base {wanted.base}: includes a notebook server, which a batch image does not need; leave --base out"
        )
    if family[0].python is None:
        raise InputError(f"--base {wanted.base}: has no Python packages to build on; leave --base out")
    return family[0]


def _user(parent: ImageSpec) -> tuple[str, int, int, str]:
    user = parent.account
    return user.name, user.uid, user.gid, user.home


def _read(folder: Path) -> ImageSpec:
    try:
        return read_spec(folder)
    except SpecError:
        shutil.rmtree(folder)
        raise


def _lock(spec: ImageSpec, folder: Path) -> str:
    """Resolve the pins as `image lock` does. Returns an empty text, or why it failed."""
    uv = _uv()
    if uv is None:
        return "uv, which resolves the pins, is not installed: pip install uv"
    for fault in network_faults(os.environ):  # uv reports less, or ignores it
        return str(fault)
    click.echo(f"resolving the pins of {spec.name} …", err=True)
    environment = {**os.environ, "PATH": f"{uv.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(
        ["sh", "-ec", lock_command(spec)],
        cwd=folder.parent.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else _last_lines(done.stderr)


def _uv() -> Path | None:
    """The uv on PATH, else the one that `make` installed."""
    if program := shutil.which("uv"):
        return Path(program)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpu-commons"
    return next(iter(sorted(cache.glob("uv-*/bin/uv"), reverse=True)), None)


def _last_lines(text: str) -> str:
    lines: Sequence[str] = [line.strip() for line in text.splitlines() if line.strip()]
    return "uv cannot resolve the pins: " + " ".join(lines[-8:])


def _print(folder: Path, problem: str, *, is_json: bool) -> None:
    written = sorted(path.name for path in folder.iterdir())
    name = folder.name if folder.parent == IMAGES else str(folder)
    if is_json:
        click.echo(json_text({"image": folder.name, "folder": str(folder), "files": written, "lock": problem or None}))
        return
    click.echo(f"wrote {folder}: {', '.join(written)}")
    if problem:
        click.echo(f"no lock yet: {problem}", err=True)
        click.echo(f"next: gpu-commons image lock {name} | sh -e")
    click.echo(f"then: gpu-commons image plan {name}; gpu-commons image build {name}")
    click.echo("to have a stack build it, add below gpu-commons:images:")
    click.echo(f"    - name: {folder.name}")
