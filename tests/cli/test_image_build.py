"""`gpu-commons image build`: refusals before a builder is needed. With a builder: tests/lab/test_image_build.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from rows import each_row

from imaging.build import building
from imaging.build.building import Destination, Kind, Order, Packing, build_image, content_tag, dockerfiles, output
from imaging.build.buildkit import Build
from imaging.spec.load import IMAGES, load_family

Run = Callable[..., Result]


@each_row(
    ("arguments", "message"),
    [
        (["no-such-image"], "has no image.yaml"),
        (["hub", "--push", "Registry.example/Hub"], "--push"),
        (["hub", "--push", f"r.example/hub@sha256:{'a' * 64}"], "has a digest, which only the build can determine"),
        (["hub", "--push", "https://u:hunter2@r.example/hub"], "is not an image reference"),
        (["hub", "--push", "r.example/hub", "--oci-layout", "x"], "give only one of them"),
        (["hub", "--docker-archive", "x.tar", "--compression", "zstd"], "a docker archive has gzip layers"),
        (["hub", "--oci-layout", __file__], "is a file; name a new folder, or use --docker-archive"),
        (["hub", "--docker-archive", "."], "is a folder; name a file"),
        (["hub", "--base", "r.example/parent:1"], "the spec of hub names its own base; leave the option out"),
        (["hub", "--stack", "no-such-stack"], 'there is no stack "no-such-stack"'),
        (["hub", "--cache-to", "Not A Reference"], "--cache-from, --cache-to"),
        (
            ["cupy-notebook", "--target", "bach"],
            "did you mean batch? known targets: batch, gateway",
        ),
        (["hub", "--compression", "xz"], "'xz' is not one of 'zstd', 'gzip'"),
    ],
)
def test_an_impossible_build_is_one_message_and_ends_with_2(run: Run, arguments: list[str], message: str) -> None:
    result = run("image", "build", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "hunter2" not in result.output


def test_the_help_names_every_exit_code(run: Run) -> None:
    help_text = " ".join(run("image", "build", "--help").stdout.split())
    assert "0 built and checked; 1 a step, the check or the push failed; 2 usage" in help_text
    assert "130 interrupted" in help_text


def test_the_tag_changes_with_what_goes_in_and_with_nothing_else(tmp_path: Path) -> None:
    family = load_family("scipy-ml-notebook")
    texts = dockerfiles(family)
    assert content_tag(family, IMAGES, texts) == content_tag(family, IMAGES, texts)
    assert content_tag(family, IMAGES, texts) != content_tag(family, IMAGES, [texts[0], f"{texts[1]}# parent\n"])
    assert content_tag(family[1:], IMAGES, texts[1:]) != content_tag(family, IMAGES, texts)
    assert len(dockerfiles(family, ca_bundle=tmp_path / "site.pem")) == 2


PUSHED = {"type": "image", "push": "true", "oci-mediatypes": "true"}
BY_DIGEST = {"push-by-digest": "true", "name-canonical": "true"}
GZIP = Packing("gzip", is_forced=True)


@each_row(
    ("kind", "place", "packing", "attributes"),
    [
        (Kind.REGISTRY, "example.edu/hub:1", Packing(), {**PUSHED, "name": "example.edu/hub:1"}),
        (Kind.REGISTRY, "example.edu/hub", Packing(), {**PUSHED, **BY_DIGEST, "name": "example.edu/hub"}),
        (Kind.OCI_LAYOUT, "x", GZIP, {"type": "oci", "tar": "false", "dest": "x"}),
        (Kind.DOCKER_ARCHIVE, "x", GZIP, {"type": "docker", "name": "hub:1", "dest": "x"}),
    ],
)
def test_what_is_exported_says_how_its_layers_are_packed(
    kind: Kind, place: str, packing: Packing, attributes: dict[str, str]
) -> None:
    result = output(Destination(kind, place), packing, "hub:1")
    level = {"compression-level": "3"} if packing.compression == "zstd" else {}  # without one BuildKit writes gzip
    forced = "true" if packing.is_forced else "false"
    assert result == {**attributes, "compression": packing.compression, "force-compression": forced, **level}


@pytest.mark.parametrize(
    ("target", "stages", "name"),
    [
        ("batch", ["verify-batch", "batch"], "cupy-notebook-batch"),
        (None, ["verify", ""], "cupy-notebook"),
    ],
)
def test_a_target_is_built_from_its_own_stage_after_its_own_check(
    monkeypatch: pytest.MonkeyPatch, target: str | None, stages: list[str], name: str
) -> None:
    builds: list[Build] = []

    def record(build: Build, *_: object) -> str:
        builds.append(build)
        return "sha256:" + "a" * 64

    monkeypatch.setattr(building, "run_build", record)
    family = load_family("cupy-notebook")
    order = Order(
        family,
        load_family("cupy-notebook", target=target)[0],
        IMAGES,
        destination=Destination(Kind.REGISTRY, f"r.example/{name}"),
    )
    lines: list[str] = []
    build_image(order, None, lines.append, lines.append)  # type: ignore[arg-type]  # nothing is sent
    assert [build.target for build in builds] == stages
    assert lines == [f"{name}: building it and running its check", f"{name}: pushing it"]
