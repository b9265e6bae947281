"""The parts of the docker-build stand-in that need no server: context, checks, differences, command line, errors."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest

from images.buildkit import Build, Buildctl, BuildError, ask_builder, command_line, explain, find_endpoint
from lab.providers.docker_build import inputs as image_inputs
from lab.providers.docker_build.context import content_hash, context_files
from lab.providers.docker_build.differences import changed
from lab.providers.docker_build.manifests import Reference
from lab.providers.handler import Change
from lab.providers.values import UNKNOWN

CLIENT = Buildctl(Path("buildctl"), "unix:///b.sock")


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def image(context: Path, /, **others: Any) -> dict[str, Any]:
    return image_inputs.with_defaults(
        {
            "context": {"location": str(context)},
            "dockerfile": {"inline": "FROM scratch"},
            "builder": {"name": "gpu-commons"},
            "exports": [{"registry": {"ociMediaTypes": True}}],
            "tags": ["127.0.0.1:5000/t/one:1"],
            "push": False,
            **others,
        }
    )


# --- context

TREE = {name: name for name in ("a", "b.md", "d/b.md", "d/keep/x", "d/y", "logs/1", "logs/keep", "src/t.pyc", "t.pyc")}


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([], sorted(TREE)),
        (["*.md"], ["a", "d/b.md", "d/keep/x", "d/y", "logs/1", "logs/keep", "src/t.pyc", "t.pyc"]),
        (["**/*.pyc", "# comment", ""], ["a", "b.md", "d/b.md", "d/keep/x", "d/y", "logs/1", "logs/keep"]),
        (["d", "logs/"], ["a", "b.md", "src/t.pyc", "t.pyc"]),
        (["/d"], ["a", "b.md", "logs/1", "logs/keep", "src/t.pyc", "t.pyc"]),
        (["*", "!logs/keep", "!d/keep"], ["d/keep/x", "logs/keep"]),
        (["*", "!logs", "logs/1"], ["logs/keep"]),
        (["logs/[!1]"], sorted(set(TREE) - {"logs/1"})),
        (["logs/[^1]*"], sorted(set(TREE) - {"logs/keep"})),
        (["!a", "a"], sorted(set(TREE) - {"a"})),
        (["./src/../d", "?"], ["b.md", "logs/1", "logs/keep", "src/t.pyc", "t.pyc"]),
    ],
)
def test_the_ignore_file_is_read_as_docker_reads_it(tmp_path: Path, lines: list[str], left: list[str]) -> None:
    context = write(tmp_path / "context", TREE)
    beside = write(tmp_path / "beside", {"Dockerfile.dockerignore": "\n".join(lines)})
    assert list(context_files(context, beside / "Dockerfile")) == left


def test_the_ignore_file_beside_the_dockerfile_goes_before_that_of_the_context(tmp_path: Path) -> None:
    context = write(tmp_path / "context", {".dockerignore": "a", "a": "", "b": ""})
    assert list(context_files(context)) == [".dockerignore", "b"]
    beside = write(tmp_path / "elsewhere", {"Dockerfile": "", "Dockerfile.dockerignore": "b"})
    assert list(context_files(context, beside / "Dockerfile")) == [".dockerignore", "a"]


def test_the_hash_knows_names_modes_links_and_contents_but_not_times(tmp_path: Path) -> None:
    context = write(tmp_path / "context", {"a": "1", "d/b": "2", ".dockerignore": "out", "out": ""})
    (context / "link").symlink_to("a")

    def now() -> str:
        return content_hash(context, "FROM scratch", {})

    hashes = [now()]
    os.utime(context / "a", (1, 1))
    (context / "out").write_text("ignored")
    assert now() == hashes[0]
    (context / "a").write_text("3")
    hashes.append(now())
    (context / "a").chmod(0o755)
    hashes.append(now())
    (context / "a").rename(context / "c")
    hashes.append(now())
    (context / "link").unlink()
    (context / "link").symlink_to("c")
    hashes.append(now())
    hashes.append(content_hash(context, "FROM scratch AS other", {}))
    named = write(tmp_path / "named", {"x": ""})
    hashes.append(content_hash(context, "FROM scratch", {"more": named}))
    (named / "x").write_text("y")
    hashes.append(content_hash(context, "FROM scratch", {"more": named}))
    assert len(set(hashes)) == len(hashes)


# --- checks


@pytest.mark.parametrize(
    ("given", "path", "said"),
    [
        ({"load": True}, "load", "does not honour it: it needs a Docker engine"),
        ({"exec": True}, "exec", "does not honour it"),
        ({"cacheTo": [{"gha": {}}]}, "cacheTo[0].gha", "does not honour it: this stand-in knows the caches registry"),
        (
            {"exports": [{"local": {"dest": "x"}}]},
            "exports[0].local",
            "knows the exports registry, image and cacheonly",
        ),
        ({"exports": [{"registry": {}, "image": {}}]}, "exports[0]", "exactly one of registry, image, cacheonly"),
        ({"network": "host"}, "network", "share the machine's network anyway, so leave it out"),
        ({"contex": {}}, "contex", "is no property of docker-build"),
        ({"buildArgs": {"A": 1}}, "buildArgs.A", "is a number, not text"),
        ({"secrets": {"token": ["top-secret"]}}, "secrets.token", "is a list, not text"),
        ({"builder": None}, "builder.name", "is missing"),
        ({"tags": ["Not A Tag"]}, "tags[0]", "is not registry/name[:tag], such as"),
        ({"tags": ["hub:1"]}, "tags[0]", "is not registry/name"),
        ({"tags": []}, "tags", "exports[0].registry does not say where to push"),
        ({"context": {"location": "https://example.edu/repo.git"}}, "context.location", "builds from local folders"),
        ({"context": {"location": "/no/such"}}, "context.location", '"/no/such" is no folder'),
        ({"dockerfile": {"location": "/no/Dockerfile"}}, "dockerfile.location", "is no file"),
        ({"addHosts": ["registry"]}, "addHosts[0]", '"registry" is not name:address'),
        (
            {"exports": [{"registry": {"compression": "zstd", "ociMediaTypes": True}}]},
            "exports[0].registry.compressionLevel",
            "writes gzip instead",
        ),
        (
            {"exports": [{"registry": {"compression": "zstd", "compressionLevel": 3}}]},
            "exports[0].registry.ociMediaTypes",
            "must be true",
        ),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(
    tmp_path: Path, given: dict[str, Any], path: str, said: str
) -> None:
    inputs = image(tmp_path, **given)
    found = image_inputs.problems(inputs)
    assert [problem[0] for problem in found] == [path]
    assert said in found[0][1]
    assert "top-secret" not in str(found)


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    inputs = image(tmp_path, load=True, network="host", platforms="linux/amd64")
    assert {path for path, _ in image_inputs.problems(inputs)} == {"network", "platforms", "load"}


def test_what_a_preview_does_not_know_yet_is_no_mistake(tmp_path: Path) -> None:
    inputs = image(
        tmp_path,
        tags=[UNKNOWN],
        buildArgs={"A": UNKNOWN},
        labels=UNKNOWN,
        secrets=UNKNOWN,
        registries=[{"address": UNKNOWN, "password": UNKNOWN}],
        exports=[UNKNOWN, {"registry": UNKNOWN}],
    )
    assert image_inputs.problems(inputs) == []
    assert image_inputs.problems(image(tmp_path, context=UNKNOWN, dockerfile=UNKNOWN)) == []


def test_defaults_are_those_of_the_official_plugin(tmp_path: Path) -> None:
    write(tmp_path, {"Dockerfile": "FROM scratch"})
    inputs = image_inputs.with_defaults({"context": {"location": str(tmp_path)}, "push": False, "target": None})
    assert inputs == {
        "buildOnPreview": True,
        "context": {"location": str(tmp_path)},
        "dockerfile": {"location": f"{tmp_path}/Dockerfile"},
        "network": "default",
        "push": False,
    }


# --- differences


def test_a_change_is_named_by_its_path() -> None:
    before = {"buildArgs": {"A": "1", "org.x/y": "1"}, "tags": ["a"], "exports": [{"registry": {"push": True}}]}
    after = {
        "buildArgs": {"A": "2", "B": "1", "org.x/y": "2"},
        "exports": [{"registry": {"push": False}}],
        "tags": ["a", "b"],
    }
    assert changed(before, after) == {
        "buildArgs.A": Change.UPDATE,
        "buildArgs.B": Change.ADD,
        'buildArgs["org.x/y"]': Change.UPDATE,
        "exports[0].registry.push": Change.UPDATE,
        "tags": Change.UPDATE,
    }


def test_a_new_registry_password_changes_nothing_but_a_new_user_does() -> None:
    before = {"registries": [{"address": "r", "username": "u", "password": "1"}]}
    assert changed(before, {"registries": [{"address": "r", "username": "u", "password": "2"}]}) == {}
    assert changed(before, {"registries": [{"address": "r", "username": "v", "password": "2"}]}) == {
        "registries[0].username": Change.UPDATE
    }


def test_secrets_named_as_ignored_change_nothing_while_they_are_there() -> None:
    before = {"secrets": {"token": "1"}}
    assert changed(before, {"secrets": {"token": "2"}, "ignoreSecretsInDiffCalculation": ["token"]}) == {
        "ignoreSecretsInDiffCalculation": Change.ADD
    }
    assert "secrets.token" in changed(before, {"secrets": {}, "ignoreSecretsInDiffCalculation": ["token"]})


# --- the builder's command line


def pairs(arguments: list[str], flag: str) -> list[str]:
    return [value for name, value in itertools.pairwise(arguments) if name == flag]


def test_every_honoured_input_reaches_the_builder(tmp_path: Path) -> None:
    named = write(tmp_path / "named", {"x": ""})
    inputs = image(
        tmp_path,
        context={
            "location": str(tmp_path),
            "named": {"more": {"location": str(named)}, "base": {"location": "docker-image://r.example/b@sha256:1"}},
        },
        addHosts=["registry:10.0.0.1"],
        buildArgs={"A": "x,y=z"},
        cacheFrom=[{"registry": {"ref": "r.example/c"}}, {"disabled": True, "registry": {"ref": "r.example/d"}}],
        cacheTo=[{"registry": {"ref": "r.example/c", "mode": "max", "imageManifest": True, "ociMediaTypes": True}}],
        exports=[{"registry": {"compression": "zstd", "compressionLevel": 3, "ociMediaTypes": True}}],
        labels={"l": "1"},
        network="none",
        noCache=True,
        platforms=["linux/amd64"],
        pull=True,
        secrets={"token": "top-secret"},
        ssh=[{"id": "default", "paths": ["/key"]}],
        target="last",
    )
    assert image_inputs.problems(inputs) == []
    arguments = command_line(image_inputs.build_of(inputs), tmp_path)
    assert set(pairs(arguments, "--opt")) == {
        "filename=Dockerfile",
        "build-arg:A=x,y=z",
        "label:l=1",
        "context:more=local:named-more",
        "context:base=docker-image://r.example/b@sha256:1",
        "target=last",
        "platform=linux/amd64",
        "force-network-mode=none",
        "add-hosts=registry=10.0.0.1",
        "image-resolve-mode=pull",
        "no-cache=",
    }
    assert pairs(arguments, "--local") == [
        f"context={tmp_path}",
        f"dockerfile={tmp_path}/dockerfile",
        f"named-more={named}",
    ]
    assert pairs(arguments, "--output") == [
        "type=image,name=127.0.0.1:5000/t/one:1,push=true,oci-mediatypes=true,compression=zstd,compression-level=3"
    ]
    assert pairs(arguments, "--import-cache") == ["type=registry,ref=r.example/c"]
    assert pairs(arguments, "--export-cache") == [
        "type=registry,ref=r.example/c,mode=max,image-manifest=true,oci-mediatypes=true"
    ]
    assert pairs(arguments, "--secret") == [f"id=token,src={tmp_path}/secrets/0"]
    assert pairs(arguments, "--ssh") == ["default=/key"]
    assert "top-secret" not in " ".join(arguments)


def test_several_tags_are_one_export(tmp_path: Path) -> None:
    inputs = image(tmp_path, tags=["127.0.0.1:5000/a:1", "127.0.0.1:5000/b:1"])
    arguments = command_line(image_inputs.build_of(inputs), tmp_path)
    assert pairs(arguments, "--output") == [
        'type=image,"name=127.0.0.1:5000/a:1,127.0.0.1:5000/b:1",push=true,oci-mediatypes=true'
    ]


def test_a_preview_build_writes_to_no_registry(tmp_path: Path) -> None:
    inputs = image(tmp_path, cacheTo=[{"registry": {"ref": "r.example/c"}}])
    arguments = command_line(image_inputs.build_of(inputs, is_preview=True), tmp_path)
    assert pairs(arguments, "--output") == pairs(arguments, "--export-cache") == []


# --- where the builder is, and what its errors mean


def test_the_builder_is_found_by_the_name_that_buildx_knows(tmp_path: Path) -> None:
    record = {"Name": "b", "Driver": "remote", "Nodes": [{"Name": "b0", "Endpoint": "unix:///b.sock"}]}
    write(tmp_path, {"buildx/instances/b": json.dumps(record)})
    assert find_endpoint("b", tmp_path) == "unix:///b.sock"
    with pytest.raises(BuildError, match=r'no builder "c" in .*buildx/instances \(there are: b\)'):
        find_endpoint("c", tmp_path)
    write(tmp_path, {"buildx/instances/b": json.dumps({**record, "Driver": "docker-container"})})
    with pytest.raises(BuildError, match='of driver "remote", not "docker-container"'):
        find_endpoint("b", tmp_path)
    write(tmp_path, {"buildx/instances/b": "{}"})
    with pytest.raises(BuildError, match="is not a record of a builder"):
        find_endpoint("b", tmp_path)


def test_a_builder_that_is_down_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"does not answer at unix://.*b.sock \(No such file.*make up"):
        ask_builder(f"unix://{tmp_path}/b.sock")


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
    said = explain(FAILED, CLIENT)
    assert "the step's own words" in said
    assert "#5" not in said


@pytest.mark.parametrize(
    ("line", "said"),
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
def test_known_faults_say_what_to_do(line: str, said: str) -> None:
    assert said in explain(["#1 x", line], CLIENT)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("127.0.0.1:5000/a/b:1", "http://127.0.0.1:5000/v2/a/b/manifests/x"),
        ("localhost/a:1", "http://localhost/v2/a/manifests/x"),
        ("registry.example.edu/a", "https://registry.example.edu/v2/a/manifests/x"),
        ("10.0.0.1:5000/a", "https://10.0.0.1:5000/v2/a/manifests/x"),
    ],
)
def test_only_loopback_is_spoken_to_without_tls(text: str, url: str) -> None:
    assert Reference.parse(text).url("x") == url


def test_a_build_shows_no_secret_when_it_is_printed() -> None:
    assert "top-secret" not in repr(Build(Path(), "", secrets={"t": "top-secret"}))
