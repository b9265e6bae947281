"""BuildKit clients: the program that drives the builder, its command line, and the meaning of its errors.

There are two: `docker buildx`, which knows builders by name, and `buildctl`, which comes with BuildKit and needs a
builder's address. Both take the same build.
"""

import contextlib
import csv
import io
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final

from imaging.build.faults import BuildError, NoBuilderError, explain


def stream(
    argv: Sequence[str],
    *,
    on_line: Callable[[str], None],
    cancelled: Callable[[], bool],
    env: Mapping[str, str] | None = None,
    stop_within_s: float = 10,
) -> int | None:
    """Run a command, pass on each line of its output (both streams) as it comes, and return the exit code.

    `cancelled` is called a few times a second; once it returns true, the command and its children are stopped and the
    result is None. If `on_line` or a signal raises, nothing is left running either. `env` is added to our
    environment. Raises FileNotFoundError if the program is not installed.
    """
    child = subprocess.Popen(
        list(argv),
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C reaches it only once: through us, as a cancellation
    )
    try:
        with child.stdout or contextlib.nullcontext() as output:
            for line in _lines(output, cancelled):
                on_line(line)
        return None if cancelled() else child.wait()
    finally:
        if child.poll() is None:
            _end_session(child, stop_within_s)


def _lines(output: IO[bytes] | None, cancelled: Callable[[], bool]) -> Iterator[str]:
    """Lines as they come, until the end of the output or until `cancelled` says yes."""
    if output is None:
        return
    rest = b""
    while not cancelled():
        if not select.select([output], [], [], 0.2)[0]:
            continue
        chunk = os.read(output.fileno(), 65536)
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode(errors="replace").rstrip("\r") for line in lines)
        if not chunk:
            if rest:
                yield rest.decode(errors="replace")
            return


def _end_session(child: subprocess.Popen[bytes], within_s: float) -> None:
    """End a child that has its own session, and everything in that session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(within_s)
            return


OCI_LAYOUT: Final = "oci-layout://"
DEFAULT_ENDPOINT: Final = "unix:///run/buildkit/buildkitd.sock"


@dataclass(frozen=True, slots=True)
class Build:
    """One build as BuildKit's Dockerfile frontend takes it. Paths are local folders; maps are name → value."""

    context: Path
    dockerfile: str  # its text
    named: Mapping[str, str] = field(default_factory=dict)
    """A local folder, or a URL such as docker-image://…; `oci-layout://FOLDER@DIGEST` is an image in a local folder."""
    build_args: Mapping[str, str] = field(default_factory=dict)
    target: str = ""
    platforms: Sequence[str] = ()
    outputs: Sequence[Mapping[str, str]] = ()  # exporter attributes, including `type`
    cache_from: Sequence[Mapping[str, str]] = ()
    cache_to: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Buildctl:
    """BuildKit's own client and a builder's address."""

    program: Path
    endpoint: str

    @property
    def builder(self) -> str:
        """How messages call the builder."""
        return f"the builder at {self.endpoint}"

    @property
    def prune(self) -> str:
        """The command that empties its cache."""
        return f"buildctl --addr {self.endpoint} prune --all"

    def command(self, build: Build, work: Path) -> list[str]:
        """Arguments for a build whose files are in `work`."""
        return [str(self.program), "--addr", self.endpoint, *command_line(build, work)]

    @staticmethod
    def environment() -> dict[str, str]:
        """Credentials are the user's."""
        return {"BUILDKIT_HOST": "", "NO_COLOR": "1"}


@dataclass(frozen=True, slots=True)
class Buildx:
    """Docker's client, as plugin (`docker buildx`) or program, and a builder's name: empty for the current one."""

    program: tuple[str, ...]
    name: str = ""

    @property
    def builder(self) -> str:
        """How messages call the builder."""
        return f'the builder "{self.name}"' if self.name else "the current builder"

    @property
    def prune(self) -> str:
        """The command that empties its cache."""
        return " ".join(["docker buildx prune --all", *(["--builder", self.name] if self.name else [])])

    def command(self, build: Build, work: Path) -> list[str]:
        """Arguments for a build whose files are in `work`."""
        return [*self.program, "build", *(["--builder", self.name] if self.name else []), *buildx_line(build, work)]

    @staticmethod
    def environment() -> dict[str, str]:
        """Credentials and builders are the user's. An attestation would wrap each image in an index."""
        return {"BUILDX_NO_DEFAULT_ATTESTATIONS": "1", "NO_COLOR": "1"}


