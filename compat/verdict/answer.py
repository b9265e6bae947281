"""Answers one case, with a remedy if it does not run, or many images on many pools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compat.evidence.case import POOL_FIELDS, Case, CaseError
from compat.evidence.host import Host, Pool, try_host
from compat.evidence.image import read_images
from compat.facts.rows import LINUX
from compat.values.findings import Answer, Change, Finding, Remedy, Verdict, worst_first
from compat.verdict import remedy
from compat.verdict.decide import decide
from compat.verdict.remedy import FailingCase

# What an image is judged by.
BY_NAME, BY_FIELDS, BY_SPEC, BY_CONTENT = "its name", "what is said of it", "its spec", "what was read of"


def check(case: Case, *, with_remedy: bool = True) -> Answer:
    """Will this image run on that GPU with that driver, and if not, what to change?

    A remedy costs more than the rest of the answer: callers that need only verdicts and findings skip it.
    A field that cannot be read counts as not given, and a note says so. Raises CaseError with every problem if that
    leaves no GPU or nothing to run.
    """
    host, problems = try_host(case, lenient=True)
    try:
        if not problems:
            return _answer(case, host, with_remedy=with_remedy, lenient=True)
    except CaseError:
        pass
    raise CaseError([*try_host(case)[1], *read_images(case, LINUX, lenient=False).problems])


def check_on(image: Case, host: Host, *, with_remedy: bool = True) -> Answer:
    """The same for a known host: only the image fields of the case count.

    Raises CaseError if a field of the image cannot be read.
    """
    return _answer(image, host, with_remedy=with_remedy, lenient=False)


def _answer(image: Case, host: Host, *, with_remedy: bool, lenient: bool) -> Answer:
    decision = decide(image, host, lenient=lenient)
    found, chosen, read = None, decision.chosen, decision.case
    if decision.verdict is Verdict.INCOMPATIBLE and with_remedy and chosen is not None and read is not None:
        failing = FailingCase(read, host.shown, chosen.image, chosen.pool, decision.images, host.may_be)
        found = remedy.find(failing, decision.findings)
        if read != image:
            found = _as_written(found, image)
    is_named = image.image and not (image.sm_list or image.ptx)
    return Answer(image.id, decision.verdict, decision.findings, found, BY_NAME if is_named else BY_FIELDS)


def _as_written(found: Remedy, image: Case) -> Remedy:
    """With changes that start from the case's own text, even if it could not be read."""

    def started(changes: tuple[Change, ...]) -> tuple[Change, ...]:
        return tuple(
            each if each.field in POOL_FIELDS else replace(each, from_=getattr(image, each.field)) for each in changes
        )

    otherwise = tuple(replace(each, changes=started(each.changes)) for each in found.otherwise)
    return replace(found, changes=started(found.changes), otherwise=otherwise)


# --- many images on many pools


@dataclass(frozen=True, slots=True)
class Image:
    """An image by name, with one case for each program that uses the GPU; only the cases' image fields count."""

    name: str
    cases: tuple[Case, ...]
    basis: str = ""  # what the cases are from: its spec, what was read of a digest; empty: from themselves


@dataclass(frozen=True, slots=True)
class Matrix:
    """Answers by image and pool name, in the order given."""

    images: tuple[str, ...]
    pools: tuple[str, ...]
    answers: Mapping[tuple[str, str], Answer]

    def verdict(self, image: str, pool: str) -> Verdict:
        return self.answers[image, pool].verdict


def matrix(images: Sequence[Image], pools: Sequence[Pool]) -> Matrix:
    """Every image on every pool. An image with several cases gets the worst of their verdicts.

    Raises CaseError for an image that cannot be read.
    """
    hosts = dict.fromkeys(pool.host for pool in pools)
    rows: dict[tuple[Case, ...], dict[Host, Answer]] = {}
    for cases in dict.fromkeys(image.cases for image in images):
        rows[cases] = {host: worst([check_on(case, host) for case in cases]) for host in hosts}
    answers = {
        (image.name, pool.name): _based(rows[image.cases][pool.host], image) for image in images for pool in pools
    }
    return Matrix(tuple(image.name for image in images), tuple(pool.name for pool in pools), answers)


def _based(answer: Answer, image: Image) -> Answer:
    return replace(answer, basis=image.basis) if image.basis else answer


def worst(answers: Sequence[Answer]) -> Answer:
    """One answer for all: the worst verdict, each finding once, the first remedy of the worst."""
    if not answers:
        return Answer("", Verdict.COMPATIBLE, ())
    bad = max(answers, key=lambda answer: answer.verdict.rank)
    if len(answers) == 1:
        return bad
    findings: dict[Finding, None] = dict.fromkeys(bad.findings)
    for other in answers:
        findings.update(dict.fromkeys(other.findings))
    return replace(bad, findings=worst_first(findings))
