"""The smallest change that turns a refusal: another build, a CUDA line, a driver; computed by asking the rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from components.compat import tables
from components.compat.builds import for_system
from components.compat.contents import built, code_of
from components.compat.model import Change, ImageFacts, Platform, PoolFacts, Remedy, Severity
from components.compat.resolve import Findings, solve
from components.compat.rules import arch, ptx
from components.compat.rules.back import native_floor, reaches
from components.compat.rules.minor import major_floor
from components.compat.tables import Build
from components.compat.versions import ComputeCapability, CudaVersion, DriverVersion

_TRIED = 3  # builds that look right and are asked of all rules, newest first
_LAST = 999  # stands for the newest release of a branch


def find(image: ImageFacts, pool: PoolFacts, findings: Findings) -> Remedy:
    """What to change so that this image runs on this pool, the cheapest way first; says so where nothing can."""
    ways = [way for way in (_image_way(image, pool), _driver_way(image, pool, findings)) if way is not None]
    if not ways:
        return _field_way(findings) or _nothing(image, pool)
    text = ", or ".join(way.text for way in ways)
    return Remedy(f"{text[0].upper()}{text[1:]}.", ways[0].changes)


def _image_way(image: ImageFacts, pool: PoolFacts) -> Remedy | None:
    """The newest thing of the same kind that runs here: another build of this version, another version, a CUDA line."""
    if image.framework and not image.gpu_free:
        return _build_way(image, pool)
    if image.cuda is None or image.code is not None:
        return None
    line = newest_cuda(pool.gpu.capability, pool.driver, pool.platform)
    if line is None or line == image.cuda.line or not solve(_of_line(image, line), pool)[0].runs:
        return None
    return Remedy(f"use CUDA {line}, the newest line that runs here", (Change("cuda", str(image.cuda), str(line)),))


@lru_cache(8192)
def _of_line(image: ImageFacts, line: CudaVersion) -> ImageFacts:
    return replace(image, cuda=line, built_with=None, compat_line=line, requires=())


def _build_way(image: ImageFacts, pool: PoolFacts) -> Remedy | None:
    wanted = str(image.framework_version or "")
    for row in _candidates(image, pool, wanted):
        if not solve(_with(image, row), pool)[0].runs:
            continue
        if row.version == wanted:
            shown = f"{row.version}+{row.variant}" if row.variant.startswith("cu") else f"{row.version} ({row.variant})"
            return Remedy(f"use {row.framework} {shown}", (_to_build(image, row),))
        changes = (Change("framework_version", wanted, row.version), _to_build(image, row))
        return Remedy(f"use {row.framework} {row.version} ({row.variant}), the newest that runs here", changes)
    return None


def _to_build(image: ImageFacts, row: Build) -> Change:
    """As the field `build` takes it."""
    return Change("build", image.build, f"conda {row.variant}" if "conda" in row.distribution else row.variant)


def _candidates(image: ImageFacts, pool: PoolFacts, wanted: str) -> Iterator[Build]:
    """Other builds of the wanted version, newest CUDA first, then the newest versions."""
    system = {Platform.WINDOWS: "windows x86_64", Platform.LINUX_ARM: "linux aarch64"}.get(
        pool.platform, "linux x86_64"
    )
    if pool.host == "wsl":
        system = "linux x86_64"
    fitting = runnable(image.framework, system, pool.gpu.capability, pool.driver, pool.platform)
    same = [row for row in fitting if row.version == wanted and row.variant != image.build]
    yield from same[:_TRIED]
    yield from [row for row in fitting if row.version != wanted][:_TRIED]


@lru_cache(16384)
def runnable(
    framework: str, system: str, gpu: ComputeCapability, driver: DriverVersion | None, platform: Platform
) -> tuple[Build, ...]:
    """Builds with code for this GPU that this driver reaches, newest first; a few are enough for an answer."""
    rows = _with_code(framework, system, gpu)
    return tuple(row for row in rows if row.cuda is not None and _reached(row.cuda, driver, platform))


@lru_cache(1024)
def _with_code(framework: str, system: str, gpu: ComputeCapability) -> tuple[Build, ...]:
    rows = [row for row in tables.builds().get(framework, ()) if row.version[:1].isdigit() and for_system(row, system)]
    return tuple(row for row in reversed(rows) if row.cuda is not None and _covers(row, gpu))


def _covers(row: Build, gpu: ComputeCapability) -> bool:
    if row.lowest_capability is not None and gpu < row.lowest_capability:
        return False
    if row.cubins is None:
        return row.cuda is not None and _makes_code(row.cuda.line, gpu)
    return any(arch.runs(target, gpu) for target in row.cubins) or any(ptx.compiles(t, gpu) for t in row.ptx or ())


@lru_cache(4096)
def newest_cuda(gpu: ComputeCapability, driver: DriverVersion | None, platform: Platform) -> CudaVersion | None:
    """Newest CUDA line that makes code for this GPU and runs on this driver; None where there is none."""
    lines = sorted({each.version.line for each in tables.toolkits()}, reverse=True)
    return next((line for line in lines if _makes_code(line, gpu) and _reached(line, driver, platform)), None)


@lru_cache(4096)
def _makes_code(line: CudaVersion, gpu: ComputeCapability) -> bool:
    known = tables.architectures()
    own = known.get(gpu)
    if own is not None and own.last_cuda is not None and line > own.last_cuda:
        return False
    return any(
        each.first_cuda is not None and each.first_cuda <= line
        for each in known.values()
        if each.capability.major == gpu.major and each.capability <= gpu
    )


@lru_cache(16384)
def _reached(cuda: CudaVersion, driver: DriverVersion | None, platform: Platform) -> bool:
    if driver is None or reaches(cuda, driver, platform):
        return True
    floor = major_floor(cuda, platform)
    return floor is not None and driver >= floor[0]


@lru_cache(8192)
def _with(image: ImageFacts, row: Build) -> ImageFacts:
    """The image with another build in it; what is around it stays."""
    bare = replace(
        image,
        cuda=row.cuda,
        built_with=row.cuda,
        compat_line=row.cuda,
        requires=(),
        code=code_of(row),
        framework_version=None,
        cudnn=None,
        lowest_capability=None,
    )
    return built(bare, row, brings=image.carries_cuda)


def _driver_way(image: ImageFacts, pool: PoolFacts, findings: Findings) -> Remedy | None:
    """The lowest driver that runs this image; the GPU must allow it."""
    wanted = [change for each in findings if each.severity is Severity.REFUSE for change in each.changes]
    texts = [change.to for change in wanted if change.field == "driver"]
    if pool.platform is Platform.JETSON:
        return _jetpack_way(texts, pool)
    if not texts or pool.driver is None:
        return None
    for driver in _drivers(texts, image, pool):
        if solve(image, replace(pool, driver=driver))[0].runs:
            if driver.minor == _LAST:
                text = f"use a driver of branch {driver.branch}, the last that drives {pool.gpu.name}"
                return Remedy(text, (Change("driver", str(pool.driver), str(driver.branch)),))
            text = f"use driver {driver} or newer, which {pool.gpu.name} allows"
            return Remedy(text, (Change("driver", str(pool.driver), str(driver)),))
    return None


def _drivers(texts: list[str], image: ImageFacts, pool: PoolFacts) -> list[DriverVersion]:
    """Drivers that a finding asks for, and the one that came with the image's CUDA; lowest first."""
    found = {DriverVersion(int(text), _LAST) if text.isdigit() else DriverVersion.parse(text) for text in texts}
    if image.cuda is not None and (floor := native_floor(image.cuda.line, pool.platform)) is not None:
        found.add(floor[0])
    return sorted(driver for driver in found if driver != pool.driver)


