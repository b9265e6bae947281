"""`gpu-commons image build` as a user calls it, with a real BuildKit and a real registry."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml

from imaging.build.building import content_tag, dockerfiles
from imaging.inspection.layouts import DockerArchive, OciLayout
from imaging.inspection.reading import inspect
from imaging.spec.load import IMAGES, load_family
from imaging.spec.plan import Substitute
from lab import image_pushes, processes
from lab import site as lab_site
from lab.instance import Instance
from lab.machine import debian
from lab.servers import buildkit, registry
from lab.toolchain import Toolchain

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

BASE = "docker.io/library/debian:bookworm-20260824-slim"
PASSWORD = "not-for-your-eyes"  # noqa: S105 - of a registry of the tests
VERIFY = 'import pathlib, sys\nsys.exit(pathlib.Path("/opt/lesson").read_text() != "one\\n")\n'
ACCEPT = {"Accept": "application/vnd.oci.image.manifest.v1+json"}


@dataclass(frozen=True)
class Site:
    """A registry and a builder, a stack file that names them, and how the command is called there."""

    instance: Instance
    base: str
    stack: Path
    environment: dict[str, str]

    @property
    def registry(self) -> str:
        return self.instance.registry_address

    def argv(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "cli", "image", "build", *map(str, arguments), "--stack", str(self.stack)]

    def build(self, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, **more}
        return subprocess.run(self.argv(*arguments), capture_output=True, text=True, env=environment, check=False)

    def manifest(self, repository: str, name: str) -> httpx.Response:
        return httpx.get(f"http://{self.registry}/v2/{repository}/manifests/{name}", headers=ACCEPT, timeout=10)

    def config(self, repository: str, digest: str) -> dict[str, Any]:
        config = self.manifest(repository, digest).json()["config"]["digest"]
        answer = httpx.get(f"http://{self.registry}/v2/{repository}/blobs/{config}", timeout=10)
        return dict(answer.json())


@pytest.fixture(scope="module")
def site(new_instance: Callable[..., Instance]) -> Iterator[Site]:
    tools = Toolchain()
    with tempfile.TemporaryDirectory(prefix="gc-") as home:
        instance = new_instance(Path(home), "registry")
        try:
            processes.start(instance, registry.server(instance, tools))
            processes.start(instance, buildkit.server(instance, tools))
            debian.make_rootfs(tools, lambda _: None)
            repository = f"{instance.registry_address}/lab/debian"
            files = {debian.ROOTFS: debian.rootfs()}
            base = f"{repository}@{image_pushes.push(instance, tools, f'{repository}:1', debian.DOCKERFILE, files)}"
            yield Site(instance, base, stack_file(Path(home), base), environment(instance, tools))
        finally:
            processes.stop(instance, "buildkitd", within_s=30)
            processes.stop(instance, "registry")


def stack_file(home: Path, base: str) -> Path:
    substitute = {"reference": BASE, "with": base, "reason": "docker.io is not asked by tests"}
    where = {"registry": "registry.example.edu/gpu-commons", "allowed_registries": ["registry.example.edu"]}
    settings = {**where, "builder": buildkit.BUILDER, "substitutes": [substitute]}
    path = home / "Pulumi.lessons.yaml"
    path.write_text(yaml.safe_dump({"config": {"gpu-commons:site": settings}}))
    return path


def environment(instance: Instance, tools: Toolchain) -> dict[str, str]:
    """That of a user who has run `make up`: the builder's name, buildctl; facts are kept with the tests."""
    folders = [str(tools.path("buildctl").parent), os.environ["PATH"]]
    own = {
        "PATH": ":".join(folders),
        "DOCKER_CONFIG": str(buildkit.docker_config(instance)),
        "XDG_CACHE_HOME": str(instance.home / "cache"),
        "TMPDIR": str(instance.run),
    }
    return {**{name: value for name, value in os.environ.items() if name != "GPU_COMMONS_SITE"}, **own}


@pytest.fixture
def lesson(tmp_path: Path) -> Path:
    """An image of one file, in a folder with its child `homework`. Its content is another one in every test."""
    marker = {"LESSON_OF": tmp_path.name}
    folder = write_image(tmp_path / "lesson", {"base": outside(), "env": marker, "command": ["sleep", "1"]}, "one\n")
    write_image(tmp_path / "homework", {"base": {"image": "lesson"}}, "one\n", target="/opt/homework")
    return folder


