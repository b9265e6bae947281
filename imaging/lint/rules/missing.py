"""D-MISSING: a framework without the CUDA libraries that it loads."""

import re
from collections.abc import Iterator
from typing import Final

from compat.evidence.names.distributions import Device, device_of, framework_of
from imaging.lint.base_images import is_cuda_base, parse_reference
from imaging.lint.frameworks import brought_cuda, has_extra
from imaging.lint.packages import Install, Manager, install_of
from imaging.lint.recipe import Instruction, LintContext, Recipe
from imaging.lint.requirements import Package
from imaging.lint.rules.rule import Mistake
from imaging.references import ImageReference, known_image

# What each loads from around it: no wheel of theirs requires it. Sources: compat.evidence.names.builds.
_LOADS: Final = {"tensorflow": ("CUDA", "cuDNN"), "onnxruntime": ("CUDA", "cuDNN"), "cupy": ("CUDA",)}
_BRINGS: Final = re.compile(r"cuda|cudnn|cublas|\bctk\b")
# Docker's official images, of which none has CUDA.
_WITHOUT_CUDA: Final = frozenset({
    "almalinux", "amazonlinux", "buildpack-deps", "centos", "debian", "fedora", "python", "rockylinux", "ubuntu",
})  # fmt: skip
# https://github.com/tensorflow/tensorflow/issues/81344, /issues/62412, /issues/94593
_BARE: Final = re.compile(r"2\.1[89]\.0-gpu(-jupyter)?")


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    base = parse_reference(recipe.base.base) if recipe.base and recipe.base.is_base_known else None
    if recipe.base is None or base is None or any(map(_may_bring, recipe.image)):
        return
    found = [each for run in recipe.image if run.keyword == "RUN" for each in map(install_of, run.commands) if each]
    every = [(install, package) for install in found for package in install.packages]
    brings = {install.environment for install, package in every if _brings(install, package)}
    if "" in brings:
        return
    if base.name == "tensorflow/tensorflow" and _BARE.fullmatch(base.tag or ""):
        message = f"{base.name}:{base.tag} lacks libraries that its TensorFlow loads: it finds no GPU"
        version = (base.tag or "").partition("-")[0]
        yield Mistake(recipe.base.line, message, f"start from a slim OS, and install tensorflow[and-cuda]=={version}")
        return
    has = _of_base(base)
    for install, package in every if has is not None else ():
        lacks = [each for each in _LOADS.get(framework_of(package.name), ()) if each not in (has or ())]
        is_for_gpu = device_of(package.name, package.version, package.extras) is Device.GPU
        is_pip = install.manager in {Manager.PIP, Manager.UV}
        if is_pip and lacks and is_for_gpu and install.environment not in brings:
            message = f"the image lacks {' and '.join(lacks)}, which {package.name} loads: it finds no GPU"
            yield Mistake(package.word, message, _fix(package))


def _may_bring(instruction: Instruction) -> bool:
    """Does it copy CUDA, or run a program of it, such as the toolkit's installer?"""
    texts = [*instruction.flags.values()] + [word.text for word in instruction.words]
    texts += [text for each in instruction.commands if install_of(each) is None for text in each.texts]
    return instruction.keyword in {"COPY", "ADD", "RUN"} and any("cuda" in text.lower() for text in texts)


def _brings(install: Install, package: Package) -> bool:
    if brought_cuda(install, package) or any(map(_BRINGS.search, package.extras - {"and-cuda"})):
        return True
    is_client = package.name in {"nvidia-ml-py", "cuda-python"}
    return not framework_of(package.name) and not is_client and bool(_BRINGS.search(package.name))


def _of_base(base: ImageReference) -> frozenset[str] | None:
    """What the base has of CUDA; None if it is not known."""
    if is_cuda_base(base):
        tag = base.tag or ""
        cudnn = {"cuDNN"} if "cudnn" in tag else set[str]()
        return frozenset(cudnn | ({"CUDA"} if re.search(r"runtime|devel", tag) else set()))
    named = known_image(str(base))
    return frozenset() if base.name in _WITHOUT_CUDA or (named is not None and named.gpu_free) else None


def _fix(package: Package) -> str:
    if framework_of(package.name) == "cupy":
        return f"start from nvidia/cuda:…-runtime, or install {package.name}[ctk]"
    from_base = "start from nvidia/cuda:…-cudnn-runtime with the CUDA that it was built for"
    if package.name != "tensorflow" or not has_extra(package):
        return from_base
    version = package.version or "<version>"
    return f"write tensorflow[and-cuda]=={version}, or {from_base}; for the CPU write tensorflow-cpu"
