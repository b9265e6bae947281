"""Inputs of an `Image`: defaults, checks across properties, and the build they ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from images.buildkit import Build
from lab.providers.docker_build.context import content_hash
from lab.providers.docker_build.shapes import IMAGE, Problem, misfits
from lab.providers.values import UNKNOWN, has_unknown

# https://github.com/distribution/reference: name[:tag][@digest], shortened to what a push can use.
REFERENCE = re.compile(
    r"(?P<domain>localhost(?::\d+)?|[\w.-]+(?:\.[\w-]+|:\d+)(?::\d+)?|\[[0-9a-fA-F:]+\](?::\d+)?)/"
    r"(?P<path>[a-z0-9]+(?:(?:[._]|__|-+|/)[a-z0-9]+)*)(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
URL = re.compile(r"^(https?|git|ssh|docker-image|oci-layout)://|^git@|^-$")
OFFERED_URL = re.compile(r"^(https?|docker-image|git)://")


def with_defaults(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs as the official plugin's Check gives them back: its defaults filled in, "not set" left out."""
    given = {name: value for name, value in inputs.items() if value is not None}
    given.setdefault("buildOnPreview", True)
    given.setdefault("network", "default")
    context = given.setdefault("context", {"location": "."})
    if isinstance(context, dict) and context.get("location") == "":
        context = given["context"] = {**context, "location": "."}
    dockerfile = given.setdefault("dockerfile", {})
    if isinstance(dockerfile, dict) and isinstance(context, dict):
        location = context.get("location")
        if not dockerfile.get("location") and not dockerfile.get("inline") and isinstance(location, str):
            given["dockerfile"] = {"location": str(Path(location) / "Dockerfile")}
    return given


def problems(inputs: Mapping[str, Any]) -> list[Problem]:
    """All that is wrong with inputs that went through `with_defaults`; files are looked at, nothing is built."""
    found = list(misfits(dict(inputs), IMAGE))
    if found:
        return found  # what follows relies on the shapes
    return [*_context_problems(inputs), *_export_problems(inputs), *_other_problems(inputs)]


def context_hash(inputs: Mapping[str, Any]) -> str:
    """Hash of what BuildKit would be sent. Raises OSError for a file that cannot be read."""
    path = dockerfile_path(inputs)
    return content_hash(
        Path(inputs["context"]["location"]),
        dockerfile_text(inputs),
        {name: Path(place) for name, place in named_contexts(inputs).items() if not URL.match(place)},
        dockerfile_path=path,
    )


def named_contexts(inputs: Mapping[str, Any]) -> dict[str, str]:
    return {name: entry["location"] for name, entry in (inputs["context"].get("named") or {}).items()}


def dockerfile_path(inputs: Mapping[str, Any]) -> Path | None:
    """None for an inline Dockerfile."""
    return None if inputs["dockerfile"].get("inline") else Path(inputs["dockerfile"]["location"])


def dockerfile_text(inputs: Mapping[str, Any]) -> str:
    path = dockerfile_path(inputs)
    return str(inputs["dockerfile"]["inline"]) if path is None else path.read_text()


def build_of(inputs: Mapping[str, Any], *, is_preview: bool = False) -> Build:
    """The build that checked inputs without unknowns ask for. A preview builds, but writes to no registry."""
    return Build(
        context=Path(inputs["context"]["location"]).resolve(),
        dockerfile=dockerfile_text(inputs),
        dockerfile_path=dockerfile_path(inputs),
        named=named_contexts(inputs),
        build_args=inputs.get("buildArgs") or {},
        labels=inputs.get("labels") or {},
        secrets=inputs.get("secrets") or {},
        ssh=[entry["id"] + _ssh_paths(entry) for entry in inputs.get("ssh") or []],
        add_hosts=inputs.get("addHosts") or [],
        target=inputs.get("target") or "",
        platforms=inputs.get("platforms") or [],
        network=inputs["network"],
        outputs=[] if is_preview else outputs(inputs),
        cache_from=[_cache(entry) for entry in inputs.get("cacheFrom") or [] if not entry.get("disabled")],
        cache_to=[]
        if is_preview
        else [_cache(entry) for entry in inputs.get("cacheTo") or [] if not entry.get("disabled")],
        no_cache=bool(inputs.get("noCache")),
        pull=bool(inputs.get("pull")),
        registries=inputs.get("registries") or [],
    )


