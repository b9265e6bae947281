"""D-UID: a user with the ID of Ubuntu's own."""

import re
from collections.abc import Iterator

from imaging.lint.recipe import Command, LintContext, Recipe
from imaging.lint.rules.rule import Mistake
from imaging.spec.os_support import release_in

_USER = re.compile(r" (?:-[a-zA-Z]*u|--uid)[ =]?1000(?: |$)")
_GROUP = re.compile(r" (?:-[a-zA-Z]*g|--gid)[ =]?1000(?: |$)")
_ASKS = {"useradd": _USER, "adduser": _USER, "groupadd": _GROUP, "addgroup": _GROUP}
_FREES = frozenset({"userdel", "deluser", "usermod", "groupmod", "groupdel"})
_LOOKS = frozenset({"getent", "id"})  # a script that looks first may do the right thing


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    base = recipe.base
    release = release_in(base.base) if base and base.is_base_known else None
    if release is None or release.system != "ubuntu" or float(release.number) < 23.04:
        return
    commands = [command for run in recipe.image if run.keyword == "RUN" for command in run.commands]
    for command in commands:
        if command.program in _FREES | _LOOKS:
            return
        if _is_taken(command):
            yield Mistake(
                command.line,
                f"{command.program} fails: {release} has a user and a group ubuntu with ID 1000 already",
                "remove it first (userdel --remove ubuntu), take another ID, or use the user as it is: USER 1000",
            )
            return


def _is_taken(command: Command) -> bool:
    form, text = _ASKS.get(command.program), " ".join(command.texts)
    shares = re.search(r" (?:-[a-zA-Z]*o[a-zA-Z]*|--non-unique)(?: |$)", text)
    return form is not None and bool(form.search(text)) and not shares
