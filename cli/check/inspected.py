"""Turns the content of an image, not its name or label, into cases for `check`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from cli.clock import today
from cli.inspect.command import ReadOptions, wanted_images
from compat import Answer, Case, Finding, Severity, Verdict, check
from compat.evidence.case import FIELDS, POOL_FIELDS
from compat.evidence.host import read_host
from compat.evidence.names.device_code import AS_COMPRESSED, AS_LISTED
from compat.rules.framework import NO_GPU_USE, for_cpu
from compat.values.fact import Fact
from compat.values.findings import worst_first
from compat.verdict.answer import BY_CONTENT, worst
from compat.verdict.staleness import aged

if TYPE_CHECKING:
    from imaging.inspection.conclusions import Conclusions, Program
    from imaging.inspection.facts import ImageContents

_RULE: Final = "R-FRAMEWORK"  # the rule that decides which of several CUDAs counts
_WITHOUT_GPU_USE: Final = "ubuntu:22.04"
_NOT_OF_WORKLOAD: Final = frozenset({*POOL_FIELDS, "id", "cuda_compat", "image_glibc"})  # fields that name no workload


def answer_for(reference: str, stated: Mapping[str, str]) -> Answer:
    """Read the image and answer for the framework that fares worst. Raises InspectError.

    The user's fields override what was found. Raises CaseError for an unreadable one.
    """
    platform = _platform(stated)
    with ExitStack() as stack:
        (wanted,) = wanted_images(stack, ReadOptions(platform, deep=True), (reference,))
        contents = wanted.read().contents
    return answer_from(reference, contents, stated)


def read_before(case: Case) -> ImageContents | None:
    """What this machine has read of a case's image by digest, with all layers, if it is for the host's processor."""
    if "@sha256:" not in case.image:
        return None
    from imaging.size.pushed import known  # noqa: PLC0415 - a check of a name needs no pydantic

    contents = known(case.image)
    is_for_host = contents is not None and contents.platform.startswith(f"linux/{case.cpu_arch or 'amd64'}")
    return contents if contents and contents.deep and is_for_host else None


def stated_in(case: Case) -> dict[str, str]:
    """The fields that override what was read."""
    return {name: getattr(case, name) for name in FIELDS if name != "image" and getattr(case, name)}


def cases_read(case: Case) -> tuple[tuple[Case, ...], str]:
    """The case, or in its place what was read of its image, with the basis.

    A list of cases cannot say that a part was not read: such an image is judged by its name.
    """
    contents = read_before(case)
    if contents is None or contents.deep is None or contents.deep.left_out:
        return (case,), ""
    from imaging.inspection.conclusions import judge  # noqa: PLC0415 - a check without an image needs no pydantic

    programs = (Case(**{**program.fields, **stated_in(case)}) for program in judge(contents).programs)
    return tuple(programs), f"{BY_CONTENT} {contents.digest}"


def answer_from(reference: str, contents: ImageContents, stated: Mapping[str, str]) -> Answer:
    """The same for contents that are known."""
    from imaging.inspection.conclusions import judge  # noqa: PLC0415 - a check without an image needs no pydantic

    judged = judge(contents)
    answers = [_answer(reference, program, stated, contents.digest) for program in judged.programs]
    answer = worst(answers) if answers else _without_program(reference, judged, stated, contents)
    answer = replace(_with(answer, _left_open(contents)), basis=f"{BY_CONTENT} {contents.digest}")
    return aged(answer, Case(**stated), today())


def _platform(stated: Mapping[str, str]) -> str:
    """The platform whose image the host runs. Mistakes in the fields are reported before anything is read."""
    case = Case(**stated)
    check(case, with_remedy=False)
    pool = next(iter(read_host(case).may_be), None)
    return f"linux/{(pool.cpu_architecture if pool else '') or 'amd64'}"


def _answer(reference: str, program: Program, stated: Mapping[str, str], digest: str) -> Answer:
    case = Case(**{**program.fields, **stated, "id": f"{reference}, {program.name}"})
    answer = check(case)
    seen = {}
    if not {"sm_list", "ptx"} & stated.keys():
        seen[AS_LISTED] = Fact("the targets that its files have", digest, "")
    if "compressed" not in stated:
        seen[AS_COMPRESSED] = Fact("the compression of its files", digest, "")
    findings = tuple(replace(each, fact=seen.get(each.fact, each.fact)) for each in answer.findings)
    if "cuda" in stated:  # the image's own statements about CUDA no longer matter
        return replace(answer, findings=findings)
    notes = tuple(
        Finding(_RULE, Severity.NOTE, note.says, Fact(f"read in {note.source}", digest, "")) for note in program.notes
    )
    return replace(answer, findings=(*findings, *notes))


def _without_program(reference: str, judged: Conclusions, stated: Mapping[str, str], contents: ImageContents) -> Answer:
    """The image runs nothing on a GPU; the user's fields and the container toolkit's requirements still count."""
    requested = {**judged.around, **stated}
    # Judged like an image that is known not to use a GPU: whether the driver supports the GPU does not depend on it.
    answer = check(Case(**{**stated, "image": _WITHOUT_GPU_USE, "id": reference}))
    answer = replace(answer, findings=tuple(each for each in answer.findings if each.rule != _RULE))
    if any(value for name, value in requested.items() if name not in _NOT_OF_WORKLOAD):
        answer = check(Case(**{**requested, "id": reference}))
    if not stated.keys() <= _NOT_OF_WORKLOAD:
        return answer
    read = Fact(f"{contents.deep.files if contents.deep else 0:,} files of its layers", contents.digest, "")
    if judged.for_cpu:
        return _with(answer, [Finding(_RULE, Severity.WARN, for_cpu(", ".join(judged.for_cpu)), read)])
    return _with(answer, [Finding(_RULE, Severity.NOTE, NO_GPU_USE, read)])


def _left_open(contents: ImageContents) -> list[Finding]:
    """One finding for each part of the image that could not be read: it may contain anything."""
    sentences = contents.deep.left_out if contents.deep else ()
    fact = Fact("what could not be read of the image", contents.digest, "")
    return [Finding(_RULE, Severity.UNKNOWN, f"{each}: what in it uses a GPU is not known", fact) for each in sentences]


_AT_LEAST: Final = {Severity.WARN: Verdict.WITH_WARNING, Severity.UNKNOWN: Verdict.UNKNOWN}


def _with(answer: Answer, more: Iterable[Finding]) -> Answer:
    """Add findings; the verdict is no better than they allow."""
    added = tuple(more)
    verdicts = [answer.verdict, *(_AT_LEAST[each.severity] for each in added if each.severity in _AT_LEAST)]
    verdict = max(verdicts, key=lambda each: each.rank)
    return replace(answer, verdict=verdict, findings=worst_first((*answer.findings, *added)))
