"""The docker-build stand-in with a real registry and a real builder: alone, and under the real engine."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from lab import processes
from lab.instance import Instance, LabError
from lab.language_host.launcher import write_launcher as write_language_host
from lab.providers.docker_build.context import context_files
from lab.providers.docker_build.image import TYPE, DockerBuild
from lab.providers.handler import CancelledError, Change, PluginError, Request
from lab.providers.plugin import Engine, write_launcher
from lab.providers.values import UNKNOWN, Secret
from lab.servers import buildkit, registry
from lab.toolchain import Toolchain

pytestmark = pytest.mark.lab

ACCEPT = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
URN = f"urn:pulumi:dev::project::{TYPE}::one"
DOCKERFILE = """\
FROM scratch
ARG WHO=nobody
COPY busybox /bin/busybox
COPY text /text
RUN --mount=type=secret,id=token ["/bin/busybox", "sh", "-c", "echo hello $WHO; /bin/busybox wc -c /run/secrets/token"]
"""


@dataclass
class Lab:
    """A registry and a builder, and a stand-in that uses them as the engine would."""

    instance: Instance
    tools: Toolchain

    def start(self) -> None:
        for server in (registry.server(self.instance, self.tools), buildkit.server(self.instance, self.tools)):
            processes.start(self.instance, server)

    def stop(self, *names: str) -> None:
        for name in names or ("buildkitd", "registry"):
            processes.stop(self.instance, name, within_s=30)

    def manifest(self, reference: str) -> httpx.Response:
        repository, name = reference.removeprefix(f"{self.instance.registry_address}/").split(":", 1)
        return httpx.get(
            f"http://{self.instance.registry_address}/v2/{repository}/manifests/{name}", headers=ACCEPT, timeout=10
        )


class Listener(Engine):
    """The engine's side, keeping what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def info(self, urn: str, message: str) -> None:
        assert urn == URN
        self.said.append(message)


def make_lab(home: Path) -> Lab:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    instance = Instance("docker-build-tests", 0, home, {"registry": port})
    for folder in (instance.run, instance.logs, instance.config, instance.data):
        folder.mkdir(exist_ok=True)
    return Lab(instance, Toolchain())


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    lab = make_lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.stop()


