"""D-TWICE: CUDA from two sources in one environment."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from imaging.lint.base_images import cuda_in
from imaging.lint.frameworks import brought_cuda
from imaging.lint.packages import Install, Manager, installs
from imaging.lint.recipe import LintContext, Recipe, Word
from imaging.lint.requirements import Package
from imaging.lint.rules.rule import Mistake
from imaging.references import known_image

_CONDA = re.compile(
    r"cudatoolkit|cuda-toolkit|cuda-runtime|cuda-libraries|pytorch-cuda|cuda|libcublas|libcufft|cuda-cudart"
)
_SYSTEM = re.compile(
    r"(cuda-(toolkit|libraries|runtime)(-\d+-\d+)?|cuda(-\d+-\d+)?|libcublas-\d.*|nvidia-cuda-toolkit)"
)


@dataclass(frozen=True, slots=True)
class _Source:
    kind: str
    text: str  # conda's cudatoolkit 10.1
    at: Word


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    there: dict[str, _Source] = {}  # by environment; the system's serves all
    system: _Source | None = None
    framework = ""
    base = recipe.base
    if base and base.is_base_known:
        if line := cuda_in(base.base):
            system = _Source("system", f"the base image ({_cuda(line)})", Word("", base.line))
        named = known_image(base.base)
        framework = named.framework if named else ""
    for install in [each for run in recipe.image if run.keyword == "RUN" for each in installs(run.commands)]:
        for package in install.packages:
            source = _source(install, package)
            if source is None or _keeps_base(install, package, framework):
                continue
            first = system or there.get(install.environment)
            if source.kind == "system":
                system = system or source
                first = next(iter(there.values()), None)
            else:
                there.setdefault(install.environment, source)
            if first and first.kind != source.kind:
                yield Mistake(
                    source.at,
                    f"CUDA is in the image twice: from {first.text}, {first.at.place_from(source.at, recipe)}, "
                    f"and from {source.text}",
                    "take one source: with wheels that bring CUDA start from a slim OS or the base flavour, "
                    "and leave the conda or apt packages out; that saves 2 to 6 GB",
                )


def _source(install: Install, package: Package) -> _Source | None:
    name, at = package.name, package.word
    if install.manager is Manager.CONDA and _CONDA.fullmatch(name):
        return _Source("conda", f"conda's {name} {package.version}".rstrip(), at)
    if install.manager in {Manager.APT, Manager.RPM} and _SYSTEM.fullmatch(name):
        return _Source("system", f"the package {name}", at)
    if install.manager in {Manager.PIP, Manager.UV} and (cuda := brought_cuda(install, package)):
        return _Source("wheels", f"the wheel of {name} ({_cuda(cuda)})", at)
    return None


def _keeps_base(install: Install, package: Package, framework: str) -> bool:
    """`pip install torch` on a PyTorch image finds it installed, and brings nothing."""
    return framework == "pytorch" and package.name == "torch" and not package.is_pinned and not install.environment


def _cuda(line: str) -> str:
    return "its own CUDA" if line == "some" else f"CUDA {line}"
