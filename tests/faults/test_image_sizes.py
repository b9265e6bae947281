"""The size of an image is reported before it is built, and what changed until it changes again."""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

import pytest
from second_lab import ROOT, Lab, Settings
from test_builds import MIB, add_image

pytestmark = pytest.mark.lab


def land(stack: Settings, image: str) -> None:
    """The job starts that image, on a pool whose nodes were measured."""
    config = stack["config"]
    (job,) = config["gpu-commons:jobs"]
    job.update(name="sized", image=image, pool="gtx1070ti")
    (pool,) = [each for each in config["gpu-commons:fleet"]["pools"] if each["name"] == "gtx1070ti"]
    pool.update(pull_mb_per_s=0.5, disk_mb_per_s=100, driver="535.183.01")  # which runs CuPy for CUDA 12


def fill(lab: Lab, image: str, content: bytes) -> None:
    (lab.project / "images" / image / "content").write_bytes(content)


def sizes(lab: Lab, image: str) -> dict[str, Any]:
    return dict(json.loads(lab.pulumi("stack", "output", "--json").succeeded())["image_sizes"][image])


def lines_about(text: str, image: str) -> list[str]:
    """Lines about an image that will be built, under the resource that they belong to."""
    head, found, rest = text.partition(f"gpu-commons:index:GpuImage ({image}):\n")
    assert not found or head.endswith("  ")
    lines = [line.strip() for line in rest.partition("\n\n")[0].splitlines()]
    return [line for line in lines if line.startswith((f"{image} will be built", "first start"))]


def test_the_first_preview_of_an_image_has_the_lower_bound_of_its_spec(lab: Lab, stack: Settings) -> None:
    shutil.copytree(ROOT / "images" / "cupy-notebook", lab.project / "images" / "cupy-notebook")
    stack["config"]["gpu-commons:images"].append({"name": "cupy-notebook"})
    land(stack, "cupy-notebook")
    lab.write(stack)
    size, start = lines_about(lab.pulumi("preview").succeeded(), "cupy-notebook")
    assert size.startswith(
        "cupy-notebook will be built: at least 0.28 GB compressed, 0.78 GB unpacked (from the spec: 108 wheels"
    )
    assert "OS packages" in size.partition("; not counted: ")[2]
    assert "last deployed" not in size
    assert start == (
        "first start on a node of gtx1070ti: at least 589 s (pull 0.28 GB at 0.5 MB/s 566 s,"
        " unpack 0.78 GB (zstd) at 100 MB/s 8 s, start 15 s)"
    )


def test_a_change_of_an_image_is_reported_before_during_and_after_its_update(lab: Lab, stack: Settings) -> None:
    add_image(lab, stack, "grown", size_mib=1)
    land(stack, "grown")
    lab.write(stack)
    one = (lab.project / "images" / "grown" / "content").read_bytes()
    (first,) = lines_about(lab.pulumi("preview").succeeded(), "grown")
    assert first.startswith("grown will be built: its size is not known before that (not counted: base ")
    text = lab.up().succeeded()
    assert lines_about(text, "grown") == [], "an update builds; it guesses nothing"
    small = sizes(lab, "grown")
    assert small.keys() == {"digest", "compressed_mb", "unpacked_mb"}

    fill(lab, "grown", os.urandom(3 * MIB))
    size, start = lines_about(lab.pulumi("preview").succeeded(), "grown")
    last = f"{small['compressed_mb']:.1f} MB"
    assert size.startswith(f"grown will be built: about {last} compressed, ")
    assert f"(as last deployed: {last}; nothing is known of what changes: base " in size
    assert start.startswith(f"first start on a node of gtx1070ti: about {small['compressed_mb'] / 0.5 + 15:.0f} s (")
    lab.up().succeeded()
    big = sizes(lab, "grown")
    assert big["before"] == small
    assert big["change_mb"] == pytest.approx(2.1, abs=0.2)

    for command in (["preview", "--expect-no-changes"], ["up", "--yes", "--expect-no-changes"]):
        text = lab.pulumi(*command).succeeded()
        assert lines_about(text, "grown") == []
        assert "image_sizes" not in text.partition("Outputs:")[2].partition("~")[2]
        assert sizes(lab, "grown") == big
    # Own outputs that were a resource would have drifted now.
    lab.pulumi("refresh", "--preview-only", "--expect-no-changes").succeeded()

    fill(lab, "grown", one)
    (size, _) = lines_about(lab.pulumi("preview").succeeded(), "grown")
    assert f"grown will be built: {last} compressed, " in size
    assert "(the registry has this content already); -2.1 MB relative to what was deployed last" in size
    lab.kill("registry")
    (size, _) = lines_about(lab.pulumi("preview").succeeded(), "grown")
    assert f"about {big['compressed_mb']:.1f} MB compressed" in size, "the last build stands in for the registry"
    lab.start()


def test_an_update_that_failed_deployed_nothing_to_compare_with(lab: Lab, stack: Settings) -> None:
    add_image(lab, stack, "stopped", size_mib=1)
    land(stack, "stopped")
    lab.write(stack)
    lab.up().succeeded()
    whole = sizes(lab, "stopped")
    fill(lab, "stopped", os.urandom(3 * MIB))
    stack["config"]["gpu-commons:site"]["image_limits"] = {"warn_compressed_gb": 0.001, "refuse_compressed_gb": 0.002}
    lab.write(stack)
    lab.up().refused()
    del stack["config"]["gpu-commons:site"]["image_limits"]
    lab.write(stack)
    lab.up().succeeded()
    assert sizes(lab, "stopped")["before"] == whole
    lab.pulumi("destroy", "--yes", "--skip-preview").succeeded()
    lab.up().succeeded()
    assert "before" not in sizes(lab, "stopped")
