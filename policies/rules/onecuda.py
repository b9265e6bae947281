"""P-ONECUDA: a program finds one CUDA, not two."""

import functools
from collections.abc import Iterator

from imaging.inspection.conclusions import judge
from imaging.inspection.facts import ImageContents
from imaging.inspection.recommendations import Remark
from imaging.size.estimate import amount
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.workload_images import different_images

_KINDS = frozenset({"cuda-twice", "two-cudas"})


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Inspection results: copies within reach of one program, and two majors in one environment.

    Neither refuses: a program loads one copy, and two runtimes with different names can share a process.
    """
    for image in different_images(workload, site):
        if image.contents is None or image.contents.deep is None:
            if image.is_own and image.reference is not None:
                unread = f"it is not known whether {image.name} has one CUDA or two: its layers were not read"
                yield Finding(unread, Level.UNPROVED, is_own=True)
            continue
        for remark in _remarks(image.contents):
            wasted = f"; {amount(remark.size)} wasted" if remark.size else ""
            yield Finding(f"in {image.name}, {remark.says}{wasted}: {remark.fix}", Level.WARN)


@functools.lru_cache(256)
def _remarks(contents: ImageContents) -> tuple[Remark, ...]:
    return tuple(remark for remark in judge(contents).remarks if remark.kind in _KINDS)


RULE = Rule(
    id="P-ONECUDA",
    says="each environment of an image has one CUDA: not both the base's and the wheels', and not two major versions",
    remedy="Kernels in separate environments may have different CUDA versions.",
    check=check,
)