def outside() -> dict[str, str]:
    return {"reference": BASE, "digest_note": "tests replace it by digest", "layout": "debian"}


def write_image(folder: Path, more: dict[str, Any], content: str, target: str = "/opt/lesson") -> Path:
    folder.mkdir()
    spec = {
        "name": folder.name,
        "title": "A lesson",
        "description": "For tests",
        "version": "1",
        "released": "2026-11-21",
        "user": {"name": "pupil", "uid": 1000, "gid": 100, "home": "/home/pupil"},
        "files": [{"source": "content", "target": target}],
        **more,
    }
    (folder / "image.yaml").write_text(yaml.safe_dump(spec))
    (folder / "content").write_text(content)
    (folder / "verify.py").write_text(VERIFY)
    (folder / ".dockerignore").write_text("*\n!content\n!verify.py\n")
    return folder


def repository(folder: Path) -> str:
    return f"t/{folder.parent.name.replace('_', '-').lower().strip('-')}"


@pytest.mark.timeout(1800)
def test_a_driver_container_is_built_and_checked_without_a_gpu_and_says_what_its_steps_fill(
    site: Site, tmp_path: Path
) -> None:
    done = site.build("driver-builder", "--oci-layout", tmp_path / "layout", "--json")
    assert done.returncode == 0, done.stderr
    built = json.loads(done.stdout)
    assert built["is_checked"]
    megabytes = {each["what"]: each["bytes"] / 1e6 for each in built["thrown_away"]}
    assert set(megabytes) == {"source", "base with compiler and headers", "source with objects"}
    assert megabytes["source with objects"] > megabytes["source"] > 50
    modules = next(layer for layer in built["layers"] if "/opt/driver/lib/modules" in layer["made_by"])
    assert modules["unpacked_bytes"] / 1e6 < megabytes["source with objects"]
    assert built["findings"] == []
    assert "as its spec says; its modules are for the kernel of its key, and it has no compiler" in done.stderr


@pytest.mark.timeout(900)
def test_a_source_of_another_driver_than_the_spec_says_is_not_built(site: Site, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(IMAGES / "driver-builder", tmp_path / "driver-builder"))
    text = (folder / "image.yaml").read_text()
    (folder / "image.yaml").write_text(text.replace('driver: "535.309.01"', 'driver: "535.104.05"'))
    done = site.build(folder)
    assert done.returncode == 1
    assert re.search(r"nvidia-kernel-source is 535\.\S+, the spec says 535\.104\.05", done.stderr)


def test_without_a_destination_it_is_built_and_checked_and_nothing_leaves_the_builder(site: Site, lesson: Path) -> None:
    done = site.build(lesson)
    assert done.returncode == 0, done.stderr
    assert "lesson 1: built, checked" in done.stdout
    assert "nothing was exported" in done.stdout
    assert "lesson: building it and running its check" in done.stderr
    assert "[verify 1/1] RUN" in done.stderr  # progress, a line each where there is no terminal


