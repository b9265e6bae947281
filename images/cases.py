"""What of an image uses a GPU, as cases for `check`: one for each framework build, for each environment's CUDA. Pure.

    Image("scipy-ml-notebook", cases_of(load_family("scipy-ml-notebook")))

An image without cases holds nothing that uses a GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from components.compat import Case
from components.compat.images import read_image
from components.compat.versions import VersionError
from images.spec import Cuda, ImageSpec

# Distributions that have code for GPUs, by pattern; `None` in place of a framework where the plain one has none.
_FRAMEWORKS: Final = (
    (r"torch|pytorch|pytorch-gpu", "pytorch"),
    (r"tensorflow|tensorflow-gpu", "tensorflow"),
    (r"jax|jaxlib", "jax"),
    (r"cupy(-cuda\d+x?)?", "cupy"),
    (r"mxnet-cu\d+(mkl)?", "mxnet"),
    (r"(cudf|cuml|cugraph)(-cu\d+)?|rapids", "rapids"),
    (r"onnxruntime-gpu", "onnxruntime"),
    (r"vllm", "vllm"),
    (r"flash-attn", "flash-attn"),
    (r"bitsandbytes", "bitsandbytes"),
    (r"xformers", "xformers"),
    (r"paddlepaddle-gpu", "paddle"),
)
_CONCERNS_GPUS: Final = re.compile(r"(NVIDIA|CUDA)_\w+")


@dataclass(frozen=True, slots=True)
class Use:
    """Something that uses a GPU, and where in the image it lies."""

    where: str  # base, server, kernel NAME; with `of IMAGE` where an ancestor brings it
    cuda: Cuda | None  # what the spec says of the environment's CUDA
    case: Case


@dataclass(frozen=True, slots=True)
class _Environment:
    """One set of packages that are loaded together, and the CUDA among them."""

    name: str
    pins: tuple[str, ...]
    cuda: Cuda | None


def cases_of(family: Sequence[ImageSpec]) -> tuple[Case, ...]:
    """Cases of an image and its ancestors (`images.load.load_family`), without a pool; none where nothing uses a GPU.

    What the spec asks for counts, not what a site's substitutes make of it.
    """
    return tuple(dict.fromkeys(use.case for use in uses_of(family)))


def uses_of(family: Sequence[ImageSpec]) -> tuple[Use, ...]:
    """The same with the place of each; two environments may have equal cases."""
    base = _base(family)
    found = [
        Use(environment.name if spec is family[0] else f"{environment.name} of {spec.name}", environment.cuda, case)
        for spec in family
        for environment in _environments(spec)
        for case in _cases(environment)
    ]
    variables = {name: value for spec in reversed(family) for name, value in spec.env.items()}
    told = ";".join(f"{name}={value}" for name, value in variables.items() if _CONCERNS_GPUS.fullmatch(name))
    image = base.image if base else ""
    uses = [replace(use, case=replace(use.case, image=image, env=told)) for use in found]
    if base and (base.framework or not found):  # a plain CUDA base serves what stands on it
        uses.insert(0, Use("base", None, replace(base, framework="", env=told)))
    return tuple(uses)


def _base(family: Sequence[ImageSpec]) -> Case | None:
    """Somebody else's image at the bottom, if its name says that it has CUDA."""
    reference = family[-1].base.reference or ""
    try:
        named = read_image(reference)
    except VersionError:
        return None
    if named.gpu_free or not (named.cudas or named.framework):
        return None
    return Case(image=reference, framework=named.framework)


def _environments(spec: ImageSpec) -> Iterator[_Environment]:
    yield _Environment("server", spec.server_wheels, spec.cuda)
    for kernel in spec.kernels:
        cuda = kernel.cuda.packages if kernel.cuda else ()
        yield _Environment(f"kernel {kernel.name}", (*cuda, *kernel.conda, *kernel.pypi), kernel.cuda)


def _cases(environment: _Environment) -> Iterator[Case]:
    line = environment.cuda.line if environment.cuda else ""
    pins = [_Pin.parse(pin) for pin in environment.pins]
    cudnn = next((pin.version for pin in pins if re.fullmatch(r"cudnn|nvidia-cudnn-cu\d+", pin.name)), "")
    built = [(pin, framework) for pin in pins if (framework := pin.framework(has_cuda=bool(line)))]
    for pin, framework in built:
        build = pin.name if pin.name != framework and re.search(r"cu\d|cuda\d", pin.name) else pin.extra
        yield Case(framework=framework, framework_version=pin.version, build=build, cuda=line, cudnn=cudnn)
    if line and not built:
        yield Case(cuda=line, cudnn=cudnn)


@dataclass(frozen=True, slots=True)
class _Pin:
    """`torch==1.7.1+cu101`, or conda's `cudnn=7.6.5.32`, taken apart."""

    name: str
    version: str
    extra: str

    @classmethod
    def parse(cls, text: str) -> _Pin:
        if "==" in text:
            requirement = Requirement(text)
            (specifier,) = requirement.specifier
            extra = f"{requirement.name}[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            return cls(canonicalize_name(requirement.name), specifier.version, extra)
        name, version, *_ = text.split("=")
        return cls(canonicalize_name(name), version, "")

    def framework(self, *, has_cuda: bool) -> str:
        """The framework that this distribution is a GPU build of; empty where it is none."""
        if self.version.endswith("+cpu"):
            return ""
        if self.name in {"jax", "jaxlib"} and not (has_cuda or "cuda" in self.extra or "+cuda" in self.version):
            return ""  # the plain wheels have code for the CPU alone
        return next((name for pattern, name in _FRAMEWORKS if re.fullmatch(pattern, self.name)), "")
