"""JSON Schemas of the command's input and output, published in docs/reference/."""

from typing import Any, Final

from cli.check.fields import Field, case_fields
from compat import Severity, Verdict
from compat.evidence.case import POOL_FIELDS

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Final = {"type": "string"}


def case_schema() -> dict[str, Any]:
    """One line of `check --batch`."""
    return {
        "$schema": _DRAFT,
        "title": "gpu-commons case",
        "description": "One question: will this image run on that GPU? One case is one line of check --batch. "
        "A GPU and something to run are required; everything else is optional.",
        "type": "object",
        "properties": {field.name: _field(field) for field in case_fields()},
        "anyOf": [{"required": [name]} for name in ("gpu", "compute_capability", "instance_type")],
        "additionalProperties": False,
    }


def _field(field: Field) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": field.text}
    if field.choices:
        return {**schema, "enum": [*field.choices, "", None]}
    if field.name == "driver":
        return {**schema, "type": ["string", "integer", "null"], "maxLength": 4000}
    if field.name in {"sm_list", "ptx", "compressed"}:
        return {**schema, "type": ["string", "number", "array", "null"], "items": {"type": ["string", "number"]}}
    if field.name == "env":
        return {**schema, "type": ["string", "object", "null"]}
    return {**schema, "type": ["string", "number", "null"], "maxLength": 4000}


def answer_schema() -> dict[str, Any]:
    """Output of `check --json`, or one output line of `check --batch`."""
    return {
        "$schema": _DRAFT,
        "title": "gpu-commons answer",
        "description": "The verdict on one case, what decided it, and what would change it.",
        **_object({"id": {**_TEXT, "description": "The case's id, or the number of its line."}, **_body()}),
        "$defs": _definitions(),
    }


def matrix_schema() -> dict[str, Any]:
    """Output of `matrix --json`."""
    pool = {name: _TEXT for name in ("name", *POOL_FIELDS)}  # noqa: C420 - an object for each, not one for all
    image = {
        "name": _TEXT,
        "uses": {"type": "array", "items": _TEXT, "description": "What in the image uses a GPU; may be empty."},
    }
    return {
        "$schema": _DRAFT,
        "title": "gpu-commons matrix",
        "description": "Every image on every pool. An image that uses no GPU is compatible everywhere.",
        **_object(
            {
                "title": _TEXT,
                "images": {"type": "array", "items": _object(image)},
                "pools": {"type": "array", "items": {**_object(pool), "required": ["name", "gpu", "driver"]}},
                "answers": {
                    "type": "array",
                    "items": _object({"image": _TEXT, "pool": _TEXT, **_body(), "used_by": _uses()}),
                },
            }
        ),
        "$defs": _definitions(),
    }


def _uses() -> dict[str, Any]:
    course = {
        "name": _TEXT,
        "title": _TEXT,
        "seats": {"type": "integer"},
        "last_day": {**_TEXT, "description": "YYYY-MM-DD."},
    }
    use = {
        "kind": {"enum": ["hub", "proxy", "profile", "container", "job"]},
        "name": _TEXT,
        "hub": {**_TEXT, "description": "Hub of a profile; empty for the others."},
        "courses": {"type": "array", "items": _object(course), "description": "Courses that may choose the profile."},
    }
    return {
        "type": "array",
        "items": _object(use),
        "description": "What in the stack starts this image on this pool; empty if nothing does.",
    }


def _body() -> dict[str, Any]:
    return {
        "verdict": {"enum": [verdict.value for verdict in Verdict], "description": "Best first."},
        "findings": {
            "type": "array",
            "items": {"$ref": "#/$defs/finding"},
            "description": "What decided, worst first.",
        },
        "remedy": {
            "anyOf": [{"type": "null"}, {"$ref": "#/$defs/remedy"}],
            "description": "What to change; null if nothing has to be.",
        },
        "basis": {
            **_TEXT,
            "description": "What the image was judged by: its name, its spec, what was read of a digest.",
        },
    }


def _definitions() -> dict[str, Any]:
    finding = {
        "rule": {
            **_TEXT,
            "description": "Id of the rule; CASE for what could not be read, TABLES for the age of the tables.",
        },
        "severity": {
            "enum": [severity.value for severity in Severity],
            "description": "What it means for the case: it holds, has a limitation, is not known, or does not hold.",
        },
        "message": {**_TEXT, "description": "The statement, for people."},
        "fact": {**_TEXT, "description": "The fact that decided; empty if none was needed."},
        "source": {**_TEXT, "description": "Where the fact is published; several sources are separated by ` ; `."},
        "date": {**_TEXT, "description": "When it was read there, YYYY-MM-DD, or empty."},
        "places": {"type": "array", "items": _TEXT, "description": "Where it applies, such as a line of a batch."},
    }
    change = {
        "field": {**_TEXT, "description": "Field of the case."},
        "from": {**_TEXT, "description": "Its current value; empty if none was given."},
        "to": {**_TEXT, "description": "The value that it would need; empty: leave it out."},
    }
    changes = {
        "type": "array",
        "items": {"$ref": "#/$defs/change"},
        "description": "The same as data, to be applied together; empty if no change of a field would do.",
    }
    way = {"text": {**_TEXT, "description": "What to do instead."}, "changes": changes}
    remedy = {
        "text": {**_TEXT, "description": "One or two sentences that a person can act on: every option that was found."},
        "changes": {**changes, "description": f"{changes['description']} Those of the first way."},
        "otherwise": {
            "type": "array",
            "items": {"$ref": "#/$defs/way"},
            "description": "Alternatives, each on its own.",
        },
    }
    definitions: dict[str, dict[str, Any]] = {"finding": finding, "remedy": remedy, "way": way, "change": change}
    return {name: _object(properties) for name, properties in definitions.items()}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
