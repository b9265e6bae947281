"""D-DELETED: a base tag that its publisher deletes."""

import re
from collections.abc import Iterator

from compat.facts.tables import toolkits
from imaging.lint.base_images import image_references, is_cuda_base, parse_reference
from imaging.lint.recipe import LintContext, Recipe, Severity
from imaging.lint.rules.rule import Mistake

_MAJORS_KEPT = 2  # NVIDIA's policy keeps the newest two majors


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for text, line in image_references(recipe):
        reference = parse_reference(text)
        if reference is None or reference.digest or not is_cuda_base(reference):
            continue
        major = re.match(r"(\d+)\.\d", reference.tag or "")
        if major is None:
            continue
        name = f"{reference.name}:{reference.tag}"
        if int(major[1]) <= newest_major() - _MAJORS_KEPT:
            yield Mistake(
                line,
                f"NVIDIA deletes tags six months after the end of support, and CUDA {major[1]} is no longer supported: "
                f"{name} may be gone",
                "take a base of a supported CUDA line by digest, or start from a slim OS; keep a mirror of what "
                "must stay",
            )
        else:
            yield Mistake(
                line,
                f"NVIDIA deletes tags six months after the end of support: {name} will be gone one day",
                "pin it by digest in a lock with its expected end, and keep a mirror if the image must be rebuilt "
                "later",
                Severity.WARNING,
            )


def newest_major() -> int:
    """In the tables."""
    return max(toolkit.version.major for toolkit in toolkits())
