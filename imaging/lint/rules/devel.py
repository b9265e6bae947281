"""D-DEVEL: a last stage on a devel base."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.lint.base_images import is_devel, parse_reference
from imaging.lint.recipe import LintContext, Recipe, Severity
from imaging.lint.rules.rule import DIGEST, IMAGE_FILES, Example, Mistake, Rule


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    base = recipe.base
    reference = parse_reference(base.base) if base and base.is_base_known else None
    if base and reference and is_devel(reference):
        yield Mistake(
            base.line,
            f"{reference.name}:{reference.tag} brings compilers, headers and static libraries into the image",
            "build on it in a separate stage, and end on the base or runtime flavour or a slim OS; "
            "if kernels are compiled at run time, waive this with that reason",
        )


RULE = Rule(
    id="D-DEVEL",
    number="E10",
    title="devel base in the last stage",
    says="The image is not based on a devel flavour of CUDA.",
    why=(
        "devel with cuDNN is 5.6 GB compressed; ending on runtime took images from 4.2 to 1.3 GB and from 6.4 to "
        "3.9 GB."
    ),
    fix="Multi-stage: compile on devel, end on base, runtime or a slim OS.",
    sources=(
        "https://github.com/NVIDIA/nvidia-docker/wiki/CUDA",
        "https://github.com/saturncloud/images/issues/256",
        "https://github.com/runpod/containers/issues/144",
    ),
    severity=Severity.WARNING,
    check=check,
    kinds=IMAGE_FILES,
    passing=Example(
        f"FROM nvidia/cuda:13.0.2-devel-ubuntu24.04@{DIGEST} AS build\n"
        "RUN nvcc --version\n"
        f"FROM nvidia/cuda:13.0.2-base-ubuntu24.04@{DIGEST}\n"
        "USER 1000\n"
    ),
    failing=Example(f"FROM nvidia/cuda:13.0.2-devel-ubuntu24.04@{DIGEST}\nUSER 1000\n"),
)
