"""D-MISSING: a framework without the CUDA libraries that it loads."""

import re
from collections.abc import Iterator
from typing import Final

from compat.evidence.names.distributions import Device, device_of, framework_of
from imaging.lint.base_images import is_cuda_base, parse_reference
from imaging.lint.frameworks import brought_cuda
from imaging.lint.packages import Manager, installs
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.requirements import Package
from imaging.lint.rules.rule import Mistake
from imaging.references import ImageReference, known_image

# What each loads from around it: no wheel of theirs requires it. Sources: compat.evidence.names.builds.
_LOADS: Final = {
    "tensorflow": ("CUDA", "cuDNN"),
    "onnxruntime": ("CUDA", "cuDNN"),
    "ctranslate2": ("CUDA", "cuDNN"),
    "faster-whisper": ("CUDA", "cuDNN"),
    "cupy": ("CUDA",),
}
_BRINGS: Final = re.compile(r".*(cuda|cudnn|cublas|nvidia).*")
# https://github.com/tensorflow/tensorflow/issues/81344, /issues/62412, /issues/94593
_BARE: Final = re.compile(r"2\.1[89]\.0-gpu(-jupyter)?")
_AND_CUDA: Final = "write tensorflow[and-cuda]=={}, which brings them"


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    base = parse_reference(recipe.base.base) if recipe.base and recipe.base.is_base_known else None
    if recipe.base is None or base is None:
        return
    # What a script, an archive or a compiler brings is not seen; what a package manager brings is.
    found = [install for run in recipe.image if run.keyword == "RUN" for install in installs(run.commands)]
    every = [(install, package) for install in found for package in install.packages]
    if any(brought_cuda(*each) or _brings(*each[1:]) for each in every):
        return
    if base.name == "tensorflow/tensorflow" and _BARE.fullmatch(base.tag or ""):
        message = f"{base.name}:{base.tag} lacks libraries that its TensorFlow loads: it finds no GPU"
        fix = f"start from a slim OS, and {_AND_CUDA.format((base.tag or '').partition('-')[0])}; or take NGC's image"
        yield Mistake(recipe.base.line, message, fix)
        return
    has = _of_base(base)
    for install, package in every if has is not None else ():
        lacks = [each for each in _LOADS.get(framework_of(package.name), ()) if each not in (has or ())]
        is_for_gpu = device_of(package.name, package.version, package.extras) is Device.GPU
        if install.manager in {Manager.PIP, Manager.UV} and lacks and is_for_gpu:
            message = (
                f"{package.name} loads {' and '.join(lacks)} from the image, and nothing brings it: it finds no GPU"
            )
            yield Mistake(package.word, message, _fix(package))


def _brings(package: Package) -> bool:
    return not framework_of(package.name) and bool(_BRINGS.fullmatch(package.name))


def _of_base(base: ImageReference) -> frozenset[str] | None:
    """What the base has of CUDA; None if it is not known."""
    if is_cuda_base(base):
        tag = base.tag or ""
        cudnn = {"cuDNN"} if "cudnn" in tag else set[str]()
        return frozenset(cudnn | ({"CUDA"} if re.search(r"runtime|devel", tag) else set()))
    named = known_image(str(base))
    is_plain = base.registry == "docker.io" and "/" not in base.name  # Docker's official images: none has CUDA
    return frozenset() if is_plain or (named is not None and named.gpu_free) else None


def _fix(package: Package) -> str:
    if framework_of(package.name) == "tensorflow":
        version = package.version or "<version>"
        return (
            f"{_AND_CUDA.format(version)}; or start from nvidia/cuda:…-cudnn-runtime; for the CPU write tensorflow-cpu"
        )
    if framework_of(package.name) == "cupy":
        return "start from nvidia/cuda:…-runtime, or add the wheels of CUDA in the same line as its name"
    return "start from nvidia/cuda:…-cudnn-runtime with the CUDA that it was built for"
