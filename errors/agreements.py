"""Checks across the keys of a model, which also look at a model of which only some keys can be read.

A malformed driver of one pool must not hide a missing image of a profile: a check ends where it needs a value that
cannot be read, and the others go on.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from errors.faults import model_faults
from errors.problems import Fault, Loc

Model = TypeVar("Model", bound=BaseModel)
Found = TypeVar("Found")
Check = TypeVar("Check", bound=Callable[[Any], Iterator[Fault]])
_CHECKS: Final[set[object]] = set()


def check(method: Check) -> Check:
    """Mark a method of a model that yields faults, located from there."""
    _CHECKS.add(method)
    return method


def validated(
    model: type[Model], raw: Mapping[str, Any], faults: list[Fault], *, context: Any = None, is_json: bool = False
) -> Model:
    """The model of what can be read; what cannot is added to `faults`, and an AttributeError where it is used."""
    # Strict mode then matches YAML: a list for a list, and no text for a number. Half a character is replaced.
    text = json.dumps(raw, default=str, ensure_ascii=False).encode("utf-8", "replace") if is_json else b""
    try:
        return (
            model.model_validate_json(text, context=context) if is_json else model.model_validate(raw, context=context)
        )
    except ValidationError as error:
        found = [*model_faults(error, model)]
        faults += found
        return _Reader({fault.loc for fault in found}, context).model(model, json.loads(text) if is_json else raw, ())


def readable(found: Iterator[Found]) -> Iterator[Found]:
    """What is found before a value that cannot be read, or not be expanded."""
    try:
        yield from found
    except (AttributeError, ValueError):
        return


def of_each(items: Iterable[tuple[Loc, Any]], *checks: Callable[..., Iterator[Found]]) -> Iterator[Found]:
    """What each check finds in each located item; none hides what another finds."""
    for loc, item in items:
        for each in checks:
            yield from readable(each(loc, item))


def disagreements(model: BaseModel, loc: Loc = ()) -> Iterator[Fault]:
    """Faults found by the checks of a model and of all models in it."""
    for method in _checks_of(type(model)):
        yield from (replace(fault, loc=(*loc, *fault.loc)) for fault in readable(method(model)))
    for name, field in type(model).model_fields.items():
        if name in vars(model):
            yield from _inside(vars(model)[name], (*loc, field.alias or name))


def given(model: BaseModel, key: str) -> bool:
    """Whether a key is written, with a value."""
    return key in model.model_fields_set and getattr(model, key, None) not in (None, ())


def refused(reason: str, fixes: Mapping[str, str]) -> Callable[[Loc, BaseModel], Iterator[Fault]]:
    """A check that refuses keys that are given; `fixes`: what to do about each."""
    return lambda loc, model: (Fault((*loc, key), reason, fix) for key, fix in fixes.items() if given(model, key))


def known_names(items: Iterable[object]) -> list[str]:
    """Names of the items that have one that can be read."""
    return [each.name for each in items if hasattr(each, "name")]


def located(holder: object, key: str, loc: Loc = ()) -> Iterator[tuple[Loc, Any]]:
    """Items that can be read of the list `key` of what is at `loc`."""
    return (
        ((*loc, key, index), each) for index, each in enumerate(getattr(holder, key, ())) if isinstance(each, BaseModel)
    )


def doubles(items: Sequence[object], path: Loc, label: str = "name", key: str | None = None) -> Iterator[Fault]:
    """Items of the list at `path` with the `label` of an earlier one, or with its `key`, which `label` is part of."""
    first: dict[object, int] = {}
    for index, item in enumerate(items):
        found, shown = getattr(item, key or label, None), getattr(item, label, None)
        if found is not None and found in first:
            reason = f"is taken by {path[-1]}[{first[found]}]"
            yield Fault((*path, index, label), reason, f"give each of the {path[-1]} its own {label}", shown)
        first.setdefault(found, index)


def _inside(value: object, loc: Loc) -> Iterator[Fault]:
    if isinstance(value, BaseModel):
        yield from disagreements(value, loc)
    elif isinstance(value, tuple):
        for index, each in enumerate(value):
            yield from _inside(each, (*loc, index))


@cache
def _checks_of(model: type[BaseModel]) -> tuple[Callable[[BaseModel], Iterator[Fault]], ...]:
    methods = {name: method for base in reversed(model.__mro__) for name, method in vars(base).items()}
    return tuple(method for method in methods.values() if callable(method) and method in _CHECKS)


class _Reader:
    """Reads around what is wrong."""

    def __init__(self, wrong: set[Loc], context: Any) -> None:
        self._wrong, self._context = wrong, context

    def model(self, model: type[Model], raw: Mapping[str, Any], at: Loc) -> Model:
        made = model.model_construct()
        names = {field.alias or name: name for name, field in model.model_fields.items()}
        for key, value in raw.items():
            name = names.get(key, key)
            made.model_fields_set.add(name)  # those of no model as well
            vars(made).pop(name, None)  # a default is not what is written
            with suppress(AttributeError, ValidationError):
                if key in names:
                    vars(made)[name] = self._value(model, name, value, (*at, key))
        if isinstance(raw.get("name"), str):
            vars(made).setdefault("name", raw["name"])  # others may still use it
        return made

    def _value(self, model: type[BaseModel], name: str, value: Any, at: Loc) -> Any:
        if at in self._wrong:
            raise AttributeError(at)
        if not any(loc[: len(at)] == at for loc in self._wrong):
            return self._whole(model, name, value)
        field = model.model_fields[name]
        if isinstance(value, Mapping):
            inner = _model_of(field.annotation, value, field.discriminator)
            kept = {key: each for key, each in value.items() if (*at, key) not in self._wrong}
            return self.model(inner, value, at) if inner else self._whole(model, name, kept)
        if any(isinstance(each, AfterValidator) for each in field.metadata):
            raise AttributeError(at)  # a list that is read as a whole
        return tuple(self._items(model, name, value, at))

    def _items(self, model: type[BaseModel], name: str, items: Sequence[Any], at: Loc) -> Iterator[Any]:
        for index, item in enumerate(items):
            inner = _model_of(model.model_fields[name].annotation, item) if isinstance(item, Mapping) else None
            if (*at, index) in self._wrong:
                yield object()  # without any attribute
            else:
                yield self.model(inner, item, (*at, index)) if inner else self._whole(model, name, [item])[0]

    def _whole(self, model: type[BaseModel], name: str, value: Any) -> Any:
        opened = _opened(model)
        # Lists for tuples: what is wrong in strict mode is known.
        made = opened.__pydantic_validator__.validate_assignment(
            opened.model_construct(), name, value, strict=False, context=self._context
        )
        return getattr(made, name)


@cache
def _opened(model: type[Model]) -> type[Model]:
    """The model with keys that can be set one by one."""
    config = ConfigDict(frozen=False, defer_build=False)
    return type(model.__name__, (model,), {"model_config": config, "__module__": model.__module__})


def _model_of(annotation: Any, value: Mapping[str, Any], discriminator: Any = None) -> type[BaseModel] | None:
    """The model of a mapping, or of one in a list; None for a mapping with keys of the user's."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        chosen = (each.discriminator for each in inner[1:] if getattr(each, "discriminator", None))
        return _model_of(inner[0], value, next(chosen, discriminator))
    if origin is tuple:
        return _model_of(inner[0], value)
    if origin not in {Union, UnionType}:
        return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
    options = [each for each in inner if each is not type(None)]
    if len(options) == 1:
        return _model_of(options[0], value)
    if callable(discriminator):
        found = [get_args(each)[0] for each in options if get_args(each)[1].tag == discriminator(value)]
    else:
        kind = value.get(discriminator)
        found = [each for each in options if kind in get_args(each.model_fields[discriminator].annotation)]
    if not found:
        raise AttributeError(discriminator)
    chosen_model: type[BaseModel] = found[0]
    return chosen_model
