"""D-CHECKSUM: ADD of a URL or a repository without a checksum."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from imaging.lint.recipe import LintContext, Recipe, Severity
from imaging.lint.rules.rule import DIGEST, Example, Mistake, Rule

_GIT: Final = re.compile(r"git@|git://|ssh://|https?://[^#?]+\.git(#|\?|$)")
_COMMIT: Final = re.compile(r"#[0-9a-f]{40}(:|$)|[?&](commit|checksum)=[0-9a-f]{7,40}(&|$)")


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for instruction in recipe.instructions:
        if instruction.keyword != "ADD" or instruction.flags.get("checksum"):
            continue
        for word in instruction.words[:-1]:
            if _GIT.match(word.text):
                if not _COMMIT.search(word.text):
                    message = f"ADD takes {_shown(word.text)} without a commit: a branch or a tag moves"
                    fix = "name the commit behind it, …git#<40 digits>, or ADD --checksum=<commit>"
                    yield Mistake(word.line, message, fix)
            elif re.match(r"https?://|ftp://", word.text):
                message = f"ADD takes {_shown(word.text)} without a checksum: the next build may get another file"
                fix = "ADD --checksum=sha256:<sum> …, with the sum that the publisher gives for this version"
                yield Mistake(word.line, message, fix)


def _shown(address: str) -> str:
    """Without password and query, which may contain one."""
    plain = re.sub(r"(?<=//)[^/@]*@", "", address.partition("?")[0])
    return plain if len(plain) <= 100 else f"{plain[:99]}…"


RULE = Rule(
    id="D-CHECKSUM",
    title="ADD of a URL without a checksum",
    says="What ADD takes from the network is named by its checksum, a repository by its commit.",
    why=(
        "Nothing in the recipe says which bytes are meant: a file that is replaced, or a proxy's error page, silently "
        "lands in the image."
    ),
    fix="ADD --checksum=sha256:<sum>; for a repository the commit.",
    sources=(
        "https://docs.docker.com/reference/dockerfile/#add---checksum",
        "https://docs.docker.com/build/building/best-practices/#add-or-copy",
    ),
    severity=Severity.WARNING,
    check=check,
    passing=Example(
        f"FROM debian:12@{DIGEST}\nADD --checksum={DIGEST} https://example.org/model-2.1.bin /opt/\nUSER 1000\n"
    ),
    failing=Example(f"FROM debian:12@{DIGEST}\nADD https://example.org/model-2.1.bin /opt/\nUSER 1000\n"),
)
