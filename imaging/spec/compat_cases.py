"""GPU programs of an image as cases for `check`: one per framework build, or per environment's CUDA. Pure.

    Image("scipy-ml-notebook", cases_of(load_family("scipy-ml-notebook")))

An image without cases has nothing that uses a GPU.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from compat import Case
from imaging.references import known_image
from imaging.spec.model import Environment, ImageSpec
from imaging.spec.parts import Cuda
from imaging.spec.pins import Pin, frameworks_in, read_pin

_CONCERNS_GPUS: Final = re.compile(r"(NVIDIA|CUDA)_\w+")


@dataclass(frozen=True, slots=True)
class Use:
    """A program that uses a GPU, and its place in the image."""

    where: str  # base, server or a target, kernel NAME; with `of IMAGE` if an ancestor brings it
    cuda: Cuda | None  # the spec's entry on the environment's CUDA
    case: Case


def cases_of(family: Sequence[ImageSpec]) -> tuple[Case, ...]:
    """Cases of an image and its ancestors (`imaging.spec.load.load_family`), without a pool; none if nothing
    uses a GPU.

    It uses the spec's own content, not a site's substitutes.
    """
    return tuple(dict.fromkeys(use.case for use in uses_of(family)))


def uses_of(family: Sequence[ImageSpec]) -> tuple[Use, ...]:
    """The same with each one's place; two environments may have equal cases."""
    base = _base(family)
    found = [
        Use(environment.name if spec is family[0] else f"{environment.name} of {spec.name}", environment.cuda, case)
        for spec in family
        for environment in spec.environments
        for case in _cases(environment)
    ]
    variables = {name: value for spec in reversed(family) for name, value in spec.env.items()}
    gpu_env = ";".join(f"{name}={value}" for name, value in variables.items() if _CONCERNS_GPUS.fullmatch(name))
    image = base.image if base else ""
    uses = [replace(use, case=replace(use.case, image=image, env=gpu_env)) for use in found]
    if base and (base.framework or not found):  # a plain CUDA base serves the images on it
        uses.insert(0, Use("base", None, replace(base, framework="", env=gpu_env)))
    return tuple(uses)


def _base(family: Sequence[ImageSpec]) -> Case | None:
    """The external image at the bottom, if its name says that it has CUDA."""
    reference = family[-1].base.reference or ""
    named = known_image(reference)
    if named is None or named.gpu_free or not (named.cudas or named.framework):
        return None
    return Case(image=reference, framework=named.framework)


def _cases(environment: Environment) -> Iterator[Case]:
    line = environment.cuda.line if environment.cuda else ""
    yield from _cases_of(environment.pins, environment.frameworks, line)


def cases_of_facts(base: str, cuda_lines: Sequence[str], frameworks: Sequence[str]) -> tuple[Case, ...]:
    """Cases of an image without its spec, from its recorded facts and a base that is not ours. ValueError: no pin.

    The facts do not say which framework uses which of several CUDA lines; then the framework's own build decides.
    """
    named = known_image(base)  # a name without a CUDA proves nothing
    image = base if named and named.cudas and not named.gpu_free else ""
    line = cuda_lines[0] if len(cuda_lines) == 1 else ""
    pins = [(read_pin(written),) for written in frameworks]
    found = [case for pin in pins for case in _cases_of(pin, tuple(frameworks_in(pin, conda_cuda=line)), line)]
    cases = found or [Case(cuda=each) for each in cuda_lines]
    return tuple(dict.fromkeys(replace(case, image=image) for case in cases))


def _cases_of(pins: Sequence[Pin], frameworks: Sequence[tuple[Pin, str]], line: str) -> Iterator[Case]:
    cudnn = next((pin.version for pin in pins if re.fullmatch(r"cudnn|nvidia-cudnn-cu\d+", pin.name)), "")
    for pin, framework in frameworks:
        yield Case(framework=framework, framework_version=pin.version, build=_build(pin), cuda=line, cudnn=cudnn)
    if line and not frameworks:
        yield Case(cuda=line, cudnn=cudnn)


def _build(pin: Pin) -> str:
    """The pin's build, besides its version: cupy-cuda12x, jax[cuda12]."""
    if re.search(r"cu\d|cuda\d", pin.name):
        return pin.name
    return f"{pin.name}[{','.join(pin.extras)}]" if pin.extras else ""
