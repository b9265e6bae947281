"""D-KMOD: a kernel module in an application image."""

import re
from collections.abc import Iterator

from imaging.lint.recipe import Command, LintContext, Recipe, Role
from imaging.lint.rules.rule import Mistake

_MODULE = re.compile(r"\.ko(\.(xz|zst|gz))?$|\.ko\*$")
_FIX = "build and load it in a driver image or a node's boot unit, for the kernel that the node runs (--role driver)"


def check(recipe: Recipe, context: LintContext) -> Iterator[Mistake]:
    if context.role is Role.DRIVER:
        return
    for instruction in recipe.image:
        if instruction.keyword in {"COPY", "ADD"}:
            modules = [word for word in instruction.words if _is_module(word.text)]
            if modules:
                message = f"{modules[0].text} is a kernel module: it loads only into the kernel that it was built for"
                yield Mistake(modules[0].line, message, _FIX)
        seen: set[str] = set()  # report each once per instruction
        for command in instruction.commands:
            message = _of_command(command)
            if message and message not in seen:
                seen.add(message)
                yield Mistake(command.line, message, _FIX)


def _is_module(text: str) -> bool:
    # nvidia-uvm.so: the module under a wrong name.
    return bool(_MODULE.search(text) or re.search(r"(^|/)nvidia(-uvm|-modeset|-drm)?\.so$", text))


def _of_command(command: Command) -> str:
    if command.program in {"insmod", "modprobe"} and command.arguments:
        wrong = [word.text for word in command.arguments if re.search(r"\.so(\.|$)", word.text)]
        also = f"; and {wrong[0]} is not a module: modules end in .ko" if wrong else ""
        return f"{command.program} loads a kernel module, which is the node's business{also}"
    if command.program in {"make", "dkms"} and command.has("modules", "modules_install", "module", "autoinstall"):
        return "a kernel module is built here, for the kernel of the build's sources"
    if any(
        word.text.partition("=")[0] in {"--kernel-source-path", "--kernel-name", "--kernel-module-only"}
        for word in command.words
    ):
        return "the driver's installer builds a kernel module here, for the kernel of the build's sources"
    if command.program in {"cp", "mv", "install", "ln", "rsync", "find", "tar"} and any(
        _is_module(word.text) for word in command.arguments
    ):
        return "kernel modules stay in the image: they load only into the kernel that they were built for"
    return ""
