"""Stack files as commands name them, and their pools as the engine reads them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.terminal import InputError
from compat import Pool

if TYPE_CHECKING:  # pydantic alone costs a quarter of a second at start
    from settings.pool import Pool as StackPool
    from settings.reading import Stack

_STACKS = "stacks"


def read_stack(stack: str, *, site: Path | None = None) -> Stack:
    """A stack, by its name or the path of its file, with an overlay. Raises InputError and SettingsError."""
    from settings.reading import load_stack  # noqa: PLC0415 - see above

    return load_stack(stack_file(stack), site=site)


def site_option(
    default: str = ". Default: the one that GPU_COMMONS_SITE names, as in an update.",
) -> Callable[[Any], Any]:
    """`--site`; its help ends in `default`."""
    path = click.Path(exists=True, dir_okay=False, path_type=Path)
    return click.option("--site", type=path, metavar="FILE", help=f"Site overlay{default}")


def site_overlay() -> Path | None:
    """The overlay in GPU_COMMONS_SITE, as in an update: it names a lab's engines, cluster and Slurm."""
    named = os.environ.get("GPU_COMMONS_SITE")
    return Path(named) if named else None


def stack_file(stack: str, *, option: str = "--stack: ") -> Path:
    """The file of a stack, by its name or path. Raises InputError with `option` and the known stacks."""
    given = Path(stack)
    if given.suffix in {".yaml", ".yml"} or given.is_file():
        return given
    named = [folder / f"Pulumi.{stack}.yaml" for folder in _folders()]
    found = next((path for path in named if path.is_file()), None)
    if found is None:
        known = sorted({stack_name(str(path)) for path in stack_files()})
        choice = f"a path, or one of {', '.join(known)}" if known else "the path of a stack file"
        raise InputError(f'{option}there is no stack "{stack}" in {_folders()[0]}; give {choice}')
    return found


def stack_files() -> Iterator[Path]:
    """Every stack file of the current folder and of this project; each name counts once."""
    by_name = {path.name: path for folder in reversed(_folders()) for path in sorted(folder.glob("Pulumi.*.yaml"))}
    yield from by_name.values()


def stack_name(stack: str) -> str:
    """`dsmlp-fall` of stacks/Pulumi.dsmlp-fall.yaml."""
    return Path(stack).name.removeprefix("Pulumi.").removesuffix(".yaml").removesuffix(".yml")


def pools_of(pool: StackPool) -> tuple[Pool, ...]:
    """Groups of identical nodes in a pool, for the matrix. Nodes without GPUs give none."""
    return tuple(Pool(each.name, each.gpus.host) for each in pool.variants() if each.gpus)


def _folders() -> tuple[Path, Path]:
    return Path.cwd() / _STACKS, Path(__file__).resolve().parent.parent / _STACKS
