"""D-UID: a user with the ID of Ubuntu's own."""

import re
from collections.abc import Iterator

from imaging.lint.base_images import managing_release
from imaging.lint.recipe import Command, LintContext, Recipe
from imaging.lint.rules.rule import Mistake

_SINCE = {"ubuntu": 23.04}
_USER = re.compile(r" (?:-[a-zA-Z]*u|--uid)[ =]?1000(?: |$)")
_GROUP = re.compile(r" (?:-[a-zA-Z]*g|--gid)[ =]?1000(?: |$)")
_ASKS = {"useradd": _USER, "adduser": _USER, "groupadd": _GROUP, "addgroup": _GROUP}
_SHARES = re.compile(r" (?:-[a-zA-Z]*[of][a-zA-Z]*|--non-unique|--force)(?: |$)")
# What frees the ID, or looks first whether it is free.
_FREES = re.compile(r"\b(userdel|deluser|usermod|groupmod|groupdel)\b.*\bubuntu\b|/etc/passwd|\b(getent|id)\b")


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for stage in recipe.stages:
        chain = recipe.chain_of(stage)
        release = managing_release(chain[0], _SINCE)
        before = [command for one in chain[:-1] for each in one.instructions for command in each.commands]
        if release is None or any(map(_frees, before)):
            continue
        for command in (command for each in stage.instructions if each.keyword == "RUN" for command in each.commands):
            if _frees(command):
                break
            if _is_taken(command):
                yield Mistake(
                    command.line,
                    f"{command.program} fails: {release} already has a user and a group ubuntu with ID 1000",
                    "remove it first (userdel --remove ubuntu), take another ID, or use the user as it is: USER 1000",
                )
                break


def _frees(command: Command) -> bool:
    return bool(_FREES.search(" ".join(command.texts)))


def _is_taken(command: Command) -> bool:
    form, text = _ASKS.get(command.program), " ".join(command.texts)
    return form is not None and bool(form.search(text)) and not _SHARES.search(text)
