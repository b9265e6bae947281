"""Pydantic's errors, reworded for people who write YAML."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails

from errors.converted import converted, is_bare
from errors.problems import NOT_GIVEN, Fault, Loc, is_secretive, nearest, unshown

Schema = Mapping[str, Any]
# How a model reads input: unknown keys are errors, and 1 is neither text nor true. It is built on first use: most
# stacks use few of the platforms' models.
FORM: Final = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)

MOVED: Final = "x-moved"  # in a schema: new places of keys of an earlier release
KINDS: Final = "x-kinds"  # in a schema: possible models of a value by pydantic's tag, if no key names the kind


class Misfit(ValueError):  # noqa: N818 - the user's mistake, not an error of ours
    """Raised by our validators: `reason` follows the value in the message, `fix` is what to do."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(f"{reason}: {fix}")
        self.reason = reason
        self.fix = fix


def quoted(value: object, info: ValidationInfo) -> object:
    """Reject a version that YAML has read as a number."""
    if isinstance(value, int | float):
        raise Misfit("is a number; YAML reads 470.10 as 470.1", f'quote it: {info.field_name}: "{value}"')
    return value


def matching(pattern: str | re.Pattern[str], reason: str, fix: str) -> AfterValidator:
    """Reject a text that does not match as a whole."""
    whole = re.compile(pattern)

    def check(value: str) -> str:
        if not whole.fullmatch(value):
            raise Misfit(reason, fix)
        return value

    return AfterValidator(check)


# Unlike a stack file, a component accepts names that begin with a digit and addresses without TLS.
LENIENT: Final = {"is_lenient": True}


def is_lenient(info: ValidationInfo) -> bool:
    """Is this a component's argument, with looser rules than a stack file?"""
    return info.context == LENIENT


@cache
def _schema(model: type[BaseModel]) -> Schema:
    return model.model_json_schema()


def model_faults(error: ValidationError, model: type[BaseModel]) -> Iterator[Fault]:
    """Faults of a validation in pydantic's order, worded from the model's JSON Schema."""
    found, schema = error.errors(include_url=False), _schema(model)
    for details in found:
        loc = details["loc"]
        # pydantic does not count invalid items: it also calls a list with one invalid item too short.
        if details["type"] != "too_short" or not any(each["loc"][: len(loc)] == loc != each["loc"] for each in found):
            yield _fault(details, schema)


_MORE: Final = {"too_short": "give at least one", "string_too_short": "write some text"}
_EXPECTED = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}


def _fault(details: ErrorDetails, schema: Schema) -> Fault:
    loc, here, parent = _place(details["loc"], schema)
    context, kind, value = details.get("ctx", {}), details["type"], details["input"]
    about = here.get("description", "").rstrip(".")
    if kind == "missing":
        return Fault(loc, "is missing", f"add {loc[-1]}" + (f": {about}" if about else ""))
    if kind == "extra_forbidden":
        moved = parent.get(MOVED, {}).get(loc[-1])
        known = nearest(loc[-1], parent.get("properties", {}), what="key")
        return Fault(loc, "is not a known key", f"write it as {moved}" if moved else known)
    if kind == "union_tag_not_found":
        key = str(context["discriminator"]).strip("'")
        kinds = sorted(_resolved(here, schema)["discriminator"]["mapping"])
        return Fault((*loc, key), "is missing", f"add {key}: one of {', '.join(kinds)}")
    if kind == "union_tag_invalid":
        key = str(context["discriminator"]).strip("'")
        known = _resolved(here, schema)["discriminator"]["mapping"]
        return Fault((*loc, key), f"is not a known {key}", nearest(context["tag"], known, what=key), context["tag"])
    resolved = _resolved(here, schema)
    if kind.endswith("_type") and _holds_keys(resolved, schema) and value is not None:
        return Fault(loc, *_not_a_mapping(resolved, about), unshown(value))
    reason, fix = _reason(details, resolved, about)
    return Fault(loc, reason, fix, NOT_GIVEN if kind == "json_invalid" else value)


def _holds_keys(here: Schema, root: Schema) -> bool:
    """A mapping, or a list of mappings."""
    if here.get("type") == "array":
        return _holds_keys(_resolved(here.get("items", {}), root), root)
    return here.get("type") == "object" or "discriminator" in here


