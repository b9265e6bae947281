"""How far a pool goes: the newest CUDA line that its driver and GPU run, and the newest build of a framework."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from compat import instead
from compat.answer import check
from compat.case import Case, CaseError
from compat.contents import read_images
from compat.instead import Option
from compat.model import ImageFacts
from compat.pools import lowest_driver, read_pools

_ASKED = 8  # that look right by GPU and driver and are asked of all rules, the newest first


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What runs at most. Empty: nothing that the tables know, or nothing is known."""

    cuda: str
    build: str  # pytorch 1.7.1 cu101
    how: str  # the command that installs the build


def ceiling(case: Case) -> Ceiling:
    """The newest that runs on the pool of a case, of CUDA and of the case's own framework.

    Lines that run by minor-version compatibility alone count, as their verdict does: it runs, with a warning. Raises
    CaseError for a case that cannot be read.
    """
    pools = read_pools(case)
    images = read_images(case, pools.values[0] if pools.values else None)
    if pools.problems or images.problems:
        raise CaseError([*pools.problems, *images.problems])
    pool, image = pools.values[0], images.values[0]
    driver = lowest_driver(pools.values)
    line = next((str(line) for line in instead.lines(ImageFacts(""), pool, driver) if _runs_line(case, str(line))), "")
    builds = instead.newest_builds(case, image, pool, driver) if image.framework else iter(())
    build = next(_running(case, builds), None)
    return Ceiling(line, build.text.removeprefix("use ") if build else "", build.how if build else "")


def _runs_line(case: Case, line: str) -> bool:
    plain = replace(
        case, image="", framework="", framework_version="", build="", cuda=line, cudnn="", sm_list="", ptx="", env=""
    )
    return check(plain, with_remedy=False).verdict.runs


def _running(case: Case, options: Iterator[Option]) -> Iterator[Option]:
    for option in islice(options, _ASKED):
        changed = case.with_changes(option.changes)
        if check(changed, with_remedy=False).verdict.runs:
            yield option
