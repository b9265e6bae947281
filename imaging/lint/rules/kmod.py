"""D-KMOD: a kernel module in an application image."""

from __future__ import annotations

import re
from collections.abc import Iterator

from imaging.lint.recipe import Command, LintContext, Recipe, Role, Severity
from imaging.lint.rules.rule import DIGEST, IMAGE_FILES, Example, Mistake, Rule

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


RULE = Rule(
    id="D-KMOD",
    number="E13",
    title="Kernel module in an application image",
    says="Only a driver image builds, holds or loads kernel modules.",
    why=(
        "A module fits one kernel release, loading it needs a privileged container, and one image that loads it "
        "changes the node for all others."
    ),
    fix="A driver container or a sysext, with the kernel release in its name; units load the modules in order.",
    sources=(
        "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/precompiled-drivers.html",
        "https://www.flatcar.org/docs/latest/setup/customization/using-nvidia/",
    ),
    severity=Severity.ERROR,
    check=check,
    kinds=IMAGE_FILES,
    passing=Example(
        f"FROM ubuntu:24.04@{DIGEST}\nCOPY nvidia.ko /opt/\nUSER 1000\nCMD insmod /opt/nvidia.ko\n", role=Role.DRIVER
    ),
    failing=Example(f"FROM ubuntu:24.04@{DIGEST}\nCOPY nvidia.ko /opt/\nUSER 1000\n"),
)