def _not_a_mapping(here: Schema, about: str) -> tuple[str, str]:
    if "discriminator" in here:
        key, kinds = here["discriminator"]["propertyName"], sorted(here["discriminator"]["mapping"])
        return "is not a mapping", f"write a mapping with {key}: one of {', '.join(kinds)}"
    if here.get("type") == "array":
        return "is not a list", about or "write a list of mappings"
    return "is not a mapping", about or "write a mapping"


def _reason(details: ErrorDetails, here: Schema, about: str) -> tuple[str, str]:
    context, kind, value = details.get("ctx", {}), details["type"], details["input"]
    cause = context.get("error")
    if isinstance(cause, Misfit):
        return cause.reason, cause.fix
    if kind == "literal_error":
        return "is not allowed here", nearest(value, map(str, here.get("enum", [here.get("const")])), what="value")
    if more := _MORE.get(kind):
        return "is empty", more + (f": {about}" if about else "")
    if wrong := _out_of_bounds(kind, context):
        return wrong, _instead(details, here) or about or "correct it"
    if kind.endswith(("_type", "_parsing", "_from_float", "_attributes_type")):
        wanted = _EXPECTED.get(str(here.get("type")), "something else")
        retyped = _retype(value, str(here.get("type")), is_shown=not is_secretive(details["loc"]))
        return f"is not {wanted}", _instead(details, here) or retyped or about or f"write {wanted}"
    return details["msg"][:1].lower() + details["msg"][1:], about


def _out_of_bounds(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "string_too_long":
        return f"has more than {context['max_length']} characters"
    if kind == "finite_number":
        return "is not a finite number"
    limit = _limit(context)
    return f"is out of range: {limit} is allowed" if limit else ""


def _instead(details: ErrorDetails, here: Schema) -> str:
    """`write peak_share: 0.2`, if the intended value is clear."""
    loc, value = details["loc"], details["input"]
    key = next((step for step in reversed(loc) if isinstance(step, str)), "")
    found = None if is_secretive(loc) else converted(key, str(here.get("type")), value)
    if found is None:
        return ""
    written = f"{key}: {found}" if loc[-1:] == (key,) else found
    return f"write {written}" + (", without quotes" if is_bare(value) else "")


def _limit(context: Mapping[str, Any]) -> str:
    words = {"ge": "{} or more", "gt": "more than {}", "le": "at most {}", "lt": "less than {}"}
    return " and ".join(text.format(context[key]) for key, text in words.items() if key in context)


def _retype(value: object, wanted: str, *, is_shown: bool) -> str:
    if wanted == "string" and isinstance(value, int | float):
        return f'put it in quotes: "{value}"' if type(value) is int and is_shown else "put it in quotes"
    if wanted in {"integer", "number", "boolean"} and isinstance(value, str):
        return f"write {_EXPECTED[wanted]}, without quotes"
    return ""


def _resolved(schema: Schema, root: Schema) -> Schema:
    while True:
        if "$ref" in schema:
            schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
        elif "anyOf" in schema:  # X or null: the user means X
            schema = next(option for option in schema["anyOf"] if option.get("type") != "null")
        else:
            return schema


def _place(loc: Loc, root: Schema) -> tuple[Loc, Schema, Schema]:
    """Path without pydantic's union tags, the schema there (with its description), and that of its parent."""
    path: list[str | int] = []
    here: Schema = root
    parent: Schema = root
    for step in loc:
        if step == "[key]":  # pydantic's mark for a key that is itself the mistake
            continue
        around = _resolved(here, root)
        kinds = around.get(KINDS) or around.get("discriminator", {}).get("mapping", {})
        if step in kinds:
            here = {"$ref": kinds[step]}
            continue
        parent = around
        if isinstance(step, int):
            here = around.get("items", {})
        else:
            extra = next(iter(around.get("patternProperties", {}).values()), around.get("additionalProperties", {}))
            here = around.get("properties", {}).get(step, extra if isinstance(extra, Mapping) else {})
        path.append(step)
    return tuple(path), here, parent
