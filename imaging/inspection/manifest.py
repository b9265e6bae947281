"""Reads an image's index, manifest and config: untrusted JSON, validated once and trusted from then on.

Sources: OCI image-spec 1.1 (descriptor, image-index, manifest, config); Docker's "Image Manifest V2, Schema 2".
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from imaging.inspection import limits
from imaging.inspection.faults import InspectError

INDEXES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFESTS: Final = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
SCHEMA_1: Final = "application/vnd.docker.distribution.manifest.v1"
_DIGEST: Final = r"^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$"
_PLATFORM_STEP: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$"
_ATTESTATION: Final = "vnd.docker.reference.type"

Digest = Annotated[str, Field(pattern=_DIGEST)]
Texts = Annotated[dict[str, str], BeforeValidator(lambda value: value or {})]
Words = Annotated[tuple[str, ...], BeforeValidator(lambda value: tuple(value or ()))]


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Platform(_Document):
    """Operating system, processor and its variant: linux/arm64/v8."""

    os: str = "linux"
    architecture: str = ""
    variant: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (self.os, self.architecture, self.variant)))

    def serves(self, wanted: Platform) -> bool:
        """Is this the requested platform? A variant counts only if requested."""
        same = (self.os.lower(), self.architecture.lower()) == (wanted.os, wanted.architecture)
        return same and wanted.variant in {"", self.variant}

    @classmethod
    def parse(cls, text: str) -> Platform:
        """Read `linux/amd64` or `linux/arm64/v8`; raises ValueError otherwise."""
        steps = text.strip().lower().split("/")
        if len(steps) not in {2, 3} or not all(re.fullmatch(_PLATFORM_STEP, step) for step in steps):
            raise ValueError("is not a platform such as linux/amd64 or linux/arm64")
        return cls(os=steps[0], architecture=steps[1], variant=steps[2] if len(steps) == 3 else "")


class Descriptor(_Document):
    """A pointer to content, with its expected digest and size."""

    media_type: str = ""
    digest: Digest
    size: Annotated[int, Field(ge=0, le=limits.LAYER_BYTES)]
    platform: Platform | None = None
    urls: Words = Field(default=(), strict=False)
    annotations: Texts = Field(default={}, strict=False)

    @property
    def is_foreign(self) -> bool:
        """A layer that registries may not redistribute."""
        return bool(self.urls) or "foreign" in self.media_type or "nondistributable" in self.media_type


class Index(_Document):
    """One image for several platforms."""

    manifests: Annotated[tuple[Descriptor, ...], Field(max_length=limits.INDEX_ENTRIES, strict=False)]

    @property
    def images(self) -> tuple[Descriptor, ...]:
        """Without BuildKit's attestations, whose platform is unknown/unknown."""
        return tuple(
            each
            for each in self.manifests
            if _ATTESTATION not in each.annotations and not (each.platform and each.platform.os == "unknown")
        )


class Manifest(_Document):
    """One image for one platform."""

    config: Descriptor
    layers: Annotated[tuple[Descriptor, ...], Field(max_length=limits.LAYERS, strict=False)]


class _Process(_Document):
    model_config = ConfigDict(alias_generator=lambda name: "".join(step.title() for step in name.split("_")))

    env: Words = Field(default=(), strict=False)
    labels: Texts = Field(default={}, strict=False)
    user: str | None = None
    entrypoint: Words = Field(default=(), strict=False)
    cmd: Words = Field(default=(), strict=False)
    working_dir: str | None = None


