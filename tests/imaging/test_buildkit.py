"""Which program drives the builder, its command lines, and what its errors mean; no builder is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from imaging.build import buildkit
from imaging.build.buildkit import Build, Buildctl, Buildx, buildx_line, command_line, find_client, find_endpoint
from imaging.build.faults import BuildError, NoBuilderError, explain

CLIENT = Buildx(("docker", "buildx"), "b")
BUILD = Build(
    context=Path("/images/hub"),
    dockerfile="FROM scratch",
    named={"ca": "/site", "parent@sha256:1": "oci-layout:///tmp/parent@sha256:1"},
    build_args={"A": "x,y"},
    target="verify",
    platforms=("linux/amd64",),
    outputs=({"type": "oci", "dest": "/out, put"},),
    cache_from=({"type": "registry", "ref": "r.example/c"},),
    cache_to=({"type": "registry", "ref": "r.example/c", "mode": "max"},),
)


def programs(folder: Path, **scripts: str) -> dict[str, str]:
    """An environment whose PATH has these programs."""
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


BUILDX = """\
case "$2" in
  version) echo v1 ;;
  inspect) test "$3" != none && printf "Name: b\\nDriver:  %s\\n" "${3:-remote}" ;;
esac"""


class TestWhichProgramBuilds:
    def test_docker_with_buildx_goes_first(self, tmp_path: Path) -> None:
        environment = programs(tmp_path, docker=BUILDX, buildctl="exit 1")
        assert find_client("remote", environment) == Buildx((f"{tmp_path}/docker", "buildx"), "remote")
        assert find_client("", environment) == Buildx((f"{tmp_path}/docker", "buildx"))

    def test_docker_without_buildx_leaves_it_to_buildctl(self, tmp_path: Path) -> None:
        environment = programs(tmp_path, docker="exit 1", buildctl="exit 0") | {"BUILDKIT_HOST": "tcp://b:1234"}
        assert find_client("", environment) == Buildctl(tmp_path / "buildctl", "tcp://b:1234")

    def test_a_builder_that_buildx_does_not_know_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(NoBuilderError, match=r'does not know the builder "none".*docker buildx create'):
            find_client("none", programs(tmp_path, docker=BUILDX))

    def test_the_engines_own_builder_cannot_export_what_we_need(self, tmp_path: Path) -> None:
        with pytest.raises(NoBuilderError, match='the builder "docker" is the Docker engine itself'):
            find_client("docker", programs(tmp_path, docker=BUILDX))

    def test_buildctl_needs_a_builder_that_listens(self, tmp_path: Path) -> None:
        environment = programs(tmp_path, docker="exit 1", buildctl="exit 0") | {"BUILDKIT_HOST": f"unix://{tmp_path}/s"}
        with pytest.raises(NoBuilderError, match=r"does not answer at unix://.*/s \(No such file"):
            find_client("", environment)

    def test_without_any_builder_it_says_how_to_name_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(buildkit, "DEFAULT_ENDPOINT", f"unix://{tmp_path}/s")
        environment = programs(tmp_path, docker="exit 1", buildctl="exit 0")
        with pytest.raises(NoBuilderError, match=r"no builder was named.*--builder or in BUILDKIT_HOST"):
            find_client("", environment)


def test_both_clients_get_the_same_build(tmp_path: Path) -> None:
    assert buildx_line(BUILD, tmp_path) == [
        *("--progress", "plain"),
        *("--file", f"{tmp_path}/dockerfile/Dockerfile"),
        *("--build-context", "ca=/site"),
        *("--build-context", "parent@sha256:1=oci-layout:///tmp/parent@sha256:1"),
        *("--build-arg", "A=x,y"),
        *("--target", "verify"),
        *("--platform", "linux/amd64"),
        *("--output", 'type=oci,"dest=/out, put"'),
        *("--cache-from", "type=registry,ref=r.example/c"),
        *("--cache-to", "type=registry,ref=r.example/c,mode=max"),
        *("--metadata-file", f"{tmp_path}/metadata.json"),
        "/images/hub",
    ]
    arguments = command_line(BUILD, tmp_path)
    assert "layout-1=/tmp/parent" in arguments
    assert "context:parent@sha256:1=oci-layout://layout-1@sha256:1" in arguments
    assert 'type=oci,"dest=/out, put"' in arguments


def test_without_an_output_buildx_keeps_the_result_in_its_cache(tmp_path: Path) -> None:
    arguments = buildx_line(Build(tmp_path, "FROM scratch"), tmp_path)
    assert arguments[arguments.index("--output") + 1] == "type=cacheonly"


def test_what_a_registry_says_is_repeated_without_its_secrets() -> None:
    error = (
        "ERROR: failed to solve: failed to push r.example/a:1: unexpected status from PUT request to "
        "https://teacher:hunter2@r.example/v2/?X-Signature=abcdef: 403 Forbidden, token=abcdefghijkl"
    )
    message = explain([error], CLIENT)
    assert message.startswith("the registry refuses the image: log in with docker login")
    assert "403 Forbidden" in message
    assert not [secret for secret in ("hunter2", "abcdef") if secret in message]


def test_the_builder_is_found_by_the_name_that_buildx_knows(tmp_path: Path) -> None:
    folder = tmp_path / "buildx" / "instances"
    folder.mkdir(parents=True)
    record = {"Name": "b", "Driver": "remote", "Nodes": [{"Name": "b0", "Endpoint": "unix:///b.sock"}]}
    (folder / "b").write_text(json.dumps(record))
    assert find_endpoint("b", tmp_path) == "unix:///b.sock"
    with pytest.raises(BuildError, match=r'no builder "c" in .*buildx/instances \(there are: b\)'):
        find_endpoint("c", tmp_path)
    (folder / "b").write_text(json.dumps({**record, "Driver": "docker-container"}))
    with pytest.raises(BuildError, match='of driver "remote", not "docker-container"'):
        find_endpoint("b", tmp_path)
    (folder / "b").write_text("{}")
    with pytest.raises(BuildError, match="is not a record of a builder"):
        find_endpoint("b", tmp_path)


FAILED = """\
#5 [2/2] RUN false
#5 ERROR: process "/bin/sh -c false" did not complete successfully: exit code: 1
------
 > [2/2] RUN false:
0.1 the step's own words
------
error: failed to solve: process "/bin/sh -c false" did not complete successfully: exit code: 1
""".splitlines()


def test_the_error_of_a_step_shows_its_last_lines_and_no_progress() -> None:
    message = explain(FAILED, CLIENT)
    assert "the step's own words" in message
    assert "#5" not in message


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("error: failed to solve: write /x: no space left on device", "is full. Free space there"),
        (
            'error: failed to solve: failed to push r:1: failed to do request: Head "http://r/": connection refused',
            "the registry does not take the image",
        ),
        (
            "error: failed to solve: r/b:1: failed to resolve source metadata for r/b:1: no such host",
            "a base image cannot be pulled",
        ),
    ],
)
def test_known_faults_say_what_to_do(line: str, expected: str) -> None:
    assert expected in explain(["#1 x", line], CLIENT)
