"""All contents of a comment as values: from a change's events, and from its base branch's if given."""

import datetime as dt
import re
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from cli.engine_events import STACK, Diagnostic, Step, Stream
from cli.engine_values import without_secrets
from cli.review.cells import Cells, SpecCases, cells_of
from cli.review.changes import changes_of, is_first_record
from cli.review.commons import commons_of
from cli.review.consequences import Consequence, affected_by, consequences
from cli.review.costs import Cost, Prices, costs_of
from cli.review.details import Change
from cli.review.findings import Finding, Waiver, compared, findings_of, waivers_of, with_routine
from cli.review.verdict import Impact, Outcome, Sign, Verdict, sign_of, verdict_of

_OPS: Final = ("create", "update", "replace", "delete", "import", "same")  # as the engine lists them
_NOT_JUDGED: Final = {"read", "discard", "delete"}
_INNER: Final = {"is_ours", "question"}  # of findings, to compare them
_NAME: Final = re.compile(r"[^\w./-]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Review:
    """The comment before it becomes text."""

    stack: str
    verdict: Verdict
    sign: Sign = Sign.NO_PROOF
    packs: tuple[str, ...] = ()
    looked_at: int = 0
    resources: int = 0
    counts: tuple[tuple[str, int], ...] = ()
    compared_with: str = "the deployed state"
    remarks: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    consequences: tuple[Consequence, ...] = ()
    cells: Cells = field(default_factory=Cells)
    findings: tuple[Finding, ...] = ()
    knows_base: bool = False
    waivers: tuple[Waiver, ...] = ()
    costs: tuple[Cost, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def marker(self) -> str:
        """The line by which a comment is found again and replaced."""
        return f"<!-- gpu-commons comment: {_NAME.sub('-', self.stack)[:100] or 'stack'} -->"


@dataclass(frozen=True, slots=True)
class Sources:
    """Knowledge from outside the streams."""

    spec_cases: SpecCases
    prices: Prices
    today: dt.date


def review_of(stream: Stream, base: Stream | None, sources: Sources, stack: str = "") -> Review:
    """Read what a change means. `base` is the preview of the base branch on the same stack.

    A preview without deployed state (only creations, as on a fork without credentials) is compared with the base
    branch's, if that has no state either.
    """
    findings = with_routine(findings_of(stream), stream)
    remarks: list[str] = []
    knows_base = base is not None and base.is_whole and bool(base.looked_at)
    if base is not None and knows_base:
        findings = compared(findings, findings_of(base))
    elif base is not None:
        remarks.append("The base branch's preview proves nothing itself, so new and resolved findings are not shown.")
    compared_with, has_before = "the deployed state", True
    if base is not None and base.is_whole and _is_first(stream) and _is_first(base):
        stream, compared_with = from_base(stream, base), "the base branch"
    elif _is_first(stream):
        compared_with, has_before = "nothing: no state is deployed", False
    if is_first_record(stream) and has_before:
        remarks.append(
            "The deployed state does not record what the stack file promises and limits; "
            "changes to those are shown from the next update on."
        )
    old = commons_of(stream, "old", base.config if base is not None else stream.config, sources.today)
    new = commons_of(stream, "new", stream.config, sources.today)
    impact = Impact((), (), findings, ())
    cells = Cells()
    # A preview that ended early may have missed things, such as who uses a pool.
    is_refused = any(each.is_refusal for each in findings)
    if stream.is_whole and stream.resources and (stream.result == "succeeded" or is_refused):
        cells = cells_of(old, new, sources.spec_cases)
        changes = changes_of(stream, old, new, sources.today)
        impact = Impact(
            changes=tuple(replace(change, affected=affected_by(change, old, new)) for change in changes),
            consequences=consequences(stream, changes, old, new, cells.early),
            findings=findings,
            broken=cells.broken,
        )
    verdict = verdict_of(stream, impact)
    counts = stream.counts or Counter(step.op for step in stream.steps.values())
    warnings = {(each.urn, each.message): each for each in stream.diagnostics if each.severity == "warning"}
    # Policies do not check resources that are removed or only read.
    judged = [step for step in stream.steps.values() if step.type != STACK and step.op not in _NOT_JUDGED]
    return Review(
        stack=stream.stack or stack,
        verdict=verdict,
        sign=sign_of(verdict.outcome, impact),
        packs=tuple(f"{name} {version}".strip() for name, version in sorted(stream.packs.items())),
        looked_at=sum(step.urn in stream.looked_at for step in judged),
        resources=len(judged),
        counts=tuple((op, counts[op]) for op in _OPS if counts.get(op)),
        compared_with=compared_with,
        remarks=tuple(remarks),
        changes=impact.changes,
        consequences=impact.consequences,
        cells=cells,
        findings=findings,
        knows_base=knows_base,
        waivers=waivers_of(stream.config),
        costs=costs_of(stream, sources.prices),
        warnings=tuple(replace(each, message=without_secrets(each.message)) for _, each in sorted(warnings.items())),
        steps=tuple(sorted(stream.changed, key=lambda step: (step.type, step.name))),
    )


def unreadable(reason: str, stack: str) -> Review:
    """Replaces a comment that cannot be made: an older, green one must not stay."""
    message = f"The preview's events cannot be read: {reason}."
    return Review(stack or "preview", Verdict(Outcome.UNREADABLE, "no verdict", (message,)))


def _is_first(stream: Stream) -> bool:
    """No state is deployed: the stack itself would be created."""
    own = [step for step in stream.steps.values() if step.type == STACK]
    return bool(own) and all(step.op == "create" for step in own)


def from_base(stream: Stream, base: Stream) -> Stream:
    """The same change, with the base branch as the deployed state."""
    steps: dict[str, Step] = {}
    for urn, step in stream.steps.items():
        there = base.steps.get(urn)
        old = there.new if there else None
        op = step.op
        if op == "create" and there is not None:
            op = "same" if old == step.new else "update"
        steps[urn] = replace(step, old=old, op=op)
    for urn, there in base.steps.items():
        if urn not in stream.steps:
            steps[urn] = replace(there, old=there.new, new=None, op="delete" if there.op == "create" else there.op)
    return replace(stream, steps=steps, old_outputs=base.new_outputs, counts={})


# --- the review as data


def review_data(review: Review) -> dict[str, Any]:
    """The review for JSON, as `comment_schema` describes it."""
    return {
        "stack": review.stack,
        "verdict": review.verdict.outcome.value,
        "headline": review.verdict.headline,
        "sign": review.sign.value,
        "reasons": list(review.verdict.reasons),
        "errors": list(review.verdict.errors),
        "policy_packs": list(review.packs),
        "resources_looked_at": review.looked_at,
        "resources": dict(review.counts),
        "compared_with": review.compared_with,
        "remarks": list(review.remarks),
        "changes": [_change_data(each) for each in review.changes],
        "consequences": [asdict(each) for each in review.consequences],
        "cells": [asdict(cell) for cell in review.cells.changed],
        "cells_not_told": list(review.cells.not_compared),
        "findings": [
            {
                key: value or None if key == "since" else value
                for key, value in asdict(each).items()
                if key not in _INNER
            }
            for each in review.findings
        ],
        "waivers": [
            {**asdict(each), "until": each.until.isoformat() if each.until else None} for each in review.waivers
        ],
        "costs": [asdict(each) for each in review.costs],
        "warnings": [{"urn": each.urn, "message": each.message} for each in review.warnings],
        "marker": review.marker,
    }


def _change_data(change: Change) -> dict[str, Any]:
    data = asdict(replace(change, affected=replace(change.affected, profiles=())))
    profiles = [{"hub": each.hub, "name": each.name} for each in change.affected.profiles]
    details = [{key: value for key, value in each.items() if key != "loc"} for each in data["details"]]
    return {**data, "details": details, "affected": {**data["affected"], "profiles": profiles}}


def comment_schema() -> dict[str, Any]:
    """The JSON Schema of `comment --format json`."""
    import yaml  # noqa: PLC0415 - no comment needs it

    return dict(yaml.safe_load(Path(__file__).with_name("comment.schema.yaml").read_text(encoding="utf-8")))
