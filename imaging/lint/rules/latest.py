"""D-LATEST: a tag that moves by design."""

import re
from collections.abc import Iterator

from imaging.lint.base_images import image_references, parse_reference
from imaging.lint.containers import APPTAINER, DOCKER
from imaging.lint.recipe import Kind, LintContext, Recipe
from imaging.lint.rules.rule import Mistake

_MOVING = re.compile(
    r"(?:^|[-_.])(latest|nightly|edge|devel-latest)(?:[-_.]|$)|^(main|master|stable|dev|rolling|current)$"
)


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for text, line in [*image_references(recipe), *_run_by_scripts(recipe)]:
        reference = parse_reference(text)
        if reference and _MOVING.search(reference.tag or "") and not reference.digest:
            message = f'the tag "{reference.tag}" of {reference.name} moves by design: nobody can say which image runs'
            fix = f"name a release and its digest: {reference.name}:<release>@sha256:…"
            yield Mistake(line, message, fix)


def _run_by_scripts(recipe: Recipe) -> Iterator[tuple[str, int]]:
    if recipe.kind is not Kind.SCRIPT:
        return
    for command in recipe.commands:
        is_run = command.program in APPTAINER or (command.program in DOCKER and command.has("run", "pull"))
        for word in command.arguments if is_run else ():
            if re.fullmatch(r"(docker://)?[\w./-]+:[\w.-]+", word.text):
                yield word.text, word.line
