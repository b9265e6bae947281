"""Finds frameworks among installed packages, and the CUDA that they bring."""

import re
from collections.abc import Iterator
from typing import Final

from compat.evidence.names.builds import choose, read_build_spec
from compat.evidence.names.distributions import Device, device_of, framework_of
from compat.values.versions import CudaVersion, VersionError
from imaging.lint.packages import Install, Manager, installs
from imaging.lint.recipe import Recipe
from imaging.lint.requirements import Package
from imaging.lint.shell import option_values

INDEXES: Final = ("--index-url", "-i", "--extra-index-url", "--index", "--default-index", "--find-links", "-f")
PYTHON: Final = frozenset({Manager.PIP, Manager.UV, Manager.CONDA})


def python_installs(recipe: Recipe, *, every_stage: bool = False) -> Iterator[Install]:
    """Installations of Python packages in the image, in order; or in builder stages too."""
    for instruction in recipe.instructions if every_stage else recipe.image:
        if instruction.keyword in {"RUN", "SCRIPT"}:
            yield from (install for install in installs(instruction.commands) if install.manager in PYTHON)


def is_tensorflow(package: Package) -> bool:
    """Is it any build of TensorFlow?"""
    return framework_of(package.name) == "tensorflow"


def brought_cuda(install: Install, package: Package) -> str:
    """CUDA line that a wheel brings, `some` if the tables do not have it; empty: it brings none."""
    if install.manager is Manager.CONDA:
        return ""
    if match := re.fullmatch(r"nvidia-(?:cublas|cuda-runtime|cufft|cusolver)(?:-cu(\d+))?", package.name):
        return match[1] or "some"
    if is_tensorflow(package):
        return "some" if "and-cuda" in package.extras and has_extra(package) else ""
    if package.name == "jax":  # the extra cuda12_local brings none
        return next((extra[4:6] for extra in package.extras if re.fullmatch(r"cuda\d\d(_pip)?", extra)), "")
    brings = framework_of(package.name) in {"pytorch", "vllm"}  # torch's wheels have it, and vLLM requires them
    return _of_torch(install, package) if brings else ""


def _of_torch(install: Install, package: Package) -> str:
    index = " ".join(word.text for word in option_values(install.command.words, *INDEXES))
    if re.search(r"/cpu/?( |$)|rocm|xpu", index) or device_of(package.name, package.version) is not Device.GPU:
        return ""
    wheels = match[0] if (match := re.search(r"cu\d{2,3}", index)) else ""
    return (_line_of(package.version, wheels) if package.name == "torch" else "") or "some"


def _line_of(version: str, wheels: str) -> str:
    try:
        spec = read_build_spec("torch", version, f"pip {wheels}" if "+" not in version else "pip")
    except VersionError:
        return ""
    if spec is None:
        return ""
    if spec.cuda:
        return str(spec.cuda[0])
    lines = {str(build.cuda.line) for build in choose(spec).builds if build.cuda is not None} if version else set()
    return lines.pop() if len(lines) == 1 else ""


def has_extra(package: Package) -> bool:
    """Does this TensorFlow have the extra and-cuda? It came with 2.14; pip only warns of an extra that is not there."""
    match = re.match(r"(\d+)\.(\d+)", package.version)
    return match is None or (int(match[1]), int(match[2])) >= (2, 14)


def least_of(package: Package) -> str:
    """What the lowest CUDA that a request leaves open asks of a host; empty if it names none."""
    from compat.evidence.drivers import major_floor  # noqa: PLC0415 - for a bound alone, and it reads the tables
    from compat.facts.tables import architectures  # noqa: PLC0415

    named = re.search(r"cuda_?(\d\d)(?:\.?(\d))?", package.build)
    is_cuda = re.fullmatch(r"cudatoolkit|cuda-version|cuda-toolkit|pytorch-cuda", package.name)
    text = f"{named[1]}.{named[2] or 0}" if named else package.version if is_cuda else ""
    is_upper = re.search(r"[<!]", package.word.text) and ">" not in package.word.text
    match = re.match(r"(\d\d?)(?:\.(\d))?(?!\d)", text) if not is_upper else None
    line = CudaVersion.parse(f"{match[1]}.{match[2] or 0}").line if match else None
    floor = major_floor(line) if line else None
    if line is None or floor is None:
        return ""
    fitting = [each.capability for each in architectures().values() if each.last_cuda is None or each.last_cuda >= line]
    asked = f"driver {floor[0]} or newer and compute capability {min(fitting)} or newer"
    return f"; it is at least CUDA {line}, which needs {asked}"
