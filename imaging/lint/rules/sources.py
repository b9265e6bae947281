"""D-SOURCES: history, sources or compilers in the last stage."""

import re
from collections.abc import Iterator
from posixpath import basename

from imaging.lint.packages import Manager, install_of
from imaging.lint.recipe import Command, Instruction, Kind, LintContext, Recipe
from imaging.lint.rules.rule import Mistake

_COMPILERS = re.compile(
    r"build-essential|(gcc|g\+\+|clang)(-\d+)?|gcc-c\+\+|gxx_linux-64|gcc_linux-64|nvidia-cuda-toolkit|cuda-nvcc(-\d+-\d+)?"
    r"|cuda-compiler(-\d+-\d+)?|cuda-toolkit-\d+-\d+|linux-(headers|source|kbuild)[\w.$(){}+-]*|kernel-(devel|headers)[\w.-]*"
)
_FIX = "do it in a separate stage, and COPY --from what the program needs"


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for instruction in recipe.image:
        if instruction.keyword == "RUN":
            yield from _clones(instruction)
            # A definition file without stages has no other place to compile.
            if recipe.kind is Kind.DOCKERFILE or len(recipe.stages) > 1:
                yield from _compilers(instruction)


def _clones(run: Instruction) -> Iterator[Mistake]:
    for index, command in enumerate(run.commands):
        if command.program != "git" or not command.has("clone"):
            continue
        if any(word.text.startswith(("--depth", "--shallow-")) for word in command.arguments):
            continue
        target = _folder_of(command)
        if not any(_removes(later, target) for later in run.commands[index:]):
            message = f"{target or 'the clone'} comes with its whole history, and it stays in the image"
            yield Mistake(command.line, message, f"git clone --depth 1; better, {_FIX}")


def _folder_of(command: Command) -> str:
    words = command.plain
    at = next((index for index, word in enumerate(words) if re.search(r"://|@.*:|\.git$", word)), len(words) - 1)
    return basename((words[at + 1] if len(words) > at + 1 else words[at]).rstrip("/")).removesuffix(".git")


def _removes(command: Command, folder: str) -> bool:
    return command.program == "rm" and any(
        word.text.rstrip("/").endswith((".git", f"/{folder}")) or word.text.rstrip("/*") in {folder, command.folder}
        for word in command.arguments
    )


def _compilers(run: Instruction) -> Iterator[Mistake]:
    gone = {
        word.text
        for command in run.commands
        if command.has("purge", "remove", "erase", "del", "autoremove")
        for word in command.arguments
    }
    for command in run.commands:
        install = install_of(command)
        if install is None or install.manager not in {Manager.APT, Manager.RPM, Manager.CONDA}:
            continue
        for package in install.packages:
            # TensorFlow gets libdevice and ptxas, which it needs to run, from conda's cuda-nvcc.
            is_needed = install.manager is Manager.CONDA and package.name == "cuda-nvcc"
            if _COMPILERS.fullmatch(package.name) and package.name not in gone and not is_needed:
                yield Mistake(
                    package.word,
                    f"{package.name} stays in the image: a compiler and headers that the program does not need to run",
                    f"{_FIX}; if kernels are compiled at run time (Triton, torch.compile), waive this with that reason",
                )
                break  # one per call: its packages come and go together
