"""Builds the wheel of this project with hatchling, but not for an environment that belongs to other programs.

The packages are called cli, components, images and policies. In an environment of its own that harms nobody; anywhere
else they would hide, or be overwritten by, packages of the same names. PEP 517 hands the caller's settings to a build,
so whoever installs says which of the two it is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from hatchling import build as hatchling
from hatchling.build import (  # noqa: F401 - front ends call these by name
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

Settings = Mapping[str, object] | None

SETTING, TOOL, CLONE = "install", "tool", "clone"  # pyproject.toml sets `clone` for `uv sync`
MESSAGE = f"""
gpu-commons is a command and a Pulumi plug-in. It is not a library, and was not installed.

Its packages are called cli, components, images and policies. In this environment they would replace packages of
the same names, or be replaced by them. What works (CLONE is your clone of gpu-commons):

  the command gpu-commons, in an environment of its own:
    uv tool install --config-setting {SETTING}={TOOL} CLONE
    (or, in a new virtual environment: pip install --config-settings {SETTING}={TOOL} CLONE)

  a component in your own Pulumi program, in any language:
    pulumi package add CLONE/components

  stacks, the lab, or a change of gpu-commons itself: in CLONE
    make up
"""


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """A wheel for an environment of its own."""
    _refuse_unless(TOOL, config_settings)
    return hatchling.build_wheel(wheel_directory, None, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """The link from the environment of a clone to the clone itself."""
    _refuse_unless(CLONE, config_settings)
    return hatchling.build_editable(wheel_directory, None, metadata_directory)


def _refuse_unless(purpose: str, settings: Settings) -> None:
    if (settings or {}).get(SETTING) != purpose:
        sys.exit(MESSAGE)
