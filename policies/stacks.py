"""What the rules know of a stack's site: read from its stack file.

The engine hands a stack's configuration to a pack by a call that the Python SDK drops (its environment has none), so
the pack reads the same file as the engine. The stack's name is in every URN.
"""

import functools
import os
from pathlib import Path

from components.settings import OVERLAY, SettingsError, load_stack
from images.load import IMAGES
from policies.from_settings import site_of
from policies.model import Site
from policies.rules.index import ALL_RULES

STACKS = "GPU_COMMONS_STACKS"  # folder of stack files, for stacks that are not in this project
DEFAULT_STACKS = Path(__file__).resolve().parent.parent / "stacks"


class SiteUnknownError(Exception):
    """The stack's file cannot be read: nothing about its fleet can be proved. The text says why and what to do."""


@functools.cache
def site_of_stack(stack: str) -> Site:
    """The site of the stack of that name. Raises SiteUnknownError."""
    folder = Path(os.environ.get(STACKS) or DEFAULT_STACKS)
    try:
        return _read(stack, folder)
    except SettingsError as error:
        raise SiteUnknownError(f"{error} (folder of stack files: {STACKS}, default {DEFAULT_STACKS})") from error


def _read(stack: str, folder: Path) -> Site:
    overlay = os.environ.get(OVERLAY)
    beside = folder.parent / IMAGES.name  # a project has its images beside its stacks
    settings = load_stack(folder / f"Pulumi.{stack}.yaml", site=Path(overlay) if overlay else None)
    site = site_of(settings, beside if beside.is_dir() else IMAGES)
    advice = {rule.id for rule in ALL_RULES if rule.check_together}
    if problems := list(site.strictness.problems({rule.id for rule in ALL_RULES} - advice, advice)):
        raise SettingsError(problems)
    return site
