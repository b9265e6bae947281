"""R-BACK: a newer driver runs what was built with an older CUDA."""

from compat.evidence.drivers import branch_of, major_floor, native_floor
from compat.rules.rule import Need, Rule, this_one
from compat.values.fact import Fact
from compat.values.findings import Finding, note, refuse, unknown, warn
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import CudaVersion

ID = "R-BACK"
_SOURCE = "https://docs.nvidia.com/deploy/cuda-compatibility/"
# The toolkit's installer requires a branch ("at least 384.00 is required for CUDA 9.0"), and 384.41 runs it.
# Not with older toolkits: 367.35 ends in error 35 with CUDA 8.0 (NVIDIA/nvidia-docker issues 317 and 399).
_BY_BRANCH = (
    "https://github.com/Theano/Theano/issues/6503 ; https://github.com/jade-hpc-gpu/jade-hpc-gpu.github.io/issues/10"
)
_FIRST_BY_BRANCH = CudaVersion(9, 0)
_DATE = "2026-11-24"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    cuda, driver, platform = image.cuda, pool.driver, pool.platform
    if cuda is None or driver is None:
        return ()
    found = native_floor(cuda, platform)
    if found is None:
        fact = Fact(f"no table lists a driver for CUDA {cuda} on {platform}", _SOURCE, "", verified=False)
        return (
            unknown(
                ID, f"it is not known which driver CUDA {cuda} needs: gpu-commons facts cuda_driver lists what is", fact
            ),
        )
    floor, fact = found
    if driver >= floor:
        return (note(ID, f"drivers from {floor} on support CUDA {cuda} natively", fact),)
    if major_floor(cuda) is not None:
        return ()  # R-MINOR reports what is missing
    branch, by_floor = branch_of(driver), branch_of(floor)
    if branch is not None and branch is by_floor and branch.native_cuda == cuda.line >= _FIRST_BY_BRANCH:
        reported = Fact(f"drivers of branch {branch.branch} report CUDA {branch.native_cuda}", _BY_BRANCH, _DATE)
        message = (
            f"NVIDIA lists driver {floor} for CUDA {cuda}; other releases of its branch report CUDA {cuda.line} too, "
            "which is what a program asks for, but are not supported"
        )
        return (warn(ID, message, reported),)
    before_11 = ". Before CUDA 11 there is no minor-version compatibility" if cuda.major < 11 else ""
    return (refuse(ID, f"CUDA {cuda} needs driver {floor} or newer{this_one(driver)}{before_11}", fact, floor),)


RULE = Rule(
    ID,
    check,
    sources=(
        "https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html",
        _SOURCE,
    ),
    need=Need.CUDA,
)
