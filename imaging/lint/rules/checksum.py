"""D-CHECKSUM: ADD of a URL or a repository without a checksum."""

import re
from collections.abc import Iterator
from typing import Final

from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake

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
                    yield Mistake(word, message, fix)
            elif re.match(r"https?://|ftp://", word.text):
                message = f"ADD takes {_shown(word.text)} without a checksum: the next build may get another file"
                fix = "ADD --checksum=sha256:<sum> …, with the sum that the publisher gives for this version"
                yield Mistake(word, message, fix)


def _shown(address: str) -> str:
    """Without password and query, which may contain one."""
    plain = re.sub(r"(?<=//)[^/@]*@", "", address.partition("?")[0])
    return plain if len(plain) <= 100 else f"{plain[:99]}…"
