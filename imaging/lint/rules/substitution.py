"""D-SUBSTITUTION: a command substitution in an instruction that no shell reads."""

import re
from collections.abc import Iterator

from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake

_MEANT = re.compile(r"PS\d|PROMPT_COMMAND")  # a shell reads them later
_WORDS = frozenset({"ADD", "COPY", "EXPOSE", "USER", "VOLUME", "WORKDIR"})


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for instruction in recipe.instructions:
        named = [word for name, word in instruction.variables if not _MEANT.fullmatch(name)]
        words = (*named,) if instruction.keyword in {"ARG", "ENV"} else ()
        words = instruction.words if instruction.keyword in _WORDS else words
        if word := next((each for each in words if re.search(r"(?<!\\)\$\(|`[^`\n]+`", each.text)), None):
            yield Mistake(
                word,
                f"Docker runs nothing in {instruction.keyword}: $(…) stays in the value as it is written",
                "write the value, take it from an ARG, or set it in the RUN that needs it",
            )
