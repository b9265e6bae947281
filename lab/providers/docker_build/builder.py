"""Where the builder is, the `buildctl` command line of a build, and what its errors mean for people."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from lab import processes
from lab.instance import LabError

ERROR_LINES_SHOWN = 40


class BuildError(Exception):
    """A build that failed, in words for people."""


@dataclass(frozen=True, slots=True)
class Build:
    """One build as BuildKit's Dockerfile frontend takes it. Paths are local folders; maps are name → value."""

    endpoint: str
    context: Path
    dockerfile: str  # its text
    dockerfile_path: Path | None = None  # None for an inline one
    named: Mapping[str, str] = field(default_factory=dict)  # a local folder, or a URL such as docker-image://…
    build_args: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    ssh: Sequence[str] = ()  # as buildctl takes them: default, or id=path,path
    add_hosts: Sequence[str] = ()  # host:address
    target: str = ""
    platforms: Sequence[str] = ()
    network: str = "default"  # or none
    outputs: Sequence[Mapping[str, str]] = ()  # of exporter attributes, `type` among them
    cache_from: Sequence[Mapping[str, str]] = ()
    cache_to: Sequence[Mapping[str, str]] = ()
    no_cache: bool = False
    pull: bool = False
    registries: Sequence[Mapping[str, str]] = field(default=(), repr=False)  # address, username, password


def find_endpoint(name: str, docker_config: Path) -> str:
    """The address of the builder `name`, as `docker buildx create --driver remote` would have recorded it.

    Raises BuildError when there is none, or when it is of a driver that only buildx can start.
    """
    folder = docker_config / "buildx" / "instances"
    record = folder / name
    if not record.is_file():
        known = sorted(path.name for path in folder.glob("*")) if folder.is_dir() else []
        raise BuildError(
            f'no builder "{name}" in {folder} ({"there are: " + ", ".join(known) if known else "there is none"}). '
            'In the lab `make up` records one and `eval "$(make -s env)"` sets DOCKER_CONFIG'
        )
    try:
        data = json.loads(record.read_text())
        driver, endpoint = data["Driver"], data["Nodes"][0]["Endpoint"]
    except (ValueError, LookupError, TypeError) as error:
        raise BuildError(f"{record} is not a record of a builder: {error!r}") from error
    if driver != "remote":
        raise BuildError(f'{record}: this stand-in drives builders of driver "remote", not "{driver}"')
    return str(endpoint)


def ask_builder(endpoint: str) -> None:
    """Raise BuildError when nobody listens on a `unix://` endpoint: buildctl would try for a long time."""
    scheme, _, path = endpoint.partition("://")
    if scheme != "unix":
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(5)
        try:
            probe.connect(path)
        except OSError as error:
            raise BuildError(
                f"the builder does not answer at {endpoint} ({error.strerror or error}): "
                "start it (in the lab: make up), then run the same command again"
            ) from error


def run_build(build: Build, buildctl: Path, on_line: Callable[[str], None], cancelled: Callable[[], bool]) -> str:
    """Build, and push where an output says so; return the digest of what was exported, or "".

    Raises BuildError with the last lines of the step that failed, or when it was cancelled.
    """
    ask_builder(build.endpoint)
    with TemporaryDirectory(prefix="docker-build-") as folder:  # readable by us only: it holds secrets
        work = Path(folder)
        _write_inputs(build, work)
        lines: list[str] = []

        def note(line: str) -> None:
            lines.append(line)
            on_line(line)

        try:
            code = processes.stream(
                [str(buildctl), *command_line(build, work)],
                on_line=note,
                cancelled=cancelled,
                env={"DOCKER_CONFIG": str(work / "docker"), "BUILDKIT_HOST": "", "NO_COLOR": "1"},
            )
        except LabError as error:
            raise BuildError(str(error)) from error
        if code is None:
            raise BuildError("the build was cancelled")
        if code != 0:
            raise BuildError(explain(lines, build.endpoint))
        metadata = json.loads((work / "metadata.json").read_text() or "{}")
        return str(metadata.get("containerimage.digest", ""))


