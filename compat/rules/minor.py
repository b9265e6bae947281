"""R-MINOR: from CUDA 11 on, a driver at the floor of a major runs all minors of that major."""

from dataclasses import replace

from packaging.version import Version

from compat.evidence import compat_package
from compat.evidence.drivers import branch_of, major_floor, native_floor, oldest_toolkit
from compat.facts import tables
from compat.rules.rule import Need, Rule, this_one
from compat.values.fact import Fact
from compat.values.findings import Finding, Severity, note, refuse, unknown, warn
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts, judged
from compat.values.versions import CudaVersion, DriverVersion

ID = "R-MINOR"
_GUIDE = "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html"
_DATE = "2026-11-23"
_NUMBA = "https://numba.readthedocs.io/en/0.57.1/cuda/minor_version_compatibility.html"
# Programs that pass PTX of their own compiler to the driver, and where that is documented or reported.
_DRIVER_COMPILES = {
    "candle": "https://github.com/huggingface/candle/issues/3166",
    "hashcat": "https://github.com/hashcat/hashcat/issues/3642",
    "mistral.rs": "https://github.com/huggingface/candle/issues/3331",
    "numba": _NUMBA,
    "openmm": "https://github.com/openmm/openmm/issues/3585",
}
# From CUDA 12 on, the first release of the branch already supports minor-version compatibility; 450.51, which came with
# CUDA 11.0, does not.
_FIRST_BY_BRANCH = 12
_BY_BRANCH = "https://github.com/hojae-io/ModelBasedFootstepPlanning-IROS2024/issues/2"
_JAX, _JAX_LINKS_WITH, _JAX_CHECKS = "https://github.com/google/jax/issues/5723", 11, Version("0.3")
_NUMBA_LINKS = "NUMBA_CUDA_ENABLE_MINOR_VERSION_COMPATIBILITY"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    cuda, driver = image.cuda, pool.driver
    if driver is None:
        return ()
    if cuda is None:
        return _by_targets(image, driver, pool)
    found = major_floor(cuda)
    if found is None:
        return ()
    floor, fact = found
    # Without a stated driver, use the first one that NVIDIA lists for it.
    if driver < floor and driver.given and cuda.major >= _FIRST_BY_BRANCH and driver.branch == floor.branch:
        return _of_its_branch(cuda, floor)
    if driver < floor:
        return (refuse(ID, f"CUDA {cuda} needs driver {floor} or newer{this_one(driver)}", fact, floor),)
    own = native_floor(cuda.line, pool.platform)
    if own is not None and driver < own[0] and _driver_compiles(image):
        return (_needs_ptx(image.framework, cuda, own[0], this_one(driver)),)
    if own is not None and driver < own[0] and not _code_is_known(image, pool):
        message = (
            f"CUDA {cuda.major}.x runs from driver {floor} on if there is machine code for {pool.gpu.name}, which "
            f"is not known here; if there is only PTX of CUDA {cuda.line}, it needs driver {own[0]} or newer"
        )
        return (warn(ID, message, Fact("minor-version compatibility does not cover PTX", _GUIDE, _DATE)),)
    return (note(ID, f"from driver {floor} on, any CUDA {cuda.major}.x program with code for the GPU runs", fact),)


def _by_targets(image: ImageFacts, driver: DriverVersion, pool: PoolFacts) -> tuple[Finding, ...]:
    """No CUDA is named: the newest target tells the oldest toolkit that can have made the code."""
    made = oldest_toolkit(image.code) if image.code is not None and not image.gpu_free else None
    if image.code is None or made is None or made.first_cuda is None:
        return ()
    found = major_floor(made.first_cuda) or native_floor(made.first_cuda, pool.platform)
    if found is None or driver >= found[0]:
        return ()
    package = compat_package.service(replace(image, cuda=made.first_cuda), pool)
    if package is not None and package.works:
        tell = warn if package.severity is Severity.WARN else note
        return (tell(ID, package.message, package.fact),)
    floor, name = found[0], f"sm_{made.capability.digits}"
    fact = made.origin.fact(f"CUDA {made.first_cuda} is the first with code for {name}", "first_cuda")
    message = (
        f"has code for {name}, which CUDA {made.first_cuda} and newer make, and programs of CUDA "
        f"{made.first_cuda.major} need driver {floor} or newer{this_one(driver)}"
    )
    may_be_served = package is not None and package.severity is Severity.UNKNOWN
    is_certain = fact.verified and image.code.fact.verified and not may_be_served
    return (refuse(ID, message, fact, floor) if is_certain else unknown(ID, message, fact),)


def _of_its_branch(cuda: CudaVersion, floor: DriverVersion) -> tuple[Finding, ...]:
    """An older release of the major's own branch: it reports the same CUDA."""
    message = (
        f"NVIDIA lists driver {floor} for CUDA {cuda.major}.x; other releases of branch {floor.branch} report the "
        "same CUDA, which is what a program asks for, but are not supported"
    )
    row = branch_of(floor)
    if row is None:
        return (warn(ID, message, Fact(message, _BY_BRANCH, "2026-11-26")),)
    fact = row.origin.fact(f"drivers of branch {row.branch} report CUDA {row.native_cuda}", "native_cuda")
    return (warn(ID, message, replace(fact, source=f"{fact.source} ; {_BY_BRANCH}")),)


def _driver_compiles(image: ImageFacts) -> bool:
    if image.framework == "numba":
        return dict(image.environment).get(_NUMBA_LINKS, "0") == "0"
    if image.framework == "jax":
        return _links_with_toolkit(image)
    is_ptx_only = image.code is not None and image.code.cubins == () and image.code.ptx is None
    return is_ptx_only or image.framework in _DRIVER_COMPILES


def _links_with_toolkit(image: ImageFacts) -> bool:
    """XLA of 2020 and 2021 links its output with the toolkit; an older driver does not load the result."""
    version, cuda = image.framework_version, image.cuda
    return cuda is not None and cuda.major == _JAX_LINKS_WITH and (version is None or version < _JAX_CHECKS)


def _needs_ptx(framework: str, cuda: CudaVersion, floor: DriverVersion, here: str) -> Finding:
    if framework == "jax":
        message = (
            f"jax compiles with CUDA {cuda.line}, and what that links needs driver {floor} or newer{here} "
            "(no kernel image is available)"
        )
        return refuse(ID, message, Fact(message, _JAX, _DATE), floor)
    message = (
        f"{framework or 'it'} has the driver compile its PTX, and PTX of CUDA {cuda.line} needs driver {floor} or "
        f"newer{here} (error 222, unsupported toolchain)"
    )
    fact = Fact("minor-version compatibility does not cover PTX", _DRIVER_COMPILES.get(framework, _GUIDE), _DATE)
    return refuse(ID, message, fact, floor)


def _code_is_known(image: ImageFacts, pool: PoolFacts) -> bool:
    """Is the machine code known? Published builds have it for the GPUs that their project names."""
    code = judged(image.code, pool.gpu.capability) if image.code else None
    listed = code is not None and (code.cubins is not None or code.at_least is not None or bool(code.languages))
    if listed or image.gpu_free:
        return True
    return bool(image.framework) and image.framework in tables.frameworks() and not image.own_build


RULE = Rule(
    ID,
    check,
    sources=(
        "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html",
        _GUIDE,
        _JAX,
        *_DRIVER_COMPILES.values(),
    ),
    need=Need.CUDA,
)
