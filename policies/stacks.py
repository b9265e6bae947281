"""Finds a stack's site facts: in the pack's configuration, else in the stack file.

The Python SDK drops the call with the stack's configuration, and the environment lacks it, so the pack reads the
engine's file itself. Every URN contains the stack's name.
"""

import functools
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from imaging.spec.load import IMAGES
from policies.configuration import CALLED, PolicyConfig, read_configuration
from policies.from_settings import site_of, site_of_configuration
from policies.model import Site
from policies.rules.index import ALL_RULES
from settings.reading import OVERLAY, SettingsError, load_stack

STACKS = "GPU_COMMONS_STACKS"  # folder of stack files outside this project
DEFAULT_STACKS = Path(__file__).resolve().parent.parent / "stacks"
NOTHING_GIVEN: Final = (
    "{file} does not exist, and the pack has no configuration\n"
    "  change: for a stack of another project run pulumi with --policy-pack-config FILE.json, or set "
    "PULUMI_OPTION_POLICY_PACK_CONFIG, and write into that file "
    '{{"workloads": {{"site": {{"allowed_registries": […]}}, "fleet": {{…}}}}}}: docs/another-teams-stack.md; '
    "for a stack with a stack file name its folder in {stacks}"
)
_configured: list[Site] = []  # a single site for all stacks, or none


class SiteUnknownError(Exception):
    """The stack file is unreadable: nothing about its fleet can be proved. The text says why and what to do."""


def configure(configs: Mapping[str, PolicyConfig]) -> None:
    """Set the pack's configuration from the engine's. Raises SettingsError with every mistake."""
    _configured.clear()
    site_of_stack.cache_clear()
    if (found := read_configuration(configs)) is not None:
        _configured.append(consistent(site_of_configuration(found), CALLED))


@functools.cache
def site_of_stack(stack: str) -> Site:
    """The site of the named stack. Raises SiteUnknownError.

    A pack configuration applies to every stack; if a stack file exists too, a note reports that it is unused.
    """
    folder = Path(os.environ.get(STACKS) or DEFAULT_STACKS)
    file = folder / f"Pulumi.{stack}.yaml"
    for site in _configured:
        note = f"the configuration of the pack is used, not {file}"
        return replace(site, notes=(note,)) if file.is_file() else site
    if not file.is_file():
        raise SiteUnknownError(NOTHING_GIVEN.format(file=file, stacks=STACKS))
    try:
        return _read(file, folder)
    except SettingsError as error:
        raise SiteUnknownError(f"{error} (folder of stack files: {STACKS}, default {DEFAULT_STACKS})") from error


def _read(file: Path, folder: Path) -> Site:
    overlay = os.environ.get(OVERLAY)
    beside = folder.parent / IMAGES.name  # a project's images are next to its stacks
    settings = load_stack(file, site=Path(overlay) if overlay else None)
    return consistent(site_of(settings, beside if beside.is_dir() else IMAGES), str(file))


def consistent(site: Site, called: str) -> Site:
    """The site, with levels and waivers checked to name existing rules. Raises SettingsError."""
    advice = {rule.id for rule in ALL_RULES if rule.check_together}
    if problems := list(site.strictness.problems({rule.id for rule in ALL_RULES} - advice, advice)):
        raise SettingsError(replace(problem, file=called) for problem in problems)
    return site
