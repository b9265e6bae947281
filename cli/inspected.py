"""What is in an image, as cases for `check`: its content counts, not what its name or label says."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from cli.inspect import Choices, wanted_images
from cli.terminal import InputError
from components.compat import Answer, Case, Finding, Severity, Verdict, check
from components.compat.model import Fact

if TYPE_CHECKING:
    from images.inspection.judge import Program

_ORDER: Final = {verdict: number for number, verdict in enumerate(Verdict)}
_RULE: Final = "R-FRAMEWORK"  # which of several CUDAs counts


def answer_for(reference: str, given: Mapping[str, str]) -> Answer:
    """Read the image with its layers and answer; of several frameworks the one that fares worst. Raises InputError.

    What the call says itself (`given`) goes before what was found.
    """
    from images.inspection.faults import InspectError  # noqa: PLC0415 - a check without an image needs no pydantic
    from images.inspection.judge import judge  # noqa: PLC0415

    platform = f"linux/{given['cpu_arch']}" if given.get("cpu_arch") in {"amd64", "arm64"} else "linux/amd64"
    with ExitStack() as stack:
        try:
            (wanted,) = wanted_images(stack, Choices(platform, deep=True), (reference,))
            found = wanted.read()
        except InspectError as error:
            raise InputError(str(error)) from None
    programs = judge(found.contents).programs
    if not programs:
        fact = Fact("its layers have neither CUDA nor device code", found.contents.digest, "")
        note = Finding(_RULE, Severity.NOTE, "nothing in the image uses a GPU: it runs anywhere", fact)
        return Answer(reference, Verdict.COMPATIBLE, (note,))
    answers = [_answer(reference, program, given, found.contents.digest) for program in programs]
    return max(answers, key=lambda answer: _ORDER[answer.verdict])


def _answer(reference: str, program: Program, given: Mapping[str, str], digest: str) -> Answer:
    case = Case(**{**program.fields, **given, "id": f"{reference}, {program.name}"})
    answer = check(case)
    findings = answer.findings
    if not {"sm_list", "ptx"} & given.keys():
        seen = Fact("the targets that its files have", digest, "")
        findings = tuple(
            replace(each, fact=seen) if each.fact.text.startswith("the targets as given") else each for each in findings
        )
    notes = tuple(
        Finding(_RULE, Severity.NOTE, note.says, Fact(f"read in {note.source}", digest, "")) for note in program.notes
    )
    return replace(answer, findings=(*findings, *notes))