def exports(inputs: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Kind and options of each export that is not disabled; `push: true` is one more."""
    listed = [
        (kind, entry[kind])
        for entry in inputs.get("exports") or []
        if not entry.get("disabled")
        for kind in ("registry", "image")
        if entry.get(kind) is not None
    ]
    return [*listed, ("registry", {})] if inputs.get("push") else listed


def is_pushed(inputs: Mapping[str, Any]) -> bool:
    return any(options.get("push", kind == "registry") for kind, options in exports(inputs))


def names_of(inputs: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    return list(inputs.get("tags") or options.get("names") or [])


def pushed_names(inputs: Mapping[str, Any]) -> list[str]:
    """References this image is pushed to, in order, each once."""
    names = [
        name
        for kind, options in exports(inputs)
        if options.get("push", kind == "registry")
        for name in names_of(inputs, options)
    ]
    return list(dict.fromkeys(names))


def outputs(inputs: Mapping[str, Any]) -> list[dict[str, str]]:
    """Exporter attributes for buildctl."""
    return [_exporter(inputs, kind, options) for kind, options in exports(inputs)]


def _exporter(inputs: Mapping[str, Any], kind: str, options: Mapping[str, Any]) -> dict[str, str]:
    attributes = {"type": "image", "name": ",".join(names_of(inputs, options))}
    attributes["push"] = _flag(options.get("push", kind == "registry"))
    for name, attribute in EXPORT_FLAGS.items():
        if options.get(name) is not None:
            attributes[attribute] = _flag(options[name])
    if options.get("danglingNamePrefix"):
        attributes["dangling-name-prefix"] = options["danglingNamePrefix"]
    annotations = {f"annotation.{name}": value for name, value in sorted((options.get("annotations") or {}).items())}
    return {**attributes, **_compression(options), **annotations}


EXPORT_FLAGS = {
    "insecure": "registry.insecure",
    "nameCanonical": "name-canonical",
    "ociMediaTypes": "oci-mediatypes",
    "pushByDigest": "push-by-digest",
    "store": "store",
    "unpack": "unpack",
}


def _compression(options: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    if options.get("compression"):
        found["compression"] = options["compression"]
    if options.get("compressionLevel"):
        found["compression-level"] = str(options["compressionLevel"])
    if options.get("forceCompression") is not None:
        found["force-compression"] = _flag(options["forceCompression"])
    return found


def _cache(entry: Mapping[str, Any]) -> dict[str, str]:
    kind = next(kind for kind in ("registry", "local", "inline") if entry.get(kind) is not None)
    options = entry[kind]
    found = {"type": kind, **{name: options[name] for name in ("ref", "src", "dest", "digest") if options.get(name)}}
    if options.get("mode"):
        found["mode"] = options["mode"]
    for name, attribute in CACHE_FLAGS.items():
        if options.get(name) is not None:
            found[attribute] = _flag(options[name])
    return {**found, **_compression(options)}


CACHE_FLAGS = {"ignoreError": "ignore-error", "imageManifest": "image-manifest", "ociMediaTypes": "oci-mediatypes"}


def _ssh_paths(entry: Mapping[str, Any]) -> str:
    return "=" + ",".join(entry["paths"]) if entry.get("paths") else ""


def _flag(value: object) -> str:
    return "true" if value else "false"


def _context_problems(inputs: Mapping[str, Any]) -> Iterator[Problem]:
    context = _known_map(inputs["context"])
    if isinstance(location := context.get("location"), str):
        yield from _folder_problems("context.location", location)
    for name, entry in _known_map(context.get("named")).items():
        place = _known_map(entry).get("location")
        if isinstance(place, str) and not OFFERED_URL.match(place):
            yield from _folder_problems(f"context.named.{name}.location", place)
    dockerfile = _known_map(inputs["dockerfile"])
    if dockerfile.get("inline") and dockerfile.get("location"):
        yield "dockerfile", "has both inline and location; give one"
    elif isinstance(path := dockerfile.get("location"), str) and not Path(path).is_file():
        yield "dockerfile.location", f'"{path}" is no file; write it, or give dockerfile.inline'


def _folder_problems(path: str, location: str) -> Iterator[Problem]:
    if URL.match(location):
        yield path, f'"{location}": the docker-build stand-in does not honour it: it builds from local folders'
    elif not Path(location).is_dir():
        yield path, f'"{location}" is no folder (seen from {Path.cwd()})'


def _export_problems(inputs: Mapping[str, Any]) -> Iterator[Problem]:
    listed = inputs.get("exports")
    for number, entry in enumerate([] if listed is UNKNOWN else listed or []):
        for kind in ("registry", "image"):
            options = _known_map(_known_map(entry).get(kind))
            where = f"exports[{number}].{kind}"
            if options.get("compression") in {"zstd", "estargz"}:
                if not options.get("compressionLevel"):
                    yield f"{where}.compressionLevel", "is missing; without it the official plugin writes gzip instead"
                if not options.get("ociMediaTypes"):
                    yield f"{where}.ociMediaTypes", f"must be true for {options['compression']} layers"
            if (
                _known_map(entry).get(kind) not in (None, UNKNOWN)
                and options.get("push", kind == "registry") is True
                and not has_unknown([inputs.get("tags"), options.get("names")])
                and not names_of(inputs, options)
            ):
                yield "tags", f"is missing: {where} does not say where to push"
    if inputs.get("push") is True and not inputs.get("tags"):
        yield "tags", "is missing: push does not say where to"


def _other_problems(inputs: Mapping[str, Any]) -> Iterator[Problem]:
    if inputs.get("builder") is None:
        yield "builder.name", "is missing: this stand-in has no builder of its own (in the lab it is gpu-commons)"
    for number, tag in enumerate(_known_list(inputs.get("tags"))):
        if not REFERENCE.fullmatch(tag):
            yield f"tags[{number}]", f'"{tag}" is not registry/name[:tag], such as 127.0.0.1:5000/gpu-commons/hub:1'
    for number, host in enumerate(_known_list(inputs.get("addHosts"))):
        if not re.fullmatch(r"[\w.-]+:[0-9a-fA-F.:]+", host):
            yield f"addHosts[{number}]", f'"{host}" is not name:address'


def _known_map(value: Any) -> Mapping[str, Any]:
    return {} if value is None or value is UNKNOWN else value


def _known_list(value: Any) -> Sequence[str]:
    return [] if value is None or value is UNKNOWN else [item for item in value if item is not UNKNOWN]
