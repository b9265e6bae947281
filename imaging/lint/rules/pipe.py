"""D-PIPE: a download piped straight into an interpreter."""

import re
from collections.abc import Iterator
from typing import Final

from imaging.lint.recipe import Command, LintContext, Recipe
from imaging.lint.rules.rule import Mistake
from imaging.lint.shell import SHELLS

_FETCHERS: Final = frozenset({"curl", "wget", "aria2c"})
_LANGUAGES: Final = re.compile(r"python\d?(\.\d+)?|perl|ruby|node|php")
# `bash -c "$(curl …)"`, `bash <(curl …)`, `eval "$(wget …)"`: the output of a download as text or as a file.
_FETCHED: Final = re.compile(r"\s*[\"']?(?:\$\(|`|<\()\s*(?:sudo\s+)?(curl|wget|aria2c)\b")
_FIX: Final = (
    "write it to a file from a URL with a version, compare it (echo '<sum>  FILE' | sha256sum -c -), then run the "
    "file; or take the program from a package, or with COPY --from from an image by digest"
)


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for command in recipe.commands:
        fetcher, line = _fed(command)
        if fetcher:
            yield Mistake(
                line,
                f"{fetcher} feeds {command.program} what a server answers at build time: nobody has seen that code, "
                "and the next build may run another one",
                _FIX,
            )


def _fed(command: Command) -> tuple[str, int]:
    """The program whose download this command runs, and its line; empty if it runs none."""
    is_shell = command.program in SHELLS
    if (is_shell or _LANGUAGES.fullmatch(command.program)) and _reads_its_program(command, is_shell=is_shell):
        for word in command.fed_by:
            if (name := word.text.rpartition("/")[2]) in _FETCHERS:
                return name, word.line
    if is_shell or command.program in {"eval", "source", "."}:
        for word in command.arguments:
            if match := _FETCHED.match(word.text):
                return match[1], word.line
    return "", 0


def _reads_its_program(command: Command, *, is_shell: bool) -> bool:
    """Does an interpreter run its standard input? With a script, `-c` or `-m` it is only data."""
    brings_its_own = r"-[a-z]*c[a-z]*" if is_shell else r"-[a-zA-Z]*[cemnp].*"
    words = iter(word.text for word in command.arguments)
    for text in words:
        if text in {"-", "/dev/stdin"} or (is_shell and re.fullmatch(r"-[a-z]*s[a-z]*", text)):
            return True
        if is_shell and text in {"-o", "+o", "-O"}:
            next(words, None)
        elif not text.startswith(("-", "+")) or re.fullmatch(brings_its_own, text):
            return False
    return True
