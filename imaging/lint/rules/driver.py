"""D-DRIVER: a driver, or a part of one, inside an image."""

import re
from collections.abc import Iterator

from imaging.lint.packages import Manager, install_of
from imaging.lint.recipe import Command, Instruction, LintContext, Recipe, Role
from imaging.lint.rules.rule import Mistake
from imaging.spec.os_support import release_in

_PACKAGES = re.compile(
    r"nvidia-(driver|headless|dkms|kernel-(common|source|open)|utils|compute-utils|open|opengl|fabricmanager)([-_.\w${}]*)"
    r"|nvidia-\d{3}([-_.\w]*)|nvidia-\$\w*|nvidia-current|cuda-drivers([-_.\w]*)|libcuda1([-_.\w]*)|xserver-xorg-video-nvidia[-\w]*"
    r"|libnvidia-(compute|gl|cfg1|common|decode|encode|extra|fbc1|ml1)([-_.\w]*)|(kmod|akmod)-nvidia[-\w]*|nvidia-x11-drv[-\w]*"
    r"|cuda|cuda-\d+-\d+|cuda-runtime-\d+-\d+|cuda-demo-suite-\d+-\d+"
)
# nvtop of Ubuntu 20.04 depends on one driver's libraries: https://github.com/Syllo/nvtop/issues/199
_INSTALLER = re.compile(r"(^|/)(NVIDIA-Linux-[\w.${}-]*?\.run|nvidia-installer|nvidia-driver-local[\w.-]*)$")
_TOOLKIT = re.compile(r"(^|/)cuda_[\w.${}-]*_linux[\w-]*(\.run)?$|(^|/)cuda[\w.${}-]*\.run$")
_LIBRARY = re.compile(r"(^|/)(libcuda|libnvidia-ml|libnvidia-ptxjitcompiler)\.so[.\d*]*$")
# They fetch, move or name an installer, but do not run it.
_ONLY_NAMES = frozenset({"wget", "curl", "chmod", "rm", "mv", "cp", "ls", "echo", "tar", "test", "cd"})
_FIX = "leave it out: the container runtime, --nv or CDI brings the host's driver in when the container starts"


def check(recipe: Recipe, context: LintContext) -> Iterator[Mistake]:
    if context.role is Role.DRIVER:
        return
    release = release_in(recipe.base.base) if recipe.base and recipe.base.is_base_known else None
    is_focal = release is not None and (release.system, release.number) == ("ubuntu", "20.04")
    for instruction in recipe.image:
        if instruction.keyword == "RUN":
            for command in instruction.commands:
                yield from _of_command(command)
                install = install_of(command) if is_focal else None
                for package in install.packages if install and install.manager is Manager.APT else ():
                    if package.name == "nvtop":
                        message = f"nvtop of {release} brings libnvidia-compute, a driver library: it hides the host's"
                        yield Mistake(package.word, message, "start from Ubuntu 22.04 or newer, or leave nvtop out")
        elif instruction.keyword in {"COPY", "ADD"}:
            yield from _copied(instruction)


def _of_command(command: Command) -> Iterator[Mistake]:
    install = install_of(command)
    if install and install.manager in {Manager.APT, Manager.RPM}:
        for package in install.packages:
            if _PACKAGES.fullmatch(package.name):
                also = " (the meta-package brings one)" if package.name.startswith("cuda") else ""
                yield Mistake(
                    package.word,
                    f"{package.name} installs a driver{also}: it hides the host's, and fails as soon as the two differ",
                    _FIX,
                )
        return
    if command.program in _ONLY_NAMES:
        return
    if run := [word for word in command.words[:3] if _INSTALLER.search(word.text)]:
        message = "the driver's installer runs while the image is built: its libraries hide those of the host"
        yield Mistake(run[0].line, message, _FIX)
    if toolkit := [word for word in command.words[:2] if _TOOLKIT.search(word.text)]:
        texts = " ".join(command.texts)
        if "--driver" in texts or ("--silent" in texts and "--toolkit" not in texts):
            message = "the toolkit's installer also installs the driver that it carries"
            yield Mistake(toolkit[0].line, message, f"add --toolkit to it, without --driver; {_FIX}")


def _copied(instruction: Instruction) -> Iterator[Mistake]:
    for word in instruction.words:
        if _LIBRARY.search(word.text) and "/stubs/" not in word.text:
            message = f"{word.text} is a part of the driver: in an image it hides the host's"
            yield Mistake(word, message, _FIX)
            return
