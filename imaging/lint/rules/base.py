"""D-BASE: a base image that is not pinned by digest."""

from collections.abc import Iterator

from imaging.lint.base_images import image_references, parse_reference
from imaging.lint.recipe import LintContext, Recipe, Severity
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for text, line in image_references(recipe):
        reference = parse_reference(text)
        if reference is None or reference.digest:
            continue
        fix = (
            f"write {reference.name}{f':{reference.tag}' if reference.tag else ''}@sha256:…, the digest that you tested"
        )
        if reference.tag:
            message = f"{reference.name}:{reference.tag} has no digest: the next build may start from another image"
            yield Mistake(line, message, fix, Severity.WARNING)
        else:
            yield Mistake(
                line,
                f"{reference.name} has neither tag nor digest: that means latest, which may be missing or "
                "another image",
                fix,
            )