@pytest.fixture
def lab(servers: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Both servers running, whatever the test before did to them."""
    servers.start()
    monkeypatch.setenv("DOCKER_CONFIG", str(buildkit.docker_config(servers.instance)))
    return servers


@pytest.fixture
def context(tmp_path: Path) -> Path:
    folder = tmp_path / "context"
    folder.mkdir()
    shutil.copy(Toolchain().path("busybox"), folder / "busybox")
    (folder / "text").write_text(str(tmp_path))  # another one in every test, so that nothing is in the builder's cache
    (folder / "Dockerfile").write_text(DOCKERFILE)
    return folder


def wanted(lab: Lab, context: Path, **others: Any) -> Request:
    inputs = {
        "builder": {"name": "gpu-commons"},
        "buildOnPreview": False,
        "context": {"location": str(context)},
        "exports": [{"registry": {"ociMediaTypes": True}}],
        "push": False,
        "secrets": Secret({"token": "top-secret"}),
        "tags": [f"{lab.instance.registry_address}/t/{context.parent.name.replace('_', '-').lower()}:1"],
        **others,
    }
    return Request(URN, TYPE, "one", inputs=inputs)


def provider(engine: Engine | None = None) -> DockerBuild:
    return DockerBuild(engine or Engine(), lambda: Toolchain().path("buildctl"))


def made(request: Request) -> Request:
    """Check and create; the request with the state that the engine would have kept."""
    checked = provider().check(request)
    assert checked.failures == []
    created = provider().create(replace(request, inputs=checked.inputs))
    return replace(
        request,
        identifier=created.identifier,
        inputs=checked.inputs,
        old_inputs=checked.inputs,
        state=created.properties,
    )


def changes(before: Request, **inputs: Any) -> dict[str, Change]:
    news = provider().check(replace(before, inputs={**before.inputs, **inputs})).inputs
    return dict(provider().diff(replace(before, inputs=news)).changes)


def test_a_created_image_is_in_the_registry_under_its_digest(lab: Lab, context: Path) -> None:
    image = made(wanted(lab, context))
    tag = image.inputs["tags"][0]
    answer = lab.manifest(tag)
    assert answer.headers["docker-content-digest"] == image.state["digest"]
    assert answer.headers["content-type"] == "application/vnd.oci.image.manifest.v1+json"
    assert image.identifier == image.state["digest"]
    assert image.state["ref"] == f"{tag}@{image.state['digest']}"


def test_secrets_stay_secret_and_reach_no_layer(lab: Lab, context: Path) -> None:
    request = wanted(lab, context, secrets={"token": "top-secret"})  # a program that forgot to mark it
    image = made(request)
    assert image.state["secrets"] == Secret({"token": "top-secret"})
    assert "top-secret" not in repr(image.state)
    manifest = lab.manifest(image.inputs["tags"][0]).json()
    for blob in (manifest["config"], *manifest["layers"]):
        repository = image.inputs["tags"][0].removeprefix(f"{lab.instance.registry_address}/").split(":")[0]
        url = f"http://{lab.instance.registry_address}/v2/{repository}/blobs/{blob['digest']}"
        assert b"top-secret" not in httpx.get(url).content


def test_an_unchanged_image_has_no_difference(lab: Lab, context: Path) -> None:
    image = made(wanted(lab, context))
    os.utime(context / "text", (1, 1))
    assert changes(image) == {}


def test_another_file_text_is_a_difference_and_another_digest(lab: Lab, context: Path) -> None:
    image = made(wanted(lab, context))
    (context / "text").write_text("other")
    assert changes(image) == {"contextHash": Change.UPDATE}
    listener = Listener()
    provider(listener).diff(image)
    assert [line.split(":")[0] for line in listener.said] == ["the files it is built from changed"]
    after = provider().update(image)
    assert after["digest"] != image.state["digest"]
    assert lab.manifest(image.inputs["tags"][0]).headers["docker-content-digest"] == after["digest"]


def test_a_changed_argument_is_named_by_its_path(lab: Lab, context: Path) -> None:
    image = made(wanted(lab, context, buildArgs={"WHO": "world"}))
    assert changes(image, buildArgs={"WHO": "moon"}) == {"buildArgs.WHO": Change.UPDATE}


def test_a_preview_builds_nothing_and_knows_no_digest(lab: Lab, context: Path) -> None:
    request = wanted(lab, context)
    checked = provider().check(request)
    created = provider().create(replace(request, inputs=checked.inputs, is_preview=True))
    assert created.identifier == ""
    assert (created.properties["digest"], created.properties["ref"]) == (UNKNOWN, UNKNOWN)
    assert len(created.properties["contextHash"]) == 64
    assert lab.manifest(request.inputs["tags"][0]).status_code == 404


def test_a_preview_that_may_build_finds_the_broken_step_and_pushes_nothing(lab: Lab, context: Path) -> None:
    request = wanted(lab, context, buildOnPreview=True)
    request = replace(request, inputs=provider().check(request).inputs, is_preview=True)
    provider().create(request)
    assert lab.manifest(request.inputs["tags"][0]).status_code == 404
    (context / "Dockerfile").write_text(DOCKERFILE + 'RUN ["/bin/busybox", "false"]\n')
    with pytest.raises(PluginError, match="did not complete successfully"):
        provider().create(request)


def test_the_failing_step_says_its_last_lines(lab: Lab, context: Path) -> None:
    broken = 'RUN ["/bin/busybox", "sh", "-c", "echo its own words; exit 7"]\n'
    (context / "Dockerfile").write_text(DOCKERFILE + broken)
    with pytest.raises(PluginError) as caught:
        made(wanted(lab, context))
    assert "its own words" in str(caught.value)
    assert "exit code: 7" in str(caught.value)
    assert "top-secret" not in str(caught.value)


def test_refresh_finds_that_the_manifest_is_gone(lab: Lab, context: Path) -> None:
    image = made(wanted(lab, context))
    assert provider().read(image) is not None
    provider().delete(image)
    assert lab.manifest(image.inputs["tags"][0]).status_code == 404
    assert provider().read(image) is None
    provider().delete(image)  # gone already: nothing to do
    again = provider().create(image)
    assert lab.manifest(image.inputs["tags"][0]).headers["docker-content-digest"] == again.identifier


def test_a_builder_that_is_down_is_one_clear_error(lab: Lab, context: Path) -> None:
    lab.stop("buildkitd")
    started = time.monotonic()
    with pytest.raises(PluginError, match=r"the builder does not answer at unix://.*: start it"):
        made(wanted(lab, context))
    assert time.monotonic() - started < 5


def test_a_registry_that_is_down_is_one_clear_error_and_the_next_try_works(lab: Lab, context: Path) -> None:
    lab.stop("registry")
    with pytest.raises(PluginError, match="the registry does not take the image: start it"):
        made(wanted(lab, context))
    lab.start()
    image = made(wanted(lab, context))
    lab.stop("registry")
    for use in (provider().read, provider().delete):
        with pytest.raises(PluginError, match=r"does not answer .*: start it"):
            use(image)


def test_a_cancelled_build_ends_at_once_and_leaves_no_process(lab: Lab, context: Path) -> None:
    (context / "Dockerfile").write_text(DOCKERFILE + 'RUN ["/bin/busybox", "sleep", "60"]\n')
    engine = Engine()
    threading.Timer(2, engine.cancel).start()
    request = wanted(lab, context)
    started = time.monotonic()
    with pytest.raises(CancelledError):
        provider(engine).create(replace(request, inputs=provider().check(request).inputs))
    assert time.monotonic() - started < 15
    assert [child.name() for child in psutil.Process().children(recursive=True) if child.name() == "buildctl"] == []


def test_a_full_disk_in_the_builder_is_one_clear_error(
    tmp_path: Path, context: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "l"
    home.mkdir()
    lab = make_lab(home)
    root = lab.instance.data / "buildkit"
    root.mkdir()
    monkeypatch.setenv("DOCKER_CONFIG", str(buildkit.docker_config(lab.instance)))
    processes.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(root)])
    try:
        lab.start()
        (context / "Dockerfile").write_text(
            DOCKERFILE + 'RUN ["/bin/busybox", "dd", "if=/dev/zero", "of=/big", "bs=1M", "count=64"]\n'
        )
        with pytest.raises(PluginError, match=r"disk of the builder .* is full.* prune --all"):
            made(wanted(lab, context))
    finally:
        lab.stop()
        # Lazily: a step that was just ended may hold its file system for a moment.
        processes.run(["umount", "--recursive", "--lazy", str(root)])


def test_what_is_hashed_is_what_the_builder_is_sent(lab: Lab, context: Path, tmp_path: Path) -> None:
    for name in ("a.md", "d/a.md", "d/e/keep.md", "d/e/x", "logs/1", "logs/2", "é/x y"):
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        (context / name).write_text(name)
    (context / ".dockerignore").write_text("# c\n*.md\nd\n!d/e/keep.*\nlogs/[!1]\n/busybox\n**/x\n!é\n")
    (context / "Dockerfile").write_text("FROM scratch\nCOPY . /\n")
    processes.run(
        [
            str(lab.tools.path("buildctl")),
            *("--addr", f"unix://{buildkit.socket_path(lab.instance)}", "build", "--frontend", "dockerfile.v0"),
            *("--local", f"context={context}", "--local", f"dockerfile={context}"),
            *("--output", f"type=local,dest={tmp_path / 'sent'}"),
        ]
    )
    sent = sorted(str(path.relative_to(tmp_path / "sent")) for path in (tmp_path / "sent").rglob("*") if path.is_file())
    assert sorted(context_files(context)) == sent
    assert "d/e/keep.md" in sent
    assert "logs/1" not in sent


# --- under the engine

PROGRAM = """\
import json, os, pulumi, pulumi_docker_build as docker_build
inputs = json.loads(os.environ["IMAGE"])
image = docker_build.Image("one", **inputs, secrets={"token": pulumi.Output.secret("top-secret")})
pulumi.export("ref", image.ref)
"""


@pytest.fixture
def project(lab: Lab, context: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program with one image, and all that `pulumi` needs in the environment."""
    folder, tools = tmp_path / "project", tmp_path / "bin"
    for path in (folder, tools, tmp_path / "state"):
        path.mkdir()
    (folder / "Pulumi.yaml").write_text(
        json.dumps({"name": "one", "runtime": {"name": "python", "options": {"virtualenv": sys.prefix}}})
    )
    (folder / "__main__.py").write_text(PROGRAM)
    write_launcher(tools / "pulumi-resource-docker-build", Path(sys.executable), "lab.providers.docker_build")
    write_language_host(tools / "pulumi-language-python", Path(sys.executable))
    shutil.copy(lab.tools.path("pulumi-language-python-exec"), tools)
    tag = f"{lab.instance.registry_address}/t/engine-{tmp_path.name.replace('_', '-').lower()}:1"
    image = {
        "builder": {"name": "gpu-commons"},
        "build_on_preview": False,
        "context": {"location": str(context)},
        "exports": [{"registry": {"ociMediaTypes": True}}],
        "push": False,
        "tags": [tag],
    }
    for name, value in {
        "IMAGE": json.dumps(image),
        "PATH": f"{tools}:{lab.tools.path('buildctl').parent}:{os.environ['PATH']}",
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_BACKEND_URL": f"file://{tmp_path}/state",
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }.items():
        monkeypatch.setenv(name, value)
    pulumi(lab, folder, "stack", "init", "dev")
    return folder


def pulumi(lab: Lab, folder: Path, *arguments: str) -> str:
    """Standard output; raises LabError with the last lines when the command fails."""
    command = [str(lab.tools.path("pulumi")), *arguments, "--non-interactive", "--color", "never"]
    return processes.run(command, cwd=folder, timeout_s=120)


def test_the_engine_pushes_sees_no_change_then_a_change_and_takes_the_image_away(
    lab: Lab, project: Path, context: Path
) -> None:
    assert "hello nobody" in pulumi(lab, project, "up", "--yes", "--skip-preview")
    reference = pulumi(lab, project, "stack", "output", "ref").strip()
    tag, digest = reference.split("@")
    assert lab.manifest(tag).headers["docker-content-digest"] == digest
    assert "top-secret" not in pulumi(lab, project, "stack", "export")
    pulumi(lab, project, "preview", "--expect-no-changes")
    pulumi(lab, project, "refresh", "--yes", "--expect-no-changes")

    (context / "text").write_text("other")
    assert "[diff: ~contextHash]" in pulumi(lab, project, "preview")
    pulumi(lab, project, "up", "--yes", "--skip-preview")
    assert pulumi(lab, project, "stack", "output", "ref").strip() != reference

    pulumi(lab, project, "destroy", "--yes")
    assert lab.manifest(tag).status_code == 404


def test_the_engine_shows_a_refused_input_with_its_name(
    lab: Lab, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMAGE", json.dumps({**json.loads(os.environ["IMAGE"]), "load": True}))
    with pytest.raises(LabError, match="docker-build stand-in does not honour it: it needs a Docker engine"):
        pulumi(lab, project, "preview")
