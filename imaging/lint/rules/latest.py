"""D-LATEST: a tag, a branch or a download that moves by design."""

import re
from collections.abc import Iterator

from imaging.lint.base_images import image_references, parse_reference
from imaging.lint.containers import APPTAINER, DOCKER
from imaging.lint.packages import install_of
from imaging.lint.recipe import Command, Kind, LintContext, Recipe
from imaging.lint.rules.rule import Mistake

# Behind pip's `git+https://…`: a tag has digits, a commit is hexadecimal; a branch, or nothing, moves.
_PINNED = re.compile(r"@(?:v?\d[\w.+-]*|[0-9a-f]{7,40}|[\w-]*[-_]v?\d[\w.+-]*)(?:#|\s*;|\s|$)")
_NEWEST = re.compile(r"https?://\S*/releases/latest(/|$)")
_MOVING = re.compile(
    r"(?:^|[-_.])(latest|nightly|edge|devel-latest)(?:[-_.]|$)|^(main|master|stable|dev|rolling|current)$"
)


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for command in recipe.commands:
        yield from _of_command(command)
    for text, line in [*image_references(recipe), *_run_by_scripts(recipe)]:
        reference = parse_reference(text)
        is_dated = re.search(r"20\d\d-?\d\d-?\d\d", (reference and reference.tag) or "")
        if reference and _MOVING.search(reference.tag or "") and not (reference.digest or is_dated):
            message = f'the tag "{reference.tag}" of {reference.name} moves by design: nobody can say which image runs'
            fix = f"name a release and its digest: {reference.name}:<release>@sha256:…"
            yield Mistake(line, message, fix)


def _of_command(command: Command) -> Iterator[Mistake]:
    for word in command.arguments:
        text = word.text.partition("#")[0]
        is_installed = install_of(command) is not None
        if is_installed and "git+" in text and "$" not in text and not _PINNED.search(word.text):
            message = "pip installs what the branch has on the day of the build: the next build may have other code"
            yield Mistake(word, message, "name a tag or a commit: git+https://…@<commit>")
        elif _NEWEST.search(text):
            message = "releases/latest is another file after each release: the next build may have other code"
            yield Mistake(word, message, "name the release: …/releases/download/<version>/…")


def _run_by_scripts(recipe: Recipe) -> Iterator[tuple[str, int]]:
    if recipe.kind is not Kind.SCRIPT:
        return
    for command in recipe.commands:
        is_run = command.program in APPTAINER or (command.program in DOCKER and command.has("run", "pull"))
        for word in command.arguments if is_run else ():
            if re.fullmatch(r"(docker://)?[\w./-]+:[\w.-]+", word.text):
                yield word.text, word.line
