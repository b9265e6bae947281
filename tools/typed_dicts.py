"""Pydantic models as the text of modules with TypedDicts, which Pulumi and type checkers read.

Every description comes from the models. `tools.component_arguments` says which models become which TypedDicts.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from workloads.arguments import Argument

WIDTH: Final = 120
# What a description says to people who write YAML: what a key that is left out means, and that a version is no number.
IN_YAML: Final = {"; none: ": "; default: ", ", quoted:": ":", "; quoted": ""}


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a TypedDict."""

    name: str
    type: str
    text: str
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """A TypedDict and its models: several are the kinds of one thing, which their key `kind` tells apart."""

    name: str
    models: tuple[type[BaseModel], ...]
    text: str = ""  # empty: the docstring of the first model
    also: tuple[Key, ...] = ()  # keys that no model has, and those that mean more in a component
    without: frozenset[str] = frozenset()  # keys of the models that no component reads


@dataclass(frozen=True, slots=True)
class Module:
    """A module of TypedDicts; each comes after those that it needs."""

    name: str
    of: str
    shapes: tuple[Shape, ...]


def texts(modules: Sequence[Module], edit: str) -> dict[str, str]:
    """Path below the project → text. A model without a TypedDict becomes a plain mapping."""
    shapes = [shape for module in modules for shape in module.shapes]
    names = {frozenset(shape.models): shape.name for shape in reversed(shapes)}  # the first of a model
    homes = {shape.name: module.name for module in modules for shape in module.shapes}
    return {f"{module.name.replace('.', '/')}.py": _module(module, names, homes, edit) for module in modules}


Names = Mapping[frozenset[type[BaseModel]], str]


def _module(module: Module, names: Names, homes: Mapping[str, str], edit: str) -> str:
    body = "\n\n\n".join(_class(shape, names) for shape in module.shapes)
    models = ", ".join(sorted({model.__module__ for shape in module.shapes for model in shape.models}))
    about = f"Written by `make docs` from the models in {models}: edit those, or {edit}, not this file."
    head = f'"""Arguments of {module.of}, for Pulumi and type checkers.\n\n{textwrap.fill(about, WIDTH)}\n"""'
    return "\n".join([head, *_imports(body, module.name, homes), "", "", body, ""])


def _imports(body: str, here: str, homes: Mapping[str, str]) -> Iterator[str]:
    words = set(re.findall(r"\w+", re.sub(r'"""(?s:.*?)"""', "", body)))
    standard = {"collections.abc": ("Mapping", "Sequence"), "typing": ("Any", "NotRequired", "TypedDict")}
    ours = {home: sorted(name for name in words & homes.keys() if homes[name] == home) for home in homes.values()}
    blocks = [
        [f"from {source} import {', '.join(sorted(words.intersection(known)))}" for source, known in standard.items()],
        ["import pulumi"] if "pulumi" in words else [],
        [f"from {home} import {', '.join(names)}" for home, names in sorted(ours.items()) if names and home != here],
    ]
    for block in blocks:
        lines = [line for line in block if not line.endswith(" import ")]
        yield from ["", *lines] if lines else []


def _class(shape: Shape, names: Names) -> str:
    about = shape.text or inspect.cleandoc(shape.models[0].__doc__ or "")
    lines = [f"class {shape.name}(TypedDict):", *_docstring(about)]
    if not lines[1].endswith('"""'):
        lines += [lines.pop().removesuffix('"""'), '    """']
    lines.append("")
    for key in _keys(shape, names):
        lines += [
            f"    {key.name}: {key.type if key.is_required else f'NotRequired[{key.type}]'}",
            *_docstring(key.text),
        ]
    return "\n".join(lines)


def _docstring(text: str) -> list[str]:
    return textwrap.wrap(
        f'"""{text}"""', WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False
    )


def _keys(shape: Shape, names: Names) -> Iterator[Key]:
    """The keys of all kinds, those that tell which first, then those that no model has."""
    found: dict[str, dict[str, Key]] = {}
    for model in shape.models:
        kind = get_args(model.model_fields["kind"].annotation)[0] if "kind" in model.model_fields else ""
        for key in _of_model(model, names):
            found.setdefault(key.name, {})[kind] = key
    also = {key.name: key for key in shape.also}
    for name in shape.without:
        del found[name]
    for name, kinds in sorted(found.items(), key=lambda each: each[0] not in {"kind", "name", "title"}):
        yield also.pop(name) if name in also else _merged(name, kinds, len(shape.models))
    yield from also.values()


def _merged(name: str, kinds: Mapping[str, Key], of: int) -> Key:
    """One key of several kinds: required if all need it. A description not of all begins with the kinds it is of."""
    (annotation,) = {key.type for key in kinds.values()}
    said = dict.fromkeys(key.text for key in kinds.values())
    groups = {text: [kind for kind, key in kinds.items() if key.text == text] for text in said}
    parts = [
        text if len(group) == of and name != "kind" else f"{', '.join(group)}: {text}" for text, group in groups.items()
    ]
    is_required = len(kinds) == of and all(key.is_required for key in kinds.values())
    return Key(name, annotation, " ".join(parts), is_required)


def _of_model(model: type[BaseModel], names: Names) -> Iterator[Key]:
    hints = get_type_hints(model, include_extras=True)
    for name, field in model.model_fields.items():
        marks = [mark.is_required for mark in field.metadata if isinstance(mark, Argument)]
        is_required = next((mark for mark in marks if mark is not None), field.is_required())
        text = _text(field.description or "", None if is_required else field.default)
        yield Key(field.alias or name, _type(hints[name], names), text, is_required)


def _text(description: str, default: Any) -> str:
    """A sentence, with the default if it does not say one."""
    said = description.rstrip(".")
    for in_yaml, here in IN_YAML.items():
        said = said.replace(in_yaml, here)
    shown = "" if re.search(r"\bdefault\b", said, re.IGNORECASE) else _shown(default)
    if re.match(r"[a-z]+ ", said):  # not the name of a program
        said = said[0].upper() + said[1:]
    return f"{said}. Default: {shown}." if shown else f"{said}."


def _shown(default: Any) -> str:
    """A plain value, or several, as people write them; empty for all else."""
    if isinstance(default, tuple):
        return ", ".join(filter(None, map(_shown, default)))
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, int | float):
        return f"{default:g}"
    return str(default) if isinstance(default, str | IPv4Network) else ""


def _type(annotation: Any, names: Names) -> str:
    """As Pulumi understands it: without ranges, choices and kinds."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        marked = (mark.type for mark in inner[1:] if isinstance(mark, Argument) and mark.type)
        found = next(marked, None) or _type(inner[0], names)
    elif origin in (Union, types.UnionType):
        options = [each for each in inner if each is not types.NoneType]
        found = names.get(frozenset(options)) or " | ".join(sorted({_type(each, names) for each in options}))
    elif origin is Literal:
        found = type(inner[0]).__name__
    elif origin is tuple:
        found = f"Sequence[{_type(inner[0], names)}]"
    elif origin is dict:
        found = f"Mapping[{_type(inner[0], names)}, {_type(inner[1], names)}]"
    elif issubclass(annotation, BaseModel):
        found = names.get(frozenset([annotation]), "Mapping[str, Any]")
    else:
        found = annotation.__name__
    return found
