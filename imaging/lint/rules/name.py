"""D-NAME: an image without a name, or with one that no longer fits."""

import re
from collections.abc import Iterator

from imaging.lint.containers import DOCKER, calls, image_at
from imaging.lint.recipe import Command, LintContext, Recipe, Severity, Word
from imaging.lint.rules.rule import Mistake
from imaging.lint.shell import option_values

_ID = re.compile(r"(sha256:)?[0-9a-f]{12}([0-9a-f]{52})?")


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    tagged: dict[str, str] = {}  # repository → its latest name
    for command, words in calls(recipe, DOCKER, "build", "run", "create", "commit", "tag", "push"):
        match command.plain[0]:
            case "build":
                yield from _build(command, words, tagged)
            case "run" | "create":
                yield from _run(command, words)
            case "commit":
                fix = "write a Dockerfile, and build it"
                yield Mistake(command.line, "an image made by hand cannot be made again", fix, Severity.WARNING)
            case "tag":
                yield from _tag(command, words, tagged)
            case _:
                yield from _push(command, words, tagged)


def _build(command: Command, words: tuple[Word, ...], tagged: dict[str, str]) -> Iterator[Mistake]:
    names = [name.text for name in option_values(words, "-t", "--tag") if name.text]
    texts = [word.text for word in words]
    if not names and not any(re.match(r"--(iidfile|output|metadata-file|push|check)|-o$", text) for text in texts):
        fix = "docker build -t registry/repository:version …; use the digest that the push prints"
        yield Mistake(command.line, "the image that is built has no name", fix, Severity.WARNING)
    tagged |= {_repository(name): name for name in names}


def _run(command: Command, words: tuple[Word, ...]) -> Iterator[Mistake]:
    at = image_at(command.program, words)
    if at is not None and _ID.fullmatch(words[at].text):
        message = f"{words[at].text} is an id of this host's store: no other host, and no later build, knows it"
        yield Mistake(words[at].line, message, "run repository@sha256:…", Severity.WARNING)


def _tag(command: Command, words: tuple[Word, ...], tagged: dict[str, str]) -> Iterator[Mistake]:
    plain = [word.text for word in words if not word.text.startswith("-")]
    if len(plain) != 2:
        return
    source, target = plain
    if _ID.fullmatch(target) or (target in tagged.values() and source not in tagged.values()):
        message = f"docker tag takes the source first: this gives the name {target} to {source}"
        yield Mistake(command.line, message, f"docker tag {target} {source}")
    tagged[_repository(target)] = target


def _push(command: Command, words: tuple[Word, ...], tagged: dict[str, str]) -> Iterator[Mistake]:
    name = next((word.text for word in words if not word.text.startswith("-")), "")
    given = tagged.get(name)
    if given and given != name:
        message = f"{name} is pushed without the tag that was just set: that pushes latest"
        yield Mistake(command.line, message, f"docker push {given}")


def _repository(name: str) -> str:
    head, slash, last = name.partition("@")[0].rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"