Client = Buildctl | Buildx


def find_client(name: str, environment: Mapping[str, str] = os.environ) -> Client:
    """`docker buildx` if available, else buildctl with the address of the builder `name`.

    Without a name: the current builder of buildx; for buildctl the one in BUILDKIT_HOST, else BuildKit's own
    default. Raises NoBuilderError.
    """
    path = environment.get("PATH")
    for program in (("docker", "buildx"), ("buildx",)):
        if (found := shutil.which(program[0], path=path)) and _output([found, *program[1:], "version"]) is not None:
            client = Buildx((found, *program[1:]), name)
            _ask_buildx(client)
            return client
    buildctl = shutil.which("buildctl", path=path)
    if buildctl is None:
        raise NoBuilderError(
            "there is neither docker buildx nor buildctl on PATH: install one of them "
            '(in the lab `make up` brings buildctl, and eval "$(make -s env)" puts it on PATH)'
        )
    endpoint = environment.get("BUILDKIT_HOST") or DEFAULT_ENDPOINT
    if name:
        endpoint = find_endpoint(name, docker_config_folder(environment))
    try:
        ask_builder(endpoint)
    except NoBuilderError as error:
        if endpoint != DEFAULT_ENDPOINT:
            raise
        # The user did not choose that address, so starting a builder there rarely helps.
        raise NoBuilderError(
            f"no builder was named, and none answers at {endpoint}: name one with --builder or in BUILDKIT_HOST "
            "(a stack names its own: --stack dsmlp-fall in the lab)"
        ) from error
    return Buildctl(Path(buildctl), endpoint)


def _ask_buildx(client: Buildx) -> None:
    output = _output([*client.program, "inspect", *([client.name] if client.name else [])])
    if output is None:
        raise NoBuilderError(
            f"docker buildx does not know {client.builder}, or it does not answer: docker buildx ls lists builders, "
            "and docker buildx create --name gpu-commons --driver docker-container makes one"
        )
    if re.search(r"^Driver:\s+docker$", output, re.MULTILINE):
        # Docker's own builder has neither zstd nor OCI layouts.
        raise NoBuilderError(
            f"{client.builder} is the Docker engine itself, which cannot export what is asked for: make one with "
            "docker buildx create --name gpu-commons --driver docker-container, and give --builder gpu-commons"
        )


