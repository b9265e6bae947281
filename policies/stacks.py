"""What the rules know of a stack's site: from the configuration of the pack, else from the stack's own file.

The engine passes a stack's configuration to a pack in a call that the Python SDK drops, and the environment does not
have it, so the pack reads the same file as the engine. The stack's name is in every URN.
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

STACKS = "GPU_COMMONS_STACKS"  # folder of stack files, for stacks that are not in this project
DEFAULT_STACKS = Path(__file__).resolve().parent.parent / "stacks"
NOTHING_GIVEN: Final = (
    "{file} does not exist, and the pack has no configuration\n"
    "  change: for a stack of another project run pulumi with --policy-pack-config FILE.json, or set "
    "PULUMI_OPTION_POLICY_PACK_CONFIG, and write into that file "
    '{{"workloads": {{"site": {{"allowed_registries": […]}}, "fleet": {{…}}}}}}: docs/another-teams-stack.md; '
    "for a stack with a stack file name its folder in {stacks}"
)
_configured: list[Site] = []  # one for all stacks, or none


class SiteUnknownError(Exception):
    """The stack's file cannot be read: nothing about its fleet can be proved. The text says why and what to do."""


def configure(configs: Mapping[str, PolicyConfig]) -> None:
    """Set the configuration of the pack from what the engine passes. Raises SettingsError with every mistake."""
    _configured.clear()
    site_of_stack.cache_clear()
    if (found := read_configuration(configs)) is not None:
        _configured.append(consistent(site_of_configuration(found), CALLED))


@functools.cache
def site_of_stack(stack: str) -> Site:
    """The site of the stack of that name. Raises SiteUnknownError.

    A configuration of the pack applies to every stack; where a stack file exists too, a note reports that it is unused.
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
    beside = folder.parent / IMAGES.name  # a project has its images beside its stacks
    settings = load_stack(file, site=Path(overlay) if overlay else None)
    return consistent(site_of(settings, beside if beside.is_dir() else IMAGES), str(file))


def consistent(site: Site, called: str) -> Site:
    """The site, once its levels and waivers are known to name existing rules. Raises SettingsError."""
    advice = {rule.id for rule in ALL_RULES if rule.check_together}
    if problems := list(site.strictness.problems({rule.id for rule in ALL_RULES} - advice, advice)):
        raise SettingsError(replace(problem, file=called) for problem in problems)
    return site
