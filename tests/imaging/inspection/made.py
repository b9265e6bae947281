"""Images made in memory for tests: layers, manifests and configs, and the ways to store them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import struct
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar"
SCHEMA_1 = "application/vnd.docker.distribution.manifest.v1+prettyjws"
CREATED = "2026-08-24T12:00:00Z"

Content = bytes | str | None
"""Of a file; a text that starts with `->` is a symbolic link, None is a directory."""


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def tar(files: Mapping[str, Content]) -> bytes:
    """An archive with these members, in this order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path, content in files.items():
            info = tarfile.TarInfo(path)
            if content is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            elif isinstance(content, str) and content.startswith("->"):
                info.type, info.linkname = tarfile.SYMTYPE, content[2:]
                archive.addfile(info)
            else:
                data = content.encode() if isinstance(content, str) else content
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def packed(content: bytes, form: str) -> bytes:
    """`gzip`, `zstd` or `none`."""
    if form == "gzip":
        return gzip.compress(content, mtime=0)
    return zstandard.ZstdCompressor().compress(content) if form == "zstd" else content


def fatbin(*targets: tuple[str, int], flags: int = 0) -> bytes:
    """One container with an entry for each `("cubin", 80)` or `("ptx", 90)`; flags 0x8000 are those of zstd."""
    entries = b""
    for kind, architecture in targets:
        payload = b"\xaa" * 64
        head = struct.pack(
            "<HHIQ8xHHI8xQ16x", 2 if kind == "cubin" else 1, 0x101, 64, len(payload), 5, 8, architecture, flags
        )
        entries += head + payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def library(*containers: bytes, text: bytes = b"") -> bytes:
    """A shared library as far as anybody looks: an ELF's first bytes, then containers."""
    return b"\x7fELF\x02\x01\x01".ljust(512, b"\0") + text + b"".join(containers) + bytes(64)


@dataclass
class Image:
    """One image for one platform; `layers` are blobs as a registry has them."""

    layers: list[bytes]
    forms: list[str]
    config: dict[str, Any]
    plain: list[bytes]
    blobs: dict[str, bytes] = field(default_factory=dict)
    layer_fields: list[dict[str, Any]] = field(default_factory=list)

    @property
    def config_bytes(self) -> bytes:
        return json.dumps(self.config).encode()

    @property
    def manifest(self) -> bytes:
        layers = []
        for number, (blob, form) in enumerate(zip(self.layers, self.forms, strict=True)):
            kind = OCI_LAYER + ("" if form == "none" else f"+{form}")
            extra = self.layer_fields[number] if self.layer_fields else {}
            layers.append({"mediaType": kind, "digest": digest(blob), "size": len(blob), **extra})
        config = {"mediaType": OCI_CONFIG, "digest": digest(self.config_bytes), "size": len(self.config_bytes)}
        return json.dumps({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": layers}).encode()

    def all_blobs(self) -> dict[str, bytes]:
        return {digest(each): each for each in (*self.layers, self.config_bytes)}


def image(
    *layers: Mapping[str, Content] | bytes,
    form: str = "gzip",
    env: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    **config: Any,
) -> Image:
    """An image of these layers; keys of the config may be changed, and taken out with None."""
    plain = [each if isinstance(each, bytes) else tar(each) for each in layers]
    whole = {
        "architecture": "amd64",
        "os": "linux",
        "created": CREATED,
        "config": {"Env": list(env), "Labels": dict(labels or {}), "User": "1000", "Entrypoint": ["tini", "--"]},
        "rootfs": {"type": "layers", "diff_ids": [digest(each) for each in plain]},
        "history": [{"created_by": f"step {number}"} for number in range(len(plain))],
        **config,
    }
    whole = {key: value for key, value in whole.items() if value is not None}
    return Image([packed(each, form) for each in plain], [form] * len(plain), whole, plain)


def index(images: Mapping[str, Image]) -> bytes:
    """An index with an image for each `linux/amd64`."""
    manifests = []
    for platform, each in images.items():
        system, architecture = platform.split("/")
        manifests.append(
            {
                "mediaType": OCI_MANIFEST,
                "digest": digest(each.manifest),
                "size": len(each.manifest),
                "platform": {"os": system, "architecture": architecture},
            }
        )
    return json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": manifests}).encode()


def write_layout(folder: Path, made: Image, tag: str = "1.0") -> Path:
    """The image in OCI layout."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True, exist_ok=True)
    for name, content in {**made.all_blobs(), digest(made.manifest): made.manifest}.items():
        (blobs / name.removeprefix("sha256:")).write_bytes(content)
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    entry = {
        "mediaType": OCI_MANIFEST,
        "digest": digest(made.manifest),
        "size": len(made.manifest),
        "annotations": {"org.opencontainers.image.ref.name": tag},
    }
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    return folder


def write_archive(path: Path, made: Image, tag: str = "tiny:1.0") -> Path:
    """The image as `docker save` writes it."""
    names = [f"{digest(each)[7:]}/layer.tar" for each in made.plain]
    config = f"{digest(made.config_bytes)[7:]}.json"
    listing = [{"Config": config, "RepoTags": [tag], "Layers": names}]
    members: dict[str, Content] = dict(zip(names, made.plain, strict=True))
    path.write_bytes(tar({**members, config: made.config_bytes, "manifest.json": json.dumps(listing)}))
    return path