def _output(argv: Sequence[str]) -> str | None:
    """Output of a command; None if it fails."""
    try:
        done = subprocess.run(list(argv), capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def find_endpoint(name: str, docker_config: Path) -> str:
    """The address of the builder `name`, as `docker buildx create --driver remote` would have recorded it.

    Raises NoBuilderError if there is none, or if only buildx can start its driver.
    """
    folder = docker_config / "buildx" / "instances"
    record = folder / name
    if not record.is_file():
        known = sorted(path.name for path in folder.glob("*")) if folder.is_dir() else []
        raise NoBuilderError(
            f'no builder "{name}" in {folder} ({"there are: " + ", ".join(known) if known else "there is none"}). '
            'In the lab `make up` records one and `eval "$(make -s env)"` sets DOCKER_CONFIG'
        )
    try:
        data = json.loads(record.read_text())
        driver, endpoint = data["Driver"], data["Nodes"][0]["Endpoint"]
    except (ValueError, LookupError, TypeError) as error:
        raise NoBuilderError(f"{record} is not a record of a builder: {error!r}") from error
    if driver != "remote":
        raise NoBuilderError(
            f'{record}: buildctl drives builders of driver "remote", not "{driver}": install docker buildx'
        )
    return str(endpoint)


def ask_builder(endpoint: str) -> None:
    """Raise NoBuilderError if nothing listens on a `unix://` endpoint: buildctl would retry for long."""
    scheme, _, path = endpoint.partition("://")
    if scheme != "unix":
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(5)
        try:
            probe.connect(path)
        except OSError as error:
            raise NoBuilderError(
                f"the builder does not answer at {endpoint} ({error.strerror or error}): "
                "start it (in the lab: make up), then run the same command again"
            ) from error


def run_build(build: Build, client: Client, on_line: Callable[[str], None], cancelled: Callable[[], bool]) -> str:
    """Build, and push if an output requires it; return the digest of the export, or "".

    Raises BuildError with the last lines of the failed step, or if cancelled.
    """
    if isinstance(client, Buildctl):
        ask_builder(client.endpoint)
    with TemporaryDirectory(prefix="docker-build-") as folder:
        work = Path(folder)
        _write_inputs(build, work)
        lines: list[str] = []

        def note(line: str) -> None:
            lines.append(line)
            on_line(line)

        argv = client.command(build, work)
        try:
            code = stream(argv, on_line=note, cancelled=cancelled, env=client.environment())
        except FileNotFoundError as error:
            raise NoBuilderError(f"{argv[0]} is not installed") from error
        if code is None:
            raise BuildError("the build was cancelled")
        if code != 0:
            raise BuildError(explain(lines, client))
        metadata = json.loads((work / "metadata.json").read_text() or "{}")
        return str(metadata.get("containerimage.digest", ""))


def command_line(build: Build, work: Path) -> list[str]:
    """Arguments of buildctl after the builder's address. The Dockerfile is a file in `work`."""
    options = {
        "filename": "Dockerfile",
        **{f"build-arg:{name}": value for name, value in build.build_args.items()},
    }
    locals_ = {"context": str(build.context), "dockerfile": str(work / "dockerfile")}
    layouts = {}
    for number, (name, place) in enumerate(build.named.items()):
        if place.startswith(OCI_LAYOUT):
            folder, _, digest = place.removeprefix(OCI_LAYOUT).rpartition("@")
            layouts[f"layout-{number}"] = folder
            options[f"context:{name}"] = f"{OCI_LAYOUT}layout-{number}@{digest}"
        elif Path(place).is_dir():
            locals_[f"named-{name}"] = place
            options[f"context:{name}"] = f"local:named-{name}"
        else:
            options[f"context:{name}"] = place
    if build.target:
        options["target"] = build.target
    if build.platforms:
        options["platform"] = ",".join(build.platforms)
    flags = [
        *(("--local", f"{name}={place}") for name, place in locals_.items()),
        *(("--oci-layout", f"{name}={folder}") for name, folder in layouts.items()),
        *(("--opt", f"{name}={value}") for name, value in options.items()),
        *(("--output", _attributes(output)) for output in build.outputs),
        *(("--import-cache", _attributes(cache)) for cache in build.cache_from),
        *(("--export-cache", _attributes(cache)) for cache in build.cache_to),
    ]
    head = ["build", "--progress", "plain", "--frontend", "dockerfile.v0"]
    return [*head, "--metadata-file", str(work / "metadata.json"), *(part for flag in flags for part in flag)]


def buildx_line(build: Build, work: Path) -> list[str]:
    """Arguments of `buildx build` for the needs of our images. Credentials are those of `docker login`."""
    flags = [
        ("--file", str(work / "dockerfile" / "Dockerfile")),
        *(("--build-context", f"{name}={place}") for name, place in build.named.items()),
        *(("--build-arg", f"{name}={value}") for name, value in build.build_args.items()),
        *([("--target", build.target)] if build.target else []),
        *([("--platform", ",".join(build.platforms))] if build.platforms else []),
        *(("--output", _attributes(output)) for output in build.outputs or [{"type": "cacheonly"}]),
        *(("--cache-from", _attributes(cache)) for cache in build.cache_from),
        *(("--cache-to", _attributes(cache)) for cache in build.cache_to),
        ("--metadata-file", str(work / "metadata.json")),
    ]
    return ["--progress", "plain", *(part for flag in flags for part in flag), str(build.context)]


def docker_config_folder(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get("DOCKER_CONFIG") or Path.home() / ".docker")


def _write_inputs(build: Build, work: Path) -> None:
    (work / "dockerfile").mkdir()
    (work / "metadata.json").write_text("")
    (work / "dockerfile" / "Dockerfile").write_text(build.dockerfile)


def _attributes(attributes: Mapping[str, str]) -> str:
    return _csv(f"{name}={value}" for name, value in attributes.items())


def _csv(fields: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()
