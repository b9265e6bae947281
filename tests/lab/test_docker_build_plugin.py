"""The docker-build plugin as the lab brings it, under the engine, with a registry and a builder of its own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from images.build.buildkit import Buildctl
from lab import processes
from lab.build_logs import failed_build
from lab.instance import Instance, LabError
from lab.language_host.launcher import write_launcher as write_language_host
from lab.servers import buildkit, registry
from lab.toolchain import Toolchain

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

ACCEPT = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
PLUGIN = "pulumi-resource-docker-build"
DOCKERFILE = """\
FROM scratch
ARG WHO=nobody
COPY busybox /bin/busybox
COPY text /text
RUN --mount=type=secret,id=token ["/bin/busybox", "sh", "-c", "echo hello $WHO; /bin/busybox wc -c /run/secrets/token"]
"""
PROGRAM = """\
import json, os, pulumi, pulumi_docker_build as docker_build
inputs = json.loads(os.environ["IMAGE"])
image = docker_build.Image("one", **inputs, secrets={"token": "top-secret"})
pulumi.export("digest", image.digest)
pulumi.export("ref", image.ref)
"""


@dataclass
class Lab:
    """A registry and a builder."""

    instance: Instance
    tools: Toolchain

    def start(self) -> None:
        for server in (registry.server(self.instance, self.tools), buildkit.server(self.instance, self.tools)):
            processes.start(self.instance, server)

    def stop(self, *names: str) -> None:
        for name in names or ("buildkitd", "registry"):
            processes.stop(self.instance, name, within_s=30)

    @property
    def builder(self) -> Buildctl:
        return Buildctl(self.tools.path("buildctl"), f"unix://{buildkit.socket_path(self.instance)}")

    def get(self, kind: str, reference: str) -> httpx.Response:
        """A manifest by `repository:tag` or a blob by `repository@digest`, as the registry has it."""
        name = reference.removeprefix(f"{self.instance.registry_address}/")
        repository, _, what = name.partition("@" if kind == "blobs" else ":")
        url = f"http://{self.instance.registry_address}/v2/{repository}/{kind}/{what}"
        return httpx.get(url, headers=ACCEPT, timeout=10)

    def digest(self, reference: str) -> str | None:
        """What a tag stands for; None where there is no such tag."""
        return self.get("manifests", reference).headers.get("docker-content-digest")


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
def lab(servers: Lab) -> Lab:
    """Both servers running, whatever the test before did to them."""
    servers.start()
    return servers


@dataclass
class Project:
    """A program with one image, its build context, and the environment of its engine."""

    folder: Path
    context: Path
    tag: str
    environment: dict[str, str]

    def image(self, **inputs: Any) -> None:
        """Other inputs than those that the fixture gives."""
        self.environment["IMAGE"] = json.dumps({**json.loads(self.environment["IMAGE"]), **inputs})

    def command(self, *arguments: str) -> list[str]:
        return ["pulumi", *arguments, "--non-interactive", "--color", "never"]

    def pulumi(self, *arguments: str) -> str:
        """All that it printed; raises LabError with it when the command fails."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise LabError(done.stdout)
        return done.stdout

    def up(self) -> str:
        return self.pulumi("up", "--yes", "--skip-preview")

    def output(self, name: str) -> str:
        return self.pulumi("stack", "output", name).strip()

    def is_unchanged(self) -> None:
        self.pulumi("preview", "--expect-no-changes")


@pytest.fixture
def project(lab: Lab, tmp_path: Path) -> Project:
    return make_project(lab, tmp_path)