def command_line(build: Build, work: Path) -> list[str]:
    """Arguments of buildctl. Secrets, credentials and the Dockerfile are files in `work`; none is an argument."""
    options = {
        "filename": "Dockerfile",
        **{f"build-arg:{name}": value for name, value in build.build_args.items()},
        **{f"label:{name}": value for name, value in build.labels.items()},
    }
    locals_ = {"context": str(build.context), "dockerfile": str(work / "dockerfile")}
    for name, place in build.named.items():
        if Path(place).is_dir():
            locals_[f"named-{name}"] = place
            options[f"context:{name}"] = f"local:named-{name}"
        else:
            options[f"context:{name}"] = place
    if build.target:
        options["target"] = build.target
    if build.platforms:
        options["platform"] = ",".join(build.platforms)
    if build.network != "default":
        options["force-network-mode"] = build.network
    if build.add_hosts:
        options["add-hosts"] = _csv(host.replace(":", "=", 1) for host in build.add_hosts)
    if build.pull:
        options["image-resolve-mode"] = "pull"
    if build.no_cache:
        options["no-cache"] = ""
    flags = [
        *(("--local", f"{name}={place}") for name, place in locals_.items()),
        *(("--opt", f"{name}={value}") for name, value in options.items()),
        *(("--secret", f"id={name},src={work / 'secrets' / str(number)}") for number, name in enumerate(build.secrets)),
        *(("--ssh", forward) for forward in build.ssh),
        *(("--output", _attributes(output)) for output in build.outputs),
        *(("--import-cache", _attributes(cache)) for cache in build.cache_from),
        *(("--export-cache", _attributes(cache)) for cache in build.cache_to),
    ]
    head = ["--addr", build.endpoint, "build", "--progress", "plain", "--frontend", "dockerfile.v0"]
    return [*head, "--metadata-file", str(work / "metadata.json"), *(part for flag in flags for part in flag)]


def explain(lines: Sequence[str], endpoint: str) -> str:
    """One message from buildctl's output: what to do for the faults we know, then the failing step's last lines."""
    text = "\n".join(lines[-ERROR_LINES_SHOWN:])
    # buildctl repeats the failing step below a line of dashes; before that there is only progress.
    start = next((number for number, line in enumerate(lines) if line.startswith("------")), None)
    if start is not None:
        text = "\n".join(lines[start:][-ERROR_LINES_SHOWN:])
    error = next((line for line in reversed(lines) if line.lower().startswith("error")), "")
    if "no space left on device" in "\n".join(lines).lower():
        return (
            f"the disk of the builder at {endpoint} (or of the registry) is full. Free space there, "
            f"or empty the builder's cache: buildctl --addr {endpoint} prune --all\n{text}"
        )
    if "failed to push" in error or ("failed to do request" in error and "connection refused" in error):
        return (
            "the registry does not take the image: start it (in the lab: make up) or correct its address, "
            f"then run the same command again; what was built stays in the builder's cache\n{error}"
        )
    if "failed to resolve source metadata" in error:
        return f"a base image cannot be pulled: name one that this machine reaches, or set `site.substitutes`\n{text}"
    return f"the build failed:\n{text}"


def docker_config_folder() -> Path:
    return Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")


def _write_inputs(build: Build, work: Path) -> None:
    for name in ("dockerfile", "secrets", "docker"):
        (work / name).mkdir()
    (work / "metadata.json").write_text("")
    (work / "dockerfile" / "Dockerfile").write_text(build.dockerfile)
    if build.dockerfile_path is not None:
        beside = build.dockerfile_path.with_name(build.dockerfile_path.name + ".dockerignore")
        if beside.is_file():
            (work / "dockerfile" / "Dockerfile.dockerignore").write_bytes(beside.read_bytes())
    for number, value in enumerate(build.secrets.values()):
        (work / "secrets" / str(number)).write_text(value)
    (work / "docker" / "config.json").write_text(json.dumps(_credentials(build.registries)))


def _credentials(registries: Sequence[Mapping[str, str]]) -> dict[str, object]:
    """The user's own credentials, with those of the resource above them, for buildctl's eyes only."""
    try:
        config = json.loads((docker_config_folder() / "config.json").read_text())
    except (OSError, ValueError):
        config = {}
    auths = dict(config.get("auths", {}))
    for registry in registries:
        pair = f"{registry.get('username', '')}:{registry.get('password', '')}"
        auths[registry["address"]] = {"auth": base64.b64encode(pair.encode()).decode()}
    kept = {key: config[key] for key in ("credsStore", "credHelpers") if key in config}
    return {**kept, "auths": auths}


def _attributes(attributes: Mapping[str, str]) -> str:
    return _csv(f"{name}={value}" for name, value in attributes.items())


def _csv(fields: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()