def _jetpack_way(texts: list[str], pool: PoolFacts) -> Remedy | None:
    if not texts:
        return None
    text = f"install L4T {texts[0]} or newer, which {pool.gpu.name} takes"
    return Remedy(text, (Change("driver", str(pool.jetson or ""), texts[0]),))


def _field_way(findings: Findings) -> Remedy | None:
    """What a refusal that stands alone asks for: kernel modules, a variable, a compat package taken out."""
    refusals = [each for each in findings if each.severity is Severity.REFUSE]
    changes = [each.changes[0] for each in refusals if each.changes and each.changes[0].field not in {"driver", "cuda"}]
    if not changes or len(changes) < len(refusals):
        return None
    text = " and ".join(f"set {change.field} to {change.to}" for change in changes)
    return Remedy(f"{text[0].upper()}{text[1:]}.", tuple(changes))


def _nothing(image: ImageFacts, pool: PoolFacts) -> Remedy:
    line = newest_cuda(pool.gpu.capability, pool.driver, pool.platform)
    if line is not None and image.code is not None:
        target = f"sm_{pool.gpu.capability.digits}"
        return Remedy(f"Build the code for {pool.gpu.name} ({target}) with CUDA {line} or older.")
    return Remedy(f"No driver, CUDA line or build of the tables makes this run on {pool.gpu.name}.")