def make_project(lab: Lab, home: Path) -> Project:
    folder, tools, context = (home / name for name in ("project", "bin", "context"))
    for path in (folder, tools, context, home / "state"):
        path.mkdir()
    runtime = {"name": "python", "options": {"virtualenv": sys.prefix}}
    (folder / "Pulumi.yaml").write_text(json.dumps({"name": "one", "runtime": runtime}))
    (folder / "__main__.py").write_text(PROGRAM)
    shutil.copy(lab.tools.path("busybox"), context / "busybox")
    (context / "text").write_text(str(home))  # another one in every test, so that nothing is in the builder's cache
    (context / "Dockerfile").write_text(DOCKERFILE)
    write_language_host(tools / "pulumi-language-python", Path(sys.executable))
    shutil.copy(lab.tools.path("pulumi-language-python-exec"), tools)
    tag = f"{lab.instance.registry_address}/t/{home.name.replace('_', '-').lower()}:1"
    image = {
        "builder": {"name": buildkit.BUILDER},
        "build_on_preview": False,
        "context": {"location": str(context)},
        "exports": [{"registry": {"ociMediaTypes": True}}],
        "push": False,
        "tags": [tag],
    }
    path = [tools, lab.tools.path("pulumi").parent, os.environ["PATH"]]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "GPU_COMMONS_"))},
        "DOCKER_CONFIG": str(buildkit.docker_config(lab.instance)),
        "IMAGE": json.dumps(image),
        "PATH": ":".join(map(str, path)),
        "PULUMI_HOME": str(home / "home"),
        "PULUMI_BACKEND_URL": f"file://{home}/state",
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
    made = Project(folder, context, tag, environment)
    version = lab.tools.pins["docker-build"].version
    made.pulumi("plugin", "install", "resource", "docker-build", version, "--file", str(lab.tools.path(PLUGIN)))
    made.pulumi("stack", "init", "dev")
    return made


def test_a_created_image_is_in_the_registry_under_its_digest_as_a_plain_manifest(lab: Lab, project: Project) -> None:
    assert "hello nobody" in project.up()
    answer = lab.get("manifests", project.tag)
    assert answer.headers["docker-content-digest"] == project.output("digest")
    assert answer.headers["content-type"] == "application/vnd.oci.image.manifest.v1+json"
    assert project.output("ref") == f"{project.tag}@{project.output('digest')}"


def test_a_preview_builds_nothing_and_knows_no_digest(lab: Lab, project: Project) -> None:
    shown = project.pulumi("preview", "--json")
    (image,) = [
        step["newState"] for step in json.loads(shown[shown.index("{") :])["steps"] if step["urn"].endswith("::one")
    ]
    assert "sha256:" not in json.dumps(image)
    assert lab.digest(project.tag) is None


def test_a_failing_step_is_named_and_the_builder_has_its_last_lines(lab: Lab, project: Project) -> None:
    broken = 'RUN ["/bin/busybox", "sh", "-c", "echo its own words; exit 7"]\n'
    (project.context / "Dockerfile").write_text(DOCKERFILE + broken)
    with pytest.raises(LabError, match="exit code: 7") as caught:
        project.up()
    assert "top-secret" not in str(caught.value)
    output = failed_build(lab.builder, project.tag)
    assert output[-2].endswith(" its own words")
    assert "exit code: 7" in output[-1]
    assert "top-secret" not in "\n".join(output)
    assert failed_build(lab.builder, f"{project.tag}0") == []


def test_an_image_that_is_destroyed_and_made_again_has_the_same_digest(lab: Lab, project: Project) -> None:
    project.up()
    before = lab.digest(project.tag)
    project.pulumi("destroy", "--yes", "--skip-preview")
    project.up()
    assert lab.digest(project.tag) == before


def test_a_builder_that_is_down_fails_the_build_and_the_next_try_works(lab: Lab, project: Project) -> None:
    lab.stop("buildkitd")
    with pytest.raises(LabError, match=r"waiting for connection|context deadline exceeded"):
        project.up()
    lab.start()
    project.up()
    assert lab.digest(project.tag) == project.output("digest")


def test_a_refresh_leaves_an_image_that_is_there_as_it_is(project: Project) -> None:
    project.up()
    project.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    project.is_unchanged()
