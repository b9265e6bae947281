"""Many images on many pools at once. Equal cases are solved once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compat.evidence.case import Case
from compat.evidence.host import Host
from compat.rules.solve import worst_first
from compat.values.model import Answer, Finding, Verdict
from compat.verdict.answer import check_on


@dataclass(frozen=True, slots=True)
class Image:
    """An image by name, with one case for each thing in it that uses the GPU; only image fields of the cases count."""

    name: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool by name, and its nodes."""

    name: str
    host: Host


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

    Raises CaseError for an image that cannot be read.
    """
    hosts = dict.fromkeys(pool.host for pool in pools)
    rows: dict[tuple[Case, ...], dict[Host, Answer]] = {}
    for cases in dict.fromkeys(image.cases for image in images):
        rows[cases] = {host: worst([check_on(case, host) for case in cases]) for host in hosts}
    answers = {(image.name, pool.name): rows[image.cases][pool.host] for image in images for pool in pools}
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