def test_a_pushed_image_has_the_tag_of_its_content_and_the_sizes_of_the_registry(site: Site, lesson: Path) -> None:
    done = site.build(lesson, "--push", f"{site.registry}/{repository(lesson)}", "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    family = load_family("lesson", images=lesson.parent)
    texts = dockerfiles(family, substitutes=[Substitute(BASE, site.base, "docker.io is not asked by tests")])
    tag = content_tag(family, lesson.parent, texts)
    answer = site.manifest(repository(lesson), tag)
    assert answer.headers["docker-content-digest"] == printed["digest"]
    assert printed["place"] == f"{site.registry}/{repository(lesson)}:{tag}@{printed['digest']}"
    layers = answer.json()["layers"]
    assert printed["compressed_bytes"] == sum(layer["size"] for layer in layers)
    assert {layer["digest"] for layer in printed["layers"]} == {layer["digest"] for layer in layers}
    assert printed["unpacked_bytes"] > printed["compressed_bytes"] > 10**7
    assert printed["is_checked"] is True
    assert printed["substitutes"][0]["with"] == site.base


def test_what_has_not_changed_has_the_same_digest(site: Site, lesson: Path) -> None:
    first, second = (
        json.loads(site.build(lesson, "--push", f"{site.registry}/{repository(lesson)}", "--json").stdout)
        for _ in range(2)
    )
    assert first["digest"] == second["digest"]


def test_parents_of_ours_are_built_first_and_named_by_digest(site: Site, lesson: Path, tmp_path: Path) -> None:
    child, place = lesson.parent / "homework", f"{site.registry}/{repository(lesson)}"
    done = site.build(child, "--push", f"{place}-child:1", "--json")
    assert done.returncode == 0, done.stderr
    parent = json.loads(site.build(lesson, "--push", f"{place}:1", "--json").stdout)
    printed = json.loads(done.stdout)
    config = site.config(f"{repository(lesson)}-child", printed["digest"])
    assert config["config"]["Labels"]["org.opencontainers.image.base.name"] == f"{place}-child@{parent['digest']}"
    assert {layer["digest"] for layer in parent["layers"]} < {layer["digest"] for layer in printed["layers"]}
    given = json.loads(site.build(child, "--push", f"{place}-given:1", "--base", f"{place}:1", "--json").stdout)
    assert given["layers"][0] == printed["layers"][0]  # the biggest: what both stand on
    layout = tmp_path / "layout"
    assert site.build(child, "--oci-layout", str(layout)).returncode == 0  # and without a registry for the parent
    assert (layout / "blobs" / "sha256" / parent["layers"][-1]["digest"].partition(":")[2]).is_file()


def test_a_layout_and_an_archive_are_images_that_inspect_reads(site: Site, lesson: Path, tmp_path: Path) -> None:
    layout, archive = tmp_path / "new" / "layout", tmp_path / "image.tar"
    printed = json.loads(site.build(lesson, "--oci-layout", layout, "--json").stdout)
    assert inspect(OciLayout(layout)).contents.digest == printed["digest"]
    assert site.build(lesson, "--docker-archive", archive).returncode == 0
    kinds = {layer.compression for layer in inspect(DockerArchive(archive)).contents.layers}
    assert kinds == {"gzip"}
    again = site.build(lesson, "--oci-layout", layout)
    assert again.returncode == 2
    assert "is not empty; name a new folder" in again.stderr
    assert inspect(OciLayout(layout)).contents.digest == printed["digest"]


@pytest.mark.parametrize("compression", ["zstd", "gzip"])
def test_the_requested_compression_is_used_for_all_layers(site: Site, lesson: Path, compression: str) -> None:
    assert site.build(lesson, "--push", f"{site.registry}/{repository(lesson)}:first").returncode == 0
    place = f"{site.registry}/{repository(lesson)}:second"
    assert site.build(lesson, "--push", place, "--compression", compression).returncode == 0
    kinds = {layer["mediaType"] for layer in site.manifest(repository(lesson), "second").json()["layers"]}
    assert kinds == {f"application/vnd.oci.image.layer.v1.tar+{compression}"}


def test_an_image_that_its_check_refuses_is_not_pushed_unless_the_check_is_left_out(site: Site, lesson: Path) -> None:
    (lesson / "content").write_text("two\n")
    done = site.build(lesson, "--push", f"{site.registry}/{repository(lesson)}:1")
    assert done.returncode == 1
    assert "the image fails its own check (verify.py in its folder), so it was not exported" in done.stderr
    assert "Traceback" not in done.stderr
    assert site.manifest(repository(lesson), "1").status_code == 404
    done = site.build(lesson, "--push", f"{site.registry}/{repository(lesson)}:1", "--no-verify")
    assert done.returncode == 0, done.stderr
    assert "lesson 1: built, not checked" in done.stdout


def test_a_failing_step_is_reported_with_its_last_lines(site: Site, tmp_path: Path) -> None:
    taken = {"name": "daemon", "uid": 1000, "gid": 100, "home": "/home/daemon"}  # Debian has a user of that name
    folder = write_image(tmp_path / "broken", {"base": outside(), "command": ["true"], "user": taken}, "one\n")
    done = site.build(folder)
    assert done.returncode == 1
    assert "Error: the build failed:" in done.stderr
    assert "useradd: user 'daemon' already exists" in done.stderr.split("Error: the build failed:")[1]
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_without_a_builder_there_is_one_clear_error(site: Site, lesson: Path) -> None:
    done = site.build(lesson, "--builder", "nobody")
    assert done.returncode == 2
    assert "nobody" in done.stderr
    assert "Traceback" not in done.stderr
    done = site.build(lesson, PATH="/nowhere")
    assert done.returncode == 2
    assert "there is neither docker buildx nor buildctl on PATH" in done.stderr


class Refusing(BaseHTTPRequestHandler):
    """A registry that knows nobody."""

    protocol_version = "HTTP/1.1"

    def refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="tests"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_POST = do_PUT = refuse  # noqa: N815 - the names are http.server's

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def refusing() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_registry_that_refuses_says_log_in_and_nobody_sees_the_password(
    site: Site, lesson: Path, refusing: str, tmp_path: Path
) -> None:
    config = tmp_path / "docker"
    config.mkdir()
    (config / "buildx").symlink_to(Path(site.environment["DOCKER_CONFIG"]) / "buildx")
    login = {"auths": {refusing: {"username": "teacher", "password": PASSWORD}}}
    (config / "config.json").write_text(json.dumps(login))
    done = site.build(lesson, "--push", f"{refusing}/t/lesson:1", DOCKER_CONFIG=str(config))
    assert done.returncode == 1
    assert "the registry refuses the image: log in with docker login" in done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_build_ends_at_once_and_leaves_nothing(
    site: Site, lesson: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    (lesson / "verify.py").write_text("import time\ntime.sleep(600)\n")
    layout = tmp_path / "layout"
    with running(site, lesson, "--oci-layout", str(layout)) as (process, lines):
        wait_for(lambda: any("[verify" in line and "RUN" in line for line in lines))
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
        process.send_signal(number)
        assert process.wait(20) == code
    assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["homework", "lesson"]
    assert not list(site.instance.run.glob("*image-build*")) + list(site.instance.run.glob("docker-build-*"))
    assert "Traceback" not in "".join(lines)


def test_an_interrupted_push_leaves_no_image_and_the_next_one_goes_through(site: Site, lesson: Path) -> None:
    (lesson / "content").write_text("one\n")
    with (lesson / "big").open("wb") as big:
        for _ in range(40):
            big.write(os.urandom(10**7))  # nothing packs it, so that its push takes a while
    spec = yaml.safe_load((lesson / "image.yaml").read_text())
    spec["files"].append({"source": "big", "target": "/opt/big"})
    (lesson / "image.yaml").write_text(yaml.safe_dump(spec))
    (lesson / ".dockerignore").write_text("*\n!big\n!content\n!verify.py\n")
    place = f"{site.registry}/{repository(lesson)}:1"
    with running(site, lesson, "--push", place) as (process, lines):
        wait_for(lambda: any("pushing layers" in line for line in lines))
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert not any("pushing manifest" in line for line in lines)
    assert site.manifest(repository(lesson), "1").status_code == 404
    assert site.build(lesson, "--push", place).returncode == 0
    assert site.manifest(repository(lesson), "1").status_code == 200


class running:  # noqa: N801 - reads as a word in a with
    """The command while it runs, with the lines that it writes to stderr; ended at the end."""

    def __init__(self, site: Site, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            site.argv(*arguments),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=site.environment,
            # A shell that runs tests in the background has SIGINT ignored, and children would inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
        )
        self.lines: list[str] = []
        self.thread = threading.Thread(target=self.read)

    def read(self) -> None:
        assert self.process.stderr
        self.lines.extend(iter(self.process.stderr.readline, ""))

    def __enter__(self) -> tuple[subprocess.Popen[str], list[str]]:
        self.thread.start()
        return self.process, self.lines

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.thread.join()
        assert self.process.stderr
        self.process.stderr.close()


def wait_for(condition: Callable[[], bool], within_s: float = 120) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "options", [[], ["--cuda", "12.6"], ["--kind", "batch", "--package", "six==1.17.0"]], ids=["plain", "cuda", "batch"]
)
def test_a_new_image_locks_plans_builds_and_passes_its_check_as_it_was_written(
    site: Site, tmp_path: Path, options: list[str]
) -> None:
    folder = tmp_path / "images" / "new-course"
    command = [sys.executable, "-m", "cli", "image"]
    for arguments in (["new", str(folder), *options], ["plan", str(folder), "--stack", "dsmlp-next"]):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    settings = yaml.safe_load(site.stack.read_text())
    if bundle := lab_site.ca_bundle(os.environ):  # unlike the others of this file it installs from PyPI
        settings["config"]["gpu-commons:site"]["ca_bundle"] = str(bundle)
    stack = tmp_path / "Pulumi.new.yaml"
    stack.write_text(yaml.safe_dump(settings))
    built = replace(site, stack=stack).build(folder, "--json")
    assert built.returncode == 0, built.stderr[-4000:]
    assert json.loads(built.stdout)["image"] == "new-course"
