"""D-DEVEL: a last stage on a devel base."""

from collections.abc import Iterator

from imaging.lint.base_images import is_devel, parse_reference
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    base = recipe.base
    reference = parse_reference(base.base) if base and base.is_base_known else None
    if base and reference and is_devel(reference):
        yield Mistake(
            base.line,
            f"{reference.name}:{reference.tag} brings compilers, headers and static libraries into the image",
            "build on it in a separate stage, and end on the base or runtime flavour or a slim OS; "
            "if kernels are compiled at run time, waive this with that reason",
        )
