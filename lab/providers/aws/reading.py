"""A service's answer as a resource's outputs and inputs. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jmespath

from lab.providers.aws.declarations import Input, Kind, Resource
from lab.providers.aws.templates import formatted
from lab.providers.values import Properties, plain, without_nulls


def is_empty(value: Any) -> bool:
    """Nothing, or false: services leave out unset values. Zero is a value."""
    return value is None or value is False or value in ("", [], {})


def outputs(resource: Resource, live: Properties, given: Properties, context: Properties) -> Properties:
    """All outputs of a resource: `live` is what was read, `given` its inputs, `context` id and place."""
    shown = {**context}
    for name, declared in resource.inputs.items():
        value = current(given.get(name), declared, live, name)
        is_wanted = declared.is_kept or not is_empty(value)
        if value is not None and (name in given or (is_wanted and not declared.is_shown_if_given)):
            shown[name] = value
    for name, source in resource.outputs.items():
        made = formatted(source[1:], {**live, **shown}) if source.startswith("=") else jmespath.search(source, live)
        if made is not None:
            shown[name] = made
    return shown


def current(given: Any, declared: Input, live: Properties, name: str) -> Any:
    """The present value of one input; None if it is no longer set."""
    if declared.read == "-":
        return given
    value = read(name, declared, live)
    if value is None:
        return given if is_empty(plain(given)) else None
    return value if given is None else as_given(given, value, declared.kind)


def read(name: str, declared: Input, live: Properties) -> Any:
    source = declared.read
    value = source(live) if callable(source) else jmespath.search(source or name, live)
    if declared.kind is Kind.JSON and isinstance(value, dict | list):
        return json.dumps(value)
    return without_nulls(value)


def drifted(resource: Resource, live: Properties, given: Properties) -> Properties:
    """The inputs that would give the present state; unchanged if nobody changed anything.

    Of inputs that the program omits, only tags are compared: AWS chooses the rest.
    """
    inputs = dict(given)
    for name, declared in resource.inputs.items():
        value = current(given.get(name), declared, live, name)
        if name in given:
            inputs[name] = narrowed(value, given[name], declared.kind)
        elif name == "tags" and not declared.is_shown_if_given and not is_empty(value):
            inputs[name] = value
    return {name: value for name, value in inputs.items() if value is not None}


def imported(resource: Resource, live: Properties) -> Properties:
    """Inputs for a resource created elsewhere: all readable ones that AWS does not fill in anyway."""
    readable = {name: each for name, each in resource.inputs.items() if each.read != "-"}
    found = {name: read(name, declared, live) for name, declared in readable.items()}
    return {
        name: value
        for name, value in found.items()
        if not is_empty(value) and value != resource.inputs[name].default and not resource.inputs[name].is_kept
    }


def same(given: Any, live: Any, kind: Kind) -> bool:
    """Whether two values of an input mean the same."""
    given, live = plain(given), plain(live)
    if is_empty(given) and is_empty(live):
        return True
    if kind is Kind.JSON:
        return bool(_document(given) == _document(live))
    if kind is Kind.SET and isinstance(given, list) and isinstance(live, list):
        return sorted(map(_text, given)) == sorted(map(_text, live))
    return bool(_text(given) == _text(live))


def as_given(given: Any, live: Any, kind: Kind) -> Any:
    """`live` in the user's spelling if both mean the same; parts that are not shown stay as given."""
    plainly = plain(given)
    if live is None or same(given, live, kind):
        return given
    if kind is Kind.PLAIN and isinstance(plainly, dict) and isinstance(live, dict):
        return {**live, **{key: as_given(value, live.get(key), kind) for key, value in plainly.items()}}
    if kind is Kind.PLAIN and isinstance(plainly, list) and isinstance(live, list) and len(plainly) == len(live):
        return [as_given(ours, theirs, kind) for ours, theirs in zip(plainly, live, strict=True)]
    return live


def narrowed(value: Any, given: Any, kind: Kind) -> Any:
    """`value` without keys the user omitted."""
    if kind is not Kind.PLAIN:
        return value
    if isinstance(value, dict) and isinstance(given, Mapping):
        return {key: narrowed(value[key], given[key], kind) for key in given if key in value}
    if isinstance(value, list) and isinstance(given, list) and len(value) == len(given):
        return [narrowed(ours, theirs, kind) for ours, theirs in zip(value, given, strict=True)]
    return value


def _document(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _text(value: Any) -> Any:
    """Numbers and booleans as texts: SDK and services differ in which values are texts."""
    if isinstance(value, dict):
        return json.dumps({key: _text(each) for key, each in value.items() if not is_empty(each)}, sort_keys=True)
    if isinstance(value, list):
        return json.dumps([_text(each) for each in value])
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
