"""What an `Image` may be given, as data, and the check of inputs against it. Pure.

The names are those of docker-build 0.0.22. A name that the stand-in cannot honour stands here with the reason;
a name that stands nowhere is unknown to the official plugin too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lab.providers.values import UNKNOWN

Problem = tuple[str, str]  # path of a property, and what is wrong with it


@dataclass(frozen=True, slots=True)
class Plain:
    """Text, flag or number; `choices` when only some texts are allowed."""

    kind: type
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Shape


@dataclass(frozen=True, slots=True)
class MapOf:
    item: Shape


@dataclass(frozen=True, slots=True)
class Fields:
    """An object. `refused` holds names of the official plugin that are not honoured here, with the reason."""

    allowed: Mapping[str, Shape]
    required: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    one_of: tuple[str, ...] = ()  # exactly one of these


Shape = Plain | ListOf | MapOf | Fields

TEXT: Final = Plain(str)
FLAG: Final = Plain(bool)
NUMBER: Final = Plain(int)
COMPRESSION: Final = Plain(str, ("gzip", "zstd", "estargz"))
NO_ENGINE = "it needs a Docker engine, which this stand-in does not use"
NO_CLOUD = "this stand-in knows the caches registry, local and inline"

LEVELS = {"compression": COMPRESSION, "compressionLevel": NUMBER, "forceCompression": FLAG}
IMAGE_EXPORT = Fields(
    {
        **LEVELS,
        "annotations": MapOf(TEXT),
        "danglingNamePrefix": TEXT,
        "insecure": FLAG,
        "nameCanonical": FLAG,
        "names": ListOf(TEXT),
        "ociMediaTypes": FLAG,
        "push": FLAG,
        "pushByDigest": FLAG,
        "store": FLAG,
        "unpack": FLAG,
    }
)
REGISTRY = Fields({"address": TEXT, "username": TEXT, "password": TEXT}, required=("address",))
CACHES = ("registry", "local", "inline")
CLOUD_CACHES = dict.fromkeys(("azblob", "gha", "s3", "raw"), NO_CLOUD)

IMAGE: Final = Fields(
    {
        "addHosts": ListOf(TEXT),
        "buildArgs": MapOf(TEXT),
        "buildOnPreview": FLAG,
        "builder": Fields({"name": TEXT}, required=("name",)),
        "cacheFrom": ListOf(
            Fields(
                {
                    "disabled": FLAG,
                    "registry": Fields({"ref": TEXT}, required=("ref",)),
                    "local": Fields({"src": TEXT, "digest": TEXT}, required=("src",)),
                },
                refused={**CLOUD_CACHES, "inline": "an inline cache is read as a registry cache"},
                one_of=("registry", "local"),
            )
        ),
        "cacheTo": ListOf(
            Fields(
                {
                    "disabled": FLAG,
                    "registry": Fields(
                        {
                            **LEVELS,
                            "ref": TEXT,
                            "ignoreError": FLAG,
                            "imageManifest": FLAG,
                            "mode": Plain(str, ("min", "max")),
                            "ociMediaTypes": FLAG,
                        },
                        required=("ref",),
                    ),
                    "local": Fields(
                        {**LEVELS, "dest": TEXT, "ignoreError": FLAG, "mode": Plain(str, ("min", "max"))},
                        required=("dest",),
                    ),
                    "inline": Fields({}),
                },
                refused=CLOUD_CACHES,
                one_of=CACHES,
            )
        ),
        "context": Fields(
            {"location": TEXT, "named": MapOf(Fields({"location": TEXT}, required=("location",)))},
            required=("location",),
        ),
        "dockerfile": Fields({"inline": TEXT, "location": TEXT}),
        "exports": ListOf(
            Fields(
                {"disabled": FLAG, "registry": IMAGE_EXPORT, "image": IMAGE_EXPORT, "cacheonly": Fields({})},
                refused=dict.fromkeys(
                    ("docker", "local", "oci", "tar", "raw"),
                    "this stand-in knows the exports registry, image and cacheonly",
                ),
                one_of=("registry", "image", "cacheonly"),
            )
        ),
        "ignoreSecretsInDiffCalculation": ListOf(TEXT),
        "labels": MapOf(TEXT),
        "network": Plain(str, ("default", "none")),
        "noCache": FLAG,
        "platforms": ListOf(TEXT),
        "pull": FLAG,
        "push": FLAG,
        "registries": ListOf(REGISTRY),
        "secrets": MapOf(TEXT),
        "ssh": ListOf(Fields({"id": TEXT, "paths": ListOf(TEXT)}, required=("id",))),
        "tags": ListOf(TEXT),
        "target": TEXT,
    },
    required=("push",),
    refused={"load": NO_ENGINE, "exec": "it needs the docker-buildx program, which this stand-in does not use"},
)
PROVIDER: Final = Fields({"registries": ListOf(REGISTRY), "version": TEXT}, refused={"host": NO_ENGINE})


def misfits(value: Any, shape: Shape, path: str = "") -> Iterator[Problem]:
    """Everything in `value` that does not have the shape. Null is "not set"; what is not known yet always fits."""
    if value is None or value is UNKNOWN:
        return
    match shape:
        case Plain(kind, choices):
            yield from _misfits_plain(value, kind, choices, path)
        case ListOf(item):
            if not isinstance(value, list):
                yield path, f"is {_said(value)}, not a list"
                return
            for number, entry in enumerate(value):
                yield from misfits(entry, item, f"{path}[{number}]")
        case MapOf(item):
            if not isinstance(value, dict):
                yield path, f"is {_said(value)}, not a map"
                return
            for name, entry in value.items():
                yield from misfits(entry, item, f"{path}.{name}")
        case Fields():
            yield from _misfits_fields(value, shape, path)


def _misfits_plain(value: Any, kind: type, choices: tuple[str, ...], path: str) -> Iterator[Problem]:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        yield path, f"is {_said(value)}, not {NAMES[kind]}"
    elif choices and value not in choices:
        extra = ""
        if value == "host":
            extra = "; steps of the lab's builder share the machine's network anyway, so leave it out"
        yield path, f'is "{value}"; allowed here: {", ".join(choices)}{extra}'


def _misfits_fields(value: Any, shape: Fields, path: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield path, f"is {_said(value)}, not an object"
        return
    given = {name: entry for name, entry in value.items() if entry is not None}
    for name, entry in given.items():
        below = f"{path}.{name}" if path else name
        if name in shape.refused:
            if entry is not False and entry != "":
                yield below, f"the docker-build stand-in does not honour it: {shape.refused[name]}"
        elif name in shape.allowed:
            yield from misfits(entry, shape.allowed[name], below)
        else:
            yield below, f"is no property of docker-build; allowed: {', '.join(sorted(shape.allowed))}"
    for name in shape.required:
        if name not in given:
            yield (f"{path}.{name}" if path else name), "is missing"
    chosen = [name for name in shape.one_of if name in given]
    if shape.one_of and len(chosen) != 1 and not any(name in given for name in shape.refused):
        yield path, f"needs exactly one of {', '.join(shape.one_of)}" + (f", has {', '.join(chosen)}" if chosen else "")


NAMES = {str: "text", bool: "true or false", int: "a whole number"}


def _said(value: Any) -> str:
    """The kind of a value, never the value: it may be a secret."""
    kinds = {str: "text", bool: "a flag", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), type(value).__name__)
