"""Image plans from a stack's specs before the build, for previews."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from imaging.size.expected import expected_of
from imaging.spec.load import IMAGES, load_named
from imaging.spec.plan import plan_image
from imaging.spec.problems import SpecError
from policies.model import Planned
from settings.reading import Stack


def planner(stack: Stack, folder: Path = IMAGES) -> Callable[[str], Planned | None]:
    """Reads each image's spec once; faulty ones yield nothing, since the program stops with their mistakes."""
    substitutes = stack.site.planned_substitutes

    @functools.cache
    def planned(name: str) -> Planned | None:
        try:
            base = plan_image(load_named(name, images=folder), substitutes=substitutes).root
            return Planned(expected_of(name, folder, substitutes), base)
        except SpecError:
            return None

    return planned
