"""D-GPUBUILD: a build that needs a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.lint.recipe import Kind, LintContext, Recipe, Severity
from imaging.lint.rules.rule import ALL_FILES, Example, Mistake, Rule


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for instruction in recipe.instructions:
        for command in instruction.commands:
            if command.program == "nvidia-docker" and command.has("build"):
                message = "nvidia-docker gives a build no GPU: it only passes the call on"
                fix = "docker build; whatever needs a GPU is checked when the container runs"
                yield Mistake(command.line, message, fix)
            elif command.program == "nvidia-smi" and instruction.keyword == "RUN":
                message = "nvidia-smi runs while the image is built, where there is no GPU and no driver"
                fix = "take it out; check the GPU when the container starts"
                yield Mistake(command.line, message, fix)


RULE = Rule(
    id="D-GPUBUILD",
    number="E24",
    title="Build that counts on a GPU",
    says="An image is built without a GPU.",
    why="Builders have no driver: the wrapper nvidia-docker adds devices only to run and create.",
    fix="docker build; name the targets for compilers (TORCH_CUDA_ARCH_LIST) instead of asking a GPU.",
    sources=("https://github.com/NVIDIA/nvidia-docker/wiki/Frequently-Asked-Questions",),
    severity=Severity.WARNING,
    check=check,
    kinds=ALL_FILES,
    passing=Example("docker build -t hub.example/cuda:1 .\n", Kind.SCRIPT),
    failing=Example("nvidia-docker build -t hub.example/cuda:1 .\n", Kind.SCRIPT),
)