class _RootFs(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    diff_ids: Words = Field(default=(), strict=False)


class _Step(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    created_by: str = ""
    empty_layer: bool = False


class Config(BaseModel):
    """Start settings of a container, and the image's history."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    architecture: Annotated[str, Field(pattern=_PLATFORM_STEP)]
    os: Annotated[str, Field(pattern=_PLATFORM_STEP)]
    variant: Annotated[str, Field(pattern=f"{_PLATFORM_STEP}|^$")] = ""
    created: Annotated[datetime | None, Field(strict=False)] = None
    config: Annotated[_Process, BeforeValidator(lambda value: value or {})] = _Process()
    rootfs: _RootFs = _RootFs()
    history: Annotated[tuple[_Step, ...], BeforeValidator(lambda value: tuple(value or ()))] = ()

    @property
    def platform(self) -> Platform:
        return Platform(os=self.os, architecture=self.architecture, variant=self.variant)

    def steps(self) -> tuple[str, ...]:
        """Build step of each layer, in order; empty if the history has none."""
        return tuple(step.created_by for step in self.history if not step.empty_layer)


@dataclass(frozen=True, slots=True)
class Document:
    """JSON as received, with the digest computed here."""

    content: bytes
    digest: str
    media_type: str


Parsed = TypeVar("Parsed", bound=BaseModel)


def document(content: bytes, media_type: str) -> Document:
    """Content with its digest; the content's own media type counts, if it has one."""
    return Document(content, f"sha256:{hashlib.sha256(content).hexdigest()}", media_type.partition(";")[0].strip())


def read_root(where: str, given: Document) -> Index | Manifest:
    """The root of a reference. Raises InspectError unless it is an image; also for schema 1."""
    fields = _fields(where, given.content)
    kind = fields.get("mediaType") or given.media_type
    if fields.get("schemaVersion") == 1 or str(kind).startswith(SCHEMA_1):
        raise InspectError(
            where,
            "is a schema-1 manifest, the form of before 2016, which has neither sizes nor a config",
            "pull it with an old Docker and push it again, or use a newer tag",
        )
    if kind in INDEXES or ("manifests" in fields and kind not in MANIFESTS):
        return _parse(Index, where, "index", given.content)
    if "layers" not in fields or "config" not in fields:
        shown = f'"{str(kind)[:80]}"' if kind else "JSON without a media type"
        raise InspectError(
            where,
            f"is not an image: {shown} with neither layers and config nor manifests",
            "give the reference of an image",
        )
    manifest = _parse(Manifest, where, "manifest", given.content)
    if "config" in fields and "helm" in manifest.config.media_type:
        raise InspectError(where, "is a Helm chart, not an image", "give the reference of an image")
    return manifest


def read_config(where: str, content: bytes) -> Config:
    """Raises InspectError, also for a config without architecture: the platform would be unknown."""
    return _parse(Config, where, "config", content)


def choose(where: str, index: Index, wanted: Platform) -> Descriptor:
    """The image for the platform. Raises InspectError with the available platforms."""
    for each in index.images:
        if each.platform is not None and each.platform.serves(wanted):
            return each
    if len(index.images) == 1 and index.images[0].platform is None:
        return index.images[0]
    there = sorted({str(each.platform) for each in index.images if each.platform})
    raise InspectError(
        where,
        f"has no image for {wanted}; there is {', '.join(there[:8]) or 'none that names its platform'}",
        f"add --platform {there[0]}" if there else "ask its publisher",
    )


def _fields(where: str, content: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise InspectError(
            where,
            f"did not lead to a manifest but to {len(content)} bytes that are not a JSON object",
            "check that the address is a registry's, not a web page's or a proxy's",
        )
    return fields


def _parse(model: type[Parsed], where: str, name: str, content: bytes) -> Parsed:
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        reason = next(_reasons(error))
        raise InspectError(
            where, f"has a {name} that cannot be read: {reason}", "build and push the image again"
        ) from None


def _reasons(error: ValidationError) -> Iterator[str]:
    for each in error.errors(include_url=False, include_input=False, include_context=False):
        path = ".".join(str(step) for step in each["loc"]) or "the whole"
        yield f"{path} is missing" if each["type"] == "missing" else f"{path}: {each['msg'][:200]}"
