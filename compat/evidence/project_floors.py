"""GPUs that a project supports in a range of releases: the lowest, the newest, or a list."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from packaging.version import Version

from compat.evidence.names.distributions import ALIASES
from compat.facts import tables
from compat.facts.rows import FrameworkFloor
from compat.values.fact import Fact
from compat.values.findings import GpuSpan
from compat.values.images import ImageFacts
from compat.values.versions import ComputeCapability

# NVIDIA's images by month: NVIDIA states the GPUs for all frameworks of a month together.
_OF_MONTH = r"(?:^|/)nvcr\.io/nvidia/(?P<framework>[a-z]+):(?P<month>\d\d\.\d\d)(?!.*igpu)"
_WITH_TRTLLM = r"(?:^|/)nvcr\.io/nvidia/tritonserver:\d\d\.\d\d-trtllm\b"
_SERVERS = frozenset({"inferenceserver", "tensorrtserver", "tritonserver"})  # its former and current names
# Parts of a framework with floors of their own, by the variable that turns them on.
_PARTS = {("vllm", "VLLM_USE_V1", "1"): "vllm-v1"}


@dataclass(frozen=True, slots=True)
class UnmetFloor:
    """A floor that a GPU does not meet."""

    message: str
    fact: Fact
    span: GpuSpan
    refuses: bool


def of_month(image: ImageFacts, gpu: ComputeCapability, name: str) -> Iterator[UnmetFloor]:
    """GPUs that NVIDIA's images of a month support; not if another framework was installed into one."""
    named = re.search(_OF_MONTH, image.name)
    if named is None:
        return
    own = {named["framework"]} | (_SERVERS if named["framework"] in _SERVERS else set())
    if image.framework and not own & {image.framework, *(key for key, of in ALIASES.items() if of == image.framework)}:
        return
    shown = f"nvidia/{named['framework']}:{named['month']}"
    for key in ("ngc", f"ngc-{named['framework']}"):  # facts on all images of a month, and on this one
        yield from _unmet(_rows((key,), Version(named["month"])), shown, gpu, name)


def of_framework(image: ImageFacts, gpu: ComputeCapability, name: str) -> Iterator[UnmetFloor]:
    """GPUs that the framework's release supports, and those of parts that the image's variables turn on."""
    framework, version = image.framework, image.framework_version
    major = image.cuda.major if image.cuda else 0
    parts = (_PARTS.get((framework, *each)) for each in image.environment)
    keys = (framework, f"{framework}[cu{major}]", f"{framework}[cuda{major}]", f"{framework}-cuda{major}x")
    rows = _rows((*keys, *filter(None, parts)), version)
    # Statements on wheels do not apply to NVIDIA's own builds in its images.
    if image.own_build or (framework == "tensorrt-llm" and re.search(_WITH_TRTLLM, image.name)):
        rows = [row for row in rows if not row.of_wheels]
    for row in rows:
        yield from _unmet([row], f"{row.framework} {version}" if version else row.framework, gpu, name)


def _rows(keys: tuple[str, ...], version: Version | None) -> list[FrameworkFloor]:
    """Rows for a release; without one, those for all releases."""
    rows = [row for key in keys for row in tables.framework_floors().get(key, ())]
    if version is None:
        return [row for row in rows if row.before is None and row.first == Version("0")]
    return [row for row in rows if row.first <= version and (row.before is None or version < row.before)]


def _unmet(rows: list[FrameworkFloor], shown: str, gpu: ComputeCapability, name: str) -> Iterator[UnmetFloor]:
    for row in rows:
        if gpu >= row.capability and (row.highest is None or gpu <= row.highest):
            continue
        fact = row.origin.fact(f"{shown}: {row.reason}", "cc_min", "cc_max", "from_version", "to_version")
        span = f"{row.capability} to {row.highest}" if row.highest else f"{row.capability}"
        message = f"{shown} requires compute capability {span} ({row.reason}); {name} has {gpu}"
        yield UnmetFloor(message, fact, GpuSpan(row.capability, row.highest), row.severity == "refuse")
