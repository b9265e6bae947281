"""D-PIPE: a download piped straight into an interpreter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from imaging.lint.recipe import Command, LintContext, Recipe, Severity
from imaging.lint.rules.rule import ALL_FILES, DIGEST, Example, Mistake, Rule
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


RULE = Rule(
    id="D-PIPE",
    title="Download piped into an interpreter",
    says="No build and no script runs what a download prints.",
    why=(
        "Whatever the server answers at that moment becomes part of the image, as root. A connection that breaks "
        "leaves half a script that still runs, and the layer's cache hides that the source has changed."
    ),
    fix="Write it to a file, compare its SHA-256, run the file.",
    sources=(
        "https://docs.docker.com/build/building/best-practices/#add-or-copy",
        "https://docs.docker.com/build/building/best-practices/#using-pipes",
    ),
    severity=Severity.WARNING,
    check=check,
    kinds=ALL_FILES,
    passing=Example(
        f"FROM debian:12@{DIGEST}\n"
        "RUN curl -fsSLo /tmp/install.sh https://example.org/2.1/install.sh \\\n"
        " && echo '9f86d0…  /tmp/install.sh' | sha256sum -c - \\\n"
        " && sh /tmp/install.sh && rm /tmp/install.sh\n"
        "USER 1000\n"
    ),
    failing=Example(f"FROM debian:12@{DIGEST}\nRUN curl -fsSL https://example.org/install.sh | sh\nUSER 1000\n"),
)
