"""D-SUPPORT: a base on a Linux release without security fixes."""

from collections.abc import Iterator

from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake
from imaging.spec.os_support import Release, release_in, supported_releases


def check(recipe: Recipe, context: LintContext) -> Iterator[Mistake]:
    base = recipe.base
    release = release_in(base.base) if base and base.is_base_known else None
    if base is None or release is None or context.today is None or release.ends >= context.today:
        return
    message = f"{release.what} of {release} ended on {release.ends}: the image gets no security fixes"
    yield Mistake(base.line, message, _fix(release, context))


def _fix(release: Release, context: LintContext) -> str:
    newer = supported_releases(release.system, context.today) if context.today else ()
    if not newer:
        return f"nothing follows {release}: start from another system, such as Rocky Linux, Debian or Ubuntu"
    named = " or ".join(f"{each} (until {each.ends})" for each in newer[:2])
    return f"start from a base on {named}"
