"""Checks across the keys of a model, which also look at a model of which only some keys can be read.

A malformed driver of one pool must not hide a missing image of a profile: a check ends where it needs a value that
cannot be read, and the others go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Discriminator, TypeAdapter, ValidationError

from errors.faults import model_faults
from errors.problems import Fault, Loc

Model = TypeVar("Model", bound=BaseModel)
Check = TypeVar("Check", bound=Callable[[Any], Iterator[Fault]])
_CHECKS: Final[set[object]] = set()
_STRICT: Final = ConfigDict(strict=True, allow_inf_nan=False)


def check(method: Check) -> Check:
    """Mark a method of a model that yields faults, located from there."""
    _CHECKS.add(method)
    return method


def validated(
    model: type[Model], raw: Mapping[str, Any], faults: list[Fault], *, context: Any = None, is_json: bool = False
) -> Model:
    """The model of what can be read; what cannot is added to `faults`, and an AttributeError where it is used."""
    try:
        if not is_json:
            return model.model_validate(raw, context=context)
        # Strict mode then matches YAML: a list for a list, and no text for a number. Half a character is replaced.
        text = json.dumps(raw, default=str, ensure_ascii=False).encode("utf-8", "replace")
        return model.model_validate_json(text, context=context)
    except ValidationError as error:
        faults += model_faults(error, model)
        return _Reader(context, is_json=is_json).model(model, raw)


def readable(faults: Iterator[Fault]) -> Iterator[Fault]:
    """The faults found before a value that cannot be read, or not be expanded."""
    try:
        yield from faults
    except (AttributeError, ValueError):
        return


def disagreements(model: BaseModel, loc: Loc = ()) -> Iterator[Fault]:
    """Faults found by the checks of a model and of all models in it."""
    for method in _checks_of(type(model)):
        yield from (replace(fault, loc=(*loc, *fault.loc)) for fault in readable(method(model)))
    for name, field in type(model).model_fields.items():
        if name in vars(model):
            yield from _inside(vars(model)[name], (*loc, field.alias or name))


def given(model: BaseModel, key: str) -> bool:
    """Whether a key is written, with a value."""
    return key in model.model_fields_set and getattr(model, key, None) is not None


def located(items: Iterable[Model], *path: str | int) -> Iterator[tuple[Loc, Model]]:
    """Items of the list at `path` that can be read."""
    return (((*path, index), each) for index, each in enumerate(items) if isinstance(each, BaseModel))


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
    """Reads each key by itself."""

    def __init__(self, context: Any, *, is_json: bool) -> None:
        self._context, self._is_json = context, is_json

    def model(self, model: type[Model], raw: Mapping[str, Any]) -> Model:
        hints, written = get_type_hints(model, include_extras=True), {}
        absent: set[str] = set()
        for name, field in model.model_fields.items():
            if (key := field.alias or name) in raw:
                try:
                    annotation = Annotated[(hints[name], *field.metadata, Discriminator(field.discriminator or ""))]  # type: ignore[valid-type]
                    written[key] = self._value(annotation, raw[key])
                except (ValidationError, AttributeError):
                    if name == "name" and isinstance(raw[key], str):
                        written[key] = raw[key]  # others may still use it
                    else:
                        absent.add(name)
            elif field.is_required():
                absent.add(name)
        made = model.model_construct(**written)
        for name in absent & vars(made).keys():
            del vars(made)[name]  # not its default
        made.model_fields_set.update(name for name, field in model.model_fields.items() if (field.alias or name) in raw)
        return made

    def _value(self, annotation: Any, value: Any, discriminator: Any = None) -> Any:
        origin, inner = get_origin(annotation), get_args(annotation)
        if not _has_models(annotation):
            return self._plain(annotation, value)
        if origin is Annotated:
            chosen = [each.discriminator for each in inner[1:] if getattr(each, "discriminator", None)]
            return self._value(inner[0], value, chosen[0] if chosen else discriminator)
        if origin in (Union, UnionType):
            return None if value is None else self._value(_option(inner, value, discriminator), value)
        if origin is tuple:
            if not isinstance(value, list | tuple):
                raise AttributeError(annotation)
            return tuple(self._item(inner[0], each) for each in value)
        if isinstance(value, Mapping):
            return self.model(annotation, value)
        raise AttributeError(annotation)

    def _item(self, annotation: Any, value: Any) -> Any:
        try:
            return self._value(annotation, value)
        except (ValidationError, AttributeError):
            return object()  # without any attribute

    def _plain(self, annotation: Any, value: Any) -> Any:
        annotations = [each for each in get_args(annotation) if getattr(each, "discriminator", None) != ""]
        if get_origin(annotation) is Annotated:
            annotation = Annotated[tuple(annotations)] if len(annotations) > 1 else annotations[0]
        adapter = TypeAdapter(list[annotation], config=_STRICT)
        if self._is_json:
            return adapter.validate_json(json.dumps([value], default=str), context=self._context)[0]
        return adapter.validate_python([value], context=self._context)[0]


def _has_models(annotation: Any) -> bool:
    if get_origin(annotation) is None:
        return isinstance(annotation, type) and issubclass(annotation, BaseModel)
    inner = get_args(annotation)
    return get_origin(annotation) is not dict and any(
        map(_has_models, inner[:1] if get_origin(annotation) is Annotated else inner)
    )


def _option(options: Sequence[Any], value: Any, discriminator: Any) -> Any:
    """The model of a union that a value is of."""
    models = [each for each in options if each is not type(None)]
    if len(models) == 1:
        return models[0]
    if callable(discriminator):
        tag = discriminator(value)
        return next(get_args(each)[0] for each in models if get_args(each)[1].tag == tag)
    kind = value.get(discriminator) if isinstance(value, Mapping) else None
    for each in models:
        if kind in get_args(each.model_fields[discriminator].annotation):
            return each
    raise AttributeError(discriminator)
