"""The smallest change that turns a refusal: a driver, a CUDA line, a build. Computed by asking the rules again."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from components.compat import tables
from components.compat.builds import Wish, choose
from components.compat.model import Change, Finding, ImageFacts, Platform, PoolFacts, Remedy, Severity, Verdict
from components.compat.resolve import Findings, solve
from components.compat.rules.back import native_floor
from components.compat.tables import Build
from components.compat.versions import CudaVersion, DriverVersion


def find(image: ImageFacts, pool: PoolFacts, verdict: Verdict, findings: Findings) -> Remedy | None:
    """What to change so that this image runs on this pool; None where it runs. Says so where nothing can."""
    if verdict is not Verdict.INCOMPATIBLE:
        return None
    return _find(image, pool, findings)


@lru_cache(8192)
def _find(image: ImageFacts, pool: PoolFacts, findings: Findings) -> Remedy:
    ways = [way for way in (_image_way(image, pool), _driver_way(image, pool, findings)) if way is not None]
    if not ways:
        return Remedy(_nothing(image, pool, findings))
    text = ", or ".join(way.text for way in ways)
    return Remedy(f"{text[0].upper()}{text[1:]}.", ways[0].changes)


def _image_way(image: ImageFacts, pool: PoolFacts) -> Remedy | None:
    """The newest thing of the same kind that runs here: another build of this version, another version, a CUDA line."""
    if image.framework:
        return _same_version(image, pool) or _other_version(image, pool)
    if image.cuda is None or image.code is not None:
        return None
    line = newest_cuda(pool)
    if line is None or line == image.cuda.line:
        return None
    return Remedy(f"use CUDA {line}, the newest line that runs here", (Change("cuda", str(image.cuda), str(line)),))


def _same_version(image: ImageFacts, pool: PoolFacts) -> Remedy | None:
    if image.framework_version is None:
        return None
    rows = [row for row in _rows(image.framework) if row.version == str(image.framework_version)]
    for row in sorted(rows, key=_cuda_of, reverse=True):
        if row.variant != image.build and _runs(row, image, pool):
            name = f"{image.framework} {row.version}+{row.variant}" if row.variant.startswith("cu") else _named(row)
            return Remedy(f"use {name}", (Change("build", image.build, row.variant),))
    return None


def _other_version(image: ImageFacts, pool: PoolFacts) -> Remedy | None:
    found = newest_build(image.framework, pool)
    if found is None or (image.framework_version is not None and found.version == str(image.framework_version)):
        return None
    changes = [Change("framework_version", str(image.framework_version or ""), found.version)]
    if found.variant != image.build:
        changes.append(Change("build", image.build, found.variant))
    return Remedy(f"use {_named(found)}, the newest that runs here", tuple(changes))


def _named(row: Build) -> str:
    return f"{row.framework} {row.version} ({row.variant})"


def _driver_way(image: ImageFacts, pool: PoolFacts, findings: Findings) -> Remedy | None:
    """The lowest driver that runs this image; the GPU must allow it."""
    if pool.platform is Platform.JETSON:
        return _jetpack_way(pool, findings)
    wanted = {change.to for finding in findings if finding.severity is Severity.REFUSE for change in _to_driver(finding)}
    if image.cuda is not None and (floor := native_floor(image.cuda.line, pool.platform)) is not None:
        wanted.add(str(floor[0]))
    for driver in sorted(map(tables.parse_driver_floor, wanted)):
        if pool.driver is None or driver == pool.driver:
            continue
        if solve(image, replace(pool, driver=driver))[0].runs:
            change = Change("driver", str(pool.driver), str(driver))
            newer = "or newer, " if driver > pool.driver else ""
            return Remedy(f"use driver {driver} {newer}which {pool.gpu.name} allows", (change,))
    return None


def _jetpack_way(pool: PoolFacts, findings: Findings) -> Remedy | None:
    for finding in findings:
        for change in _to_driver(finding):
            text = f"install L4T {change.to} or newer, which {pool.gpu.name} takes"
            return Remedy(text, (change,))
    return None


def _to_driver(finding: Finding) -> list[Change]:
    return [change for change in finding.changes if change.field == "driver"]


def _nothing(image: ImageFacts, pool: PoolFacts, findings: Findings) -> str:
    first = next((finding for finding in findings if finding.severity is Severity.REFUSE), None)
    for change in first.changes if first else ():
        if change.field not in {"driver", "cuda"}:
            return f"Set {change.field} to {change.to}."
    line = newest_cuda(pool)
    if line is not None and image.code is not None:
        return f"Build the code for {pool.gpu.name} (sm_{pool.gpu.capability.digits}) with CUDA {line} or older."
    return f"No driver, CUDA line or build of the tables makes this run on {pool.gpu.name}."


@lru_cache(4096)
def newest_cuda(pool: PoolFacts) -> CudaVersion | None:
    """Newest CUDA line that has code for this GPU and runs on this driver; None where there is none."""
    lines = sorted({each.version.line for each in tables.toolkits()}, reverse=True)
    return next((line for line in lines if solve(ImageFacts(name="", cuda=line), pool)[0].runs), None)


@lru_cache(4096)
def newest_build(framework: str, pool: PoolFacts) -> Build | None:
    """Newest build of a framework that runs on this GPU and driver; None where the tables have none."""
    rows = [row for row in _rows(framework) if row.version[:1].isdigit()]
    return next((row for row in reversed(rows) if _runs(row, ImageFacts(name=""), pool)), None)


@lru_cache(256)
def _rows(framework: str) -> tuple[Build, ...]:
    return tables.builds().get(framework, ())


def _cuda_of(row: Build) -> CudaVersion:
    return row.cuda or CudaVersion(1, 0)


def _runs(row: Build, image: ImageFacts, pool: PoolFacts) -> bool:
    from components.compat.case import _code_of  # noqa: PLC0415

    if row.cuda is None:
        return False
    probe = replace(
        image, cuda=row.cuda, built_with=row.cuda, code=_code_of(row, ""), build=row.variant, framework=row.framework,
        framework_version=None, cudnn=None, lowest_capability=row.lowest_capability, stated_driver=row.stated_driver,
    )
    return solve(probe, pool)[0].runs


_ = (DriverVersion, Wish, choose)
