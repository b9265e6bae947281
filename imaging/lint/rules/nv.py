"""D-NV: --nv after the image."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.lint.containers import APPTAINER, calls, image_at
from imaging.lint.recipe import Kind, LintContext, Recipe, Severity
from imaging.lint.rules.rule import ALL_FILES, Example, Mistake, Rule

_OPTIONS = frozenset({"--nv", "--nvccli", "--rocm"})


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for command, words in calls(recipe, APPTAINER, "run", "exec", "shell"):
        at = image_at(command.program, words)
        late = [word for word in words[at + 1 :] if word.text in _OPTIONS] if at is not None else []
        if late:
            message = f"{late[0].text} comes after the image: the script gets it as an argument, and no GPU is bound"
            fix = f"{command.program} {command.plain[0]} {late[0].text} <image> …: options come before the image"
            yield Mistake(late[0].line, message, fix)


RULE = Rule(
    id="D-NV",
    number="E28",
    title="--nv after the image",
    says="Options of singularity and apptainer come before the image.",
    why="What follows the image is passed to the program in it: the job runs without a GPU, usually silently.",
    fix="apptainer exec --nv image.sif command",
    sources=("https://apptainer.org/docs/user/latest/gpu.html",),
    severity=Severity.ERROR,
    check=check,
    kinds=ALL_FILES,
    passing=Example("#!/bin/bash\napptainer exec --nv image.sif python train.py\n", Kind.SCRIPT),
    failing=Example("#!/bin/bash\nsingularity run image.simg train.py --nv\n", Kind.SCRIPT),
)
