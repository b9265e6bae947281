"""The newest CUDA line that a pool's driver and GPU run, and the newest build of a framework."""

from dataclasses import dataclass, replace
from itertools import islice

from compat.evidence import alternatives
from compat.evidence.case import Case, CaseError
from compat.evidence.host import Host, lowest_driver
from compat.evidence.image import read_images
from compat.values.images import ImageFacts
from compat.verdict.decide import decide

# Content that an image with another CUDA line would not share.
_OF_ITS_OWN = (
    "image", "framework", "framework_version", "build", "cuda", "cudnn", "sm_list", "ptx", "compressed", "env",
)  # fmt: skip
_TRIED = 8  # candidates for GPU and driver that are checked by all rules, newest first


@dataclass(frozen=True, slots=True)
class NewestSupported:
    """The newest that runs. Empty: nothing in the tables runs, or nothing is known."""

    cuda: str
    build: str  # pytorch 1.7.1 cu101
    how: str  # the command that installs the build


def newest_supported(case: Case, host: Host) -> NewestSupported:
    """The newest CUDA, and the newest of the case's own framework, for a host.

    Lines that run only by minor-version compatibility count, as in their verdict: it runs, with a warning. Raises
    CaseError for an image that cannot be read.
    """
    pool = host.may_be[0]
    images = read_images(case, pool.wheels_for)
    if images.problems:
        raise CaseError(list(images.problems))
    image, driver = images.values[0], lowest_driver(host.may_be)
    plain = replace(case, **dict.fromkeys(_OF_ITS_OWN, ""))
    lines = map(str, alternatives.lines(ImageFacts(""), pool, driver))
    line = next((line for line in lines if _runs(replace(plain, cuda=line), host)), "")
    builds = alternatives.newest_builds(case, image, pool, driver) if image.framework else iter(())
    build = next((each for each in islice(builds, _TRIED) if _runs(case.with_changes(each.changes), host)), None)
    return NewestSupported(line, build.what if build else "", build.how if build else "")


def _runs(case: Case, host: Host) -> bool:
    return decide(case, host).verdict.runs
