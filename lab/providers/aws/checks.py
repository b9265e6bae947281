"""Finds mistakes in a resource's inputs before any call, and compares old and new inputs. Pure."""

from __future__ import annotations

import difflib
import hashlib
from typing import Any, Final

from lab.providers.aws.api import model
from lab.providers.aws.declarations import Call, Input, Kind, Resource, Scope
from lab.providers.aws.reading import same
from lab.providers.aws.shapes import MisfitError, to_service
from lab.providers.aws.templates import filled
from lab.providers.paths import changes_between, render, replacing
from lab.providers.values import UNKNOWN, Properties, has_unknown, plain, without_nulls
from lab.providers.vocabulary import Autonaming, Change, Checked, Difference, Failure, Request

DEFAULTS: Final = "__defaults"  # inputs that the program does not give, as the official plugin marks them
SUFFIX_LENGTH: Final = 7


def check(resource: Resource, request: Request) -> Checked:
    """The inputs with names and defaults, and every mistake in them."""
    given = without_nulls({key: value for key, value in request.inputs.items() if not key.startswith("__")})
    inputs = dict(given)
    failures = [_unknown(resource, name) for name in inputs if name not in resource.inputs]
    for name, declared in resource.inputs.items():
        if declared.is_required and name not in inputs:
            failures.append(Failure(name, f"{resource.noun}: {name} is required"))
        if declared.default is not None:
            inputs.setdefault(name, declared.default)
    if resource.named and resource.named not in inputs:
        name = _name(resource, request)
        if name:
            inputs[resource.named] = name
        else:
            failures.append(Failure(resource.named, f"automatic names are switched off: set {resource.named}"))
    if not failures:
        failures = _misfits(resource, inputs)
    made = sorted(set(inputs) - set(given))
    return Checked({**inputs, DEFAULTS: made} if made else inputs, failures)


def _unknown(resource: Resource, name: str) -> Failure:
    return Failure(name, f"{resource.noun}: {_not_there(name, sorted(resource.inputs))}")


def _not_there(name: str, allowed: list[str]) -> str:
    near = difflib.get_close_matches(name.rsplit(".", maxsplit=1)[-1], allowed, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return f"this stand-in has no {name}{meant} It has {', '.join(allowed)}"


def _name(resource: Resource, request: Request) -> str:
    """Its present name, else a new one: the resource's, with the engine's random suffix."""
    old = request.old_inputs
    if resource.named in old.get(DEFAULTS, ()):
        return str(old[resource.named])
    chosen = request.autonaming or Autonaming("", disabled=False)
    if chosen.disabled or chosen.name:
        return "" if chosen.disabled else chosen.name
    suffix = hashlib.sha256(request.seed or request.urn.encode()).hexdigest()[:SUFFIX_LENGTH]
    return f"{request.name[: resource.name_length - SUFFIX_LENGTH - 1]}-{suffix}"


def _misfits(resource: Resource, inputs: Properties) -> list[Failure]:
    """Nested properties that the service does not know, or of the wrong type."""
    failures = {}
    scope = resource.scope("", {}, inputs, {})
    for call in (resource.create, *resource.completes, *resource.updates):
        try:
            arguments(resource, call, scope, {})
        except MisfitError as error:
            reason = _not_there(error.path, error.allowed) if error.allowed else str(error)
            top = error.path.split(".")[0].split("[")[0]
            if top in inputs:
                failures[error.path] = Failure(error.path, f"{resource.noun}: {reason}")
    return list(failures.values())


def arguments(resource: Resource, call: Call, scope: Scope, more: Properties) -> Properties:
    """The parameters of a call in the service's form. Raises MisfitError."""
    shape = model(call.service or resource.service).operation_model(call.operation).input_shape
    template = filled(call.arguments, {**scope.values(), **more}) or {}
    return dict(to_service(template, shape, "", resource.renames)) if shape is not None else {}


def compare(resource: Resource, old: Properties, new: Properties) -> Difference:
    """The changes of an update, property by property."""
    changes: dict[str, Change] = {}
    for name, declared in resource.inputs.items():
        before, after = old.get(name), new.get(name)
        if not _differs(declared, before, after):
            continue
        for path, change in _changes(declared, name, before, after):
            below = str(path[1]) if len(path) > 1 else ""
            is_new = declared.replaces or below in declared.replaces_below
            changes[render(path)] = replacing(change) if is_new else change
    has_own_name = bool(resource.named) and resource.named not in new.get(DEFAULTS, ())
    replaced = any(change.replaces for change in changes.values())
    return Difference(changes, delete_before_replace=replaced and has_own_name)


def _differs(declared: Input, before: Any, after: Any) -> bool:
    if after is None and (declared.is_kept or before is None):
        return False
    return has_unknown(after) or not same(before, after, declared.kind)


def _changes(declared: Input, name: str, before: Any, after: Any) -> list[tuple[Any, Change]]:
    if before is None or after is None:
        return [((name,), Change.ADD if before is None else Change.DELETE)]
    if declared.kind is Kind.SET and not has_unknown([before, after]):
        before, after = (sorted(plain(each), key=str) if isinstance(each, list) else each for each in (before, after))
    found = [*changes_between((name,), before, after)]
    # Equal values can still be written in two ways.
    real = [(path, change) for path, change in found if not _means_the_same(path, before, after)]
    return real or [((name,), Change.UPDATE)]


def _means_the_same(path: Any, before: Any, after: Any) -> bool:
    for step in path[1:]:
        try:
            before, after = before[step], after[step]
        except (KeyError, IndexError, TypeError):
            return False
    return after is not UNKNOWN and str(plain(before)).lower() == str(plain(after)).lower()
