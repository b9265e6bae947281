"""The JSON Schema of `comment --format json`, the output of `document.review_data`."""

from __future__ import annotations

from typing import Any, Final

from cli.review.findings import Level, Since
from cli.review.headline import Sign
from cli.review.verdict import Outcome
from compat import Verdict

Schema = dict[str, Any]
_TEXT: Final[Schema] = {"type": "string"}
_WHOLE: Final[Schema] = {"type": "integer", "minimum": 0}
_DOLLARS: Final[Schema] = {"type": ["number", "null"]}


def comment_schema() -> Schema:
    """Schema of `comment --format json`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpu-commons comment",
        "description": "What a preview changes, for whom, and whether the policies allow it.",
        **_object(
            {
                "stack": _TEXT,
                "verdict": {"enum": [each.value for each in Outcome], "description": "Best first."},
                "headline": {**_TEXT, "description": "The impact in one sentence."},
                "sign": {"enum": [each.value for each in Sign], "description": "Whether somebody has to do something."},
                "reasons": _texts("Why; what weighs most comes first."),
                "errors": _texts("Of a preview that failed: what the program and the engine said."),
                "policy_packs": _texts("Name and version of each that looked at a resource."),
                "resources_looked_at": _WHOLE,
                "resources": {
                    "type": "object",
                    "additionalProperties": _WHOLE,
                    "description": "How many, by what happens to them: create, update, replace, delete, import, same.",
                },
                "compared_with": _TEXT,
                "remarks": _texts("What limits the comparison."),
                "changes": _list(_change(), "Pools, images, hubs, jobs, quotas, in the words of the field."),
                "consequences": _list(
                    _consequence(), "What people notice, what weighs most first: what follows, and what is likely."
                ),
                "cells": _list(_cell(), "Image and pool whose verdict changed."),
                "cells_not_told": _texts("What could not be compared, and why."),
                "findings": _list(_finding(), "Of the policies, worst first."),
                "waivers": _list(_waiver(), "Limits that somebody lifted, the next to end first."),
                "costs": _list(_cost(), "Nodes that cost money, where their number or type changes."),
                "warnings": _list(_object({"urn": _TEXT, "message": _TEXT}), "Of the program and the engine."),
                "marker": {**_TEXT, "description": "The line by which the comment is found again."},
            }
        ),
    }


def _consequence() -> Schema:
    claims = {
        "to_do": "Somebody has to do something about it.",
        "before_update": "And has to do it before the update.",
        "is_heavy": "Sessions end, or people lose what they had.",
    }
    words = {"known": _TEXT, "assumed": _TEXT, "short": {**_TEXT, "description": "For the headline; may be empty."}}
    return _object({**words, **{key: {"type": "boolean", "description": meaning} for key, meaning in claims.items()}})


def _change() -> Schema:
    detail = {"label": _TEXT, "before": _TEXT, "after": _TEXT, "is_list": {"type": "boolean"}}
    affected = {
        "own_pods": _texts("Hubs whose hub or proxy pod it is about."),
        "profiles": _list(_object({"hub": _TEXT, "name": _TEXT}), "Of hubs."),
        "courses": _texts("Their titles."),
        "seats": _WHOLE,
        "jobs": _texts("Batch jobs."),
    }
    op = {"enum": ["create", "update", "replace", "delete", "import"]}
    details = _list(_object(detail), "Properties; `before` is empty for what comes, `after` for what goes.")
    return _object({"kind": _TEXT, "name": _TEXT, "op": op, "details": details, "affected": _object(affected)})


def _cell() -> Schema:
    verdicts = [each.value for each in Verdict]
    return _object(
        {
            "image": _TEXT,
            "pool": _TEXT,
            "before": {"enum": [*verdicts, None], "description": "null where one of the two is new."},
            "after": {"enum": verdicts},
            "reason": _TEXT,
            "remedy": _TEXT,
            "uses": _texts("Profiles and jobs that may start it there."),
            "back": {**_TEXT, "description": "What the image has as deployed, with which it runs there; else empty."},
        }
    )


def _finding() -> Schema:
    since = {
        "enum": [*(each.value for each in Since if each.value), None],
        "description": "Against the base branch; null without one.",
    }
    routine = {"type": "boolean", "description": "Open only because an image is built first, as after every build."}
    level = {"enum": [each.value for each in Level], "description": "Worst first."}
    return _object(
        {
            "level": level,
            "rule": _TEXT,
            "about": _TEXT,
            "text": _TEXT,
            "urn": _TEXT,
            "since": since,
            "is_routine": routine,
        }
    )


def _waiver() -> Schema:
    until = {"type": ["string", "null"], "description": "Its last day, YYYY-MM-DD; null: none, or it cannot be read."}
    words = {name: _TEXT for name in ("subject", "allows", "reason", "owner")}  # noqa: C420 - as schemas.py
    return _object({**words, "until": until, "has_end": {"type": "boolean"}})


def _cost() -> Schema:
    price = _object({"usd_per_hour": {"type": "number"}, "date": _TEXT, "source": _TEXT})
    words = {name: _TEXT for name in ("name", "before", "after")}  # noqa: C420 - as schemas.py
    return _object({**words, "least_usd": _DOLLARS, "most_usd": _DOLLARS, "prices": _list(price, "That were used.")})


def _texts(description: str) -> Schema:
    return _list(_TEXT, description)


def _list(items: Schema, description: str) -> Schema:
    return {"type": "array", "items": items, "description": description}


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
