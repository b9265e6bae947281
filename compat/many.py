"""Many images on many pools at once. What is the same is solved once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from compat.answer import check
from compat.case import POOL_FIELDS, Case
from compat.model import Answer, Finding, Verdict
from compat.resolve import worst_first


@dataclass(frozen=True, slots=True)
class Image:
    """An image by name, with one case for each thing in it that uses the GPU; only image fields of the cases count."""

    name: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool by name; only pool fields of its case count."""

    name: str
    case: Case


@dataclass(frozen=True, slots=True)
class Matrix:
    """Answers by image and pool name, in the order given."""

    images: tuple[str, ...]
    pools: tuple[str, ...]
    answers: Mapping[tuple[str, str], Answer]

    def verdict(self, image: str, pool: str) -> Verdict:
        return self.answers[image, pool].verdict


def matrix(images: Sequence[Image], pools: Sequence[Pool]) -> Matrix:
    """Every image on every pool. An image with several cases runs as well as the worst of them.

    Raises CaseError for a case that cannot be read.
    """
    hosts = [tuple(getattr(pool.case, field) for field in POOL_FIELDS) for pool in pools]
    distinct = {host: replace(pool.case, id="") for host, pool in zip(hosts, pools, strict=True)}
    answers: dict[tuple[str, str], Answer] = {}
    solved: dict[tuple[Case, ...], dict[tuple[str, ...], Answer]] = {}
    for image in images:
        row = solved.get(image.cases)
        if row is None:
            row = {host: worst([check(joined(case, pool)) for case in image.cases]) for host, pool in distinct.items()}
            solved[image.cases] = row
        for host, pool in zip(hosts, pools, strict=True):
            answers[image.name, pool.name] = row[host]
    return Matrix(tuple(image.name for image in images), tuple(pool.name for pool in pools), answers)


def worst(answers: Sequence[Answer]) -> Answer:
    """One answer for all: the worst verdict, every finding once, the first remedy of the worst."""
    if not answers:
        return Answer("", Verdict.COMPATIBLE, ())
    bad = max(answers, key=lambda answer: answer.verdict.rank)
    if len(answers) == 1:
        return bad
    findings: dict[Finding, None] = dict.fromkeys(bad.findings)
    for other in answers:
        findings.update(dict.fromkeys(other.findings))
    return replace(bad, findings=worst_first(findings))


_IMAGE_FIELDS = tuple(field.name for field in fields(Case) if field.name not in {*POOL_FIELDS, "id"})


def joined(image: Case, pool: Case) -> Case:
    """The fields of an image and those of a pool as one case; its id is the pool's."""
    return pool.changed({field: getattr(image, field) for field in _IMAGE_FIELDS})
