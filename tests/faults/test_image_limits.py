"""Images are measured as soon as they are pushed, and one that must not run stops the update before its workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_builds import add_image

pytestmark = pytest.mark.lab

if TYPE_CHECKING:
    from second_lab import Lab, Settings

JOB = "kubernetes:batch/v1:Job"


def give_to_the_job(stack: Settings, image: str, pool: str) -> None:
    (job,) = stack["config"]["gpu-commons:jobs"]
    job.update(name="limited", image=image, pool=pool)


def jobs(lab: Lab) -> list[str]:
    return [urn.rpartition("::")[2] for urn in lab.resources() if f"{JOB}::" in urn]


def test_an_image_above_the_limit_stops_the_update_before_its_job(lab: Lab, stack: Settings) -> None:
    add_image(lab, stack, "heavy", size_mib=3)
    give_to_the_job(stack, "heavy", "gtx1080ti")
    stack["config"]["gpu-commons:site"]["image_limits"] = {"warn_compressed_gb": 0.001, "refuse_compressed_gb": 0.002}
    lab.write(stack)
    text = lab.up().refused()
    assert "limited-job" not in jobs(lab)
    # The outputs of a stack whose update failed are those of its last whole update: the state has the component's.
    (heavy,) = [found for urn, found in lab.resources().items() if urn.endswith("index:GpuImage::heavy")]
    size = heavy["outputs"]["compressed_bytes"]
    assert 3 * 1024**2 < size < heavy["outputs"]["unpacked_bytes"]
    assert f"P-SIZE: Job batch/limited: heavy is {size / 1e6:.1f} MB compressed: the limit is 2.0 MB" in text


def test_an_image_that_cannot_fit_n10s_disk_is_refused_and_the_disk_is_called_an_assumption(
    lab: Lab, stack: Settings
) -> None:
    add_image(lab, stack, "wide", size_mib=3)
    give_to_the_job(stack, "wide", "gtx1070ti")
    (pool,) = [each for each in stack["config"]["gpu-commons:fleet"]["pools"] if each["name"] == "gtx1070ti"]
    pool["root_disk_gib"] = 0.005
    assert "root_disk_gib" in pool["assumptions"]
    lab.write(stack)
    text = lab.up().refused()
    assert "P-DISK: Job batch/limited: wide cannot fit the disk of n10 of pool gtx1070ti" in text
    assert "of 0.005 GiB (assumed by the stack file) the kubelet leaves 4.6 MB for images" in text
    assert "limited-job" not in jobs(lab)
