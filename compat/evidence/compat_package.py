"""An image's cuda-compat package: GPUs and host drivers that run a newer CUDA with it."""

from dataclasses import dataclass, replace

from compat.evidence.drivers import reaches
from compat.facts import tables
from compat.facts.tables import first_release
from compat.values.fact import AS_GIVEN, Fact, Present
from compat.values.findings import Fix, Severity
from compat.values.hosts import Gpu, PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import CudaVersion, DriverVersion

SOURCE = "https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html"
UNLISTED = "https://github.com/vllm-project/vllm/pull/33992"  # cuda-compat-13-0 on 575, which no list has
_DATE = "2026-11-20"
_FIRST_ON_UNLISTED = 11  # the package of CUDA 10.0 ends in error 999 on 390 and 396
_FIRST_PACKAGE = 10  # there is no cuda-compat package before CUDA 10.0


@dataclass(frozen=True, slots=True)
class PackageEffect:
    """The package's effect for one GPU on one driver."""

    severity: Severity  # a note or a warning: it works
    message: str
    fact: Fact
    fixes: tuple[Fix, ...] = ()

    @property
    def works(self) -> bool:
        return self.severity is Severity.NOTE or self.severity is Severity.WARN


def package_of(cuda: CudaVersion) -> str:
    """The name of the package in package managers."""
    return f"cuda-compat-{cuda.major}-{cuda.minor}"


def works(image: ImageFacts, pool: PoolFacts) -> bool:
    """Is a compat package in the image, and does it serve this GPU on this driver?"""
    found = service(image, pool)
    return found is not None and found.works


def service(image: ImageFacts, pool: PoolFacts) -> PackageEffect | None:
    """The effect of the image's package on this pool; None if there is no package or no need for one."""
    cuda, driver = image.compat_line or image.cuda, pool.driver
    if cuda is None or driver is None or image.compat_package is Present.NO:
        return None
    if reaches(cuda, driver, pool.platform) is not False or cuda.major < _FIRST_PACKAGE:
        return None
    if image.cuda is not None and cuda.line < image.cuda.line:
        return None  # the package is older than the CUDA that the program brings
    return _not_served(image, pool, package_of(cuda)) or _on_branch(image, cuda, driver)


def _not_served(image: ImageFacts, pool: PoolFacts, package: str) -> PackageEffect | None:
    """A GPU that no package serves, and unknown facts of the package or the GPU."""
    if pool.gpu.forward_compat is Present.NO:
        fact = Fact("compat packages support data-centre GPUs and some RTX cards, never GeForce", SOURCE, _DATE)
        return PackageEffect(Severity.REFUSE, f"{package} does not work on a {pool.gpu.name} (error 804)", fact)
    if image.compat_package is Present.UNKNOWN:
        fact = Fact("whether the image has a compat package was not stated", SOURCE, _DATE)
        message = f"it is not known whether the image has {package}: gpu-commons inspect --deep reads it"
        return PackageEffect(Severity.UNKNOWN, message, fact)
    if pool.gpu.forward_compat is Present.UNKNOWN:
        fact = Fact("of the RTX cards only selected, NGC-ready ones may use compat packages", SOURCE, _DATE)
        message = f"it is not known whether {package} works on {pool.gpu.name}: {whose_list(pool.gpu)}"
        return PackageEffect(Severity.UNKNOWN, message, fact)
    return None


def _on_branch(image: ImageFacts, cuda: CudaVersion, driver: DriverVersion) -> PackageEffect:
    """By the host branches that the image's own notes or NVIDIA's list name."""
    package = package_of(cuda)
    runs = f"the image's {package} runs on driver {driver}"
    if driver.branch in image.compat_branches:
        fact = Fact(f"the image's notes name {driver.branch} as a host branch for its compat package", SOURCE, _DATE)
        return PackageEffect(Severity.NOTE, runs, fact)
    by_branch = tables.forward_compats().get(cuda.line, {})
    row = by_branch.get(driver.branch)
    if row is not None and row.works:
        return PackageEffect(
            Severity.NOTE, runs, row.origin.fact(f"{package} works on host branch {driver.branch}", "works")
        )
    listed = sorted(branch for branch, each in by_branch.items() if each.works)
    where = ", ".join(map(str, listed)) or "no branch that the tables know"
    text = f"{package} works on host branches {where}"
    fact = row.origin.fact(text, "works") if row is not None else Fact(text, SOURCE, _DATE)
    if row is None and listed and driver.branch > listed[0] and cuda.major >= _FIRST_ON_UNLISTED:
        message = f"{package} is likely to run on driver {driver}, but NVIDIA supports it on host branches {where} only"
        return PackageEffect(Severity.WARN, message, replace(fact, source=f"{SOURCE} ; {UNLISTED}"))
    newer = [first_release(branch) for branch in listed if branch > driver.branch]
    return PackageEffect(Severity.REFUSE, f"{package} is not for driver {driver}: {text}", fact, tuple(newer[:1]))


def whose_list(gpu: Gpu) -> str:
    """Source that tells whether a card may use compat packages."""
    return "gpu-commons probe shows its model" if gpu.fact is AS_GIVEN else "NVIDIA lists the NGC-ready cards"
