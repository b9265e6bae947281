"""What is inside an image, how old it is and what lands beside it, as the real engine tells it before a workload."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from second_lab import ROOT
from test_builds import add_files, add_image
from test_image_limits import give_to_the_job, jobs

pytestmark = pytest.mark.lab

if TYPE_CHECKING:
    from second_lab import Lab, Settings

ELF = b"\x7fELF" + bytes(60)


def change_pool(stack: Settings, name: str, **keys: float) -> None:
    (pool,) = [each for each in stack["config"]["gpu-commons:fleet"]["pools"] if each["name"] == name]
    pool.update(keys)


def test_a_driver_stops_the_update_and_a_second_cuda_and_an_old_base_are_reported(lab: Lab, stack: Settings) -> None:
    cublas = ELF + bytes(12_000_000)
    site_packages = "/opt/venv/lib/python3.11/site-packages"
    files = {
        "/etc/os-release": b'PRETTY_NAME="Ubuntu 18.04.6 LTS"\n',
        "/usr/lib/libcuda.so.535.104.05": ELF + bytes(1000),
        "/usr/local/cuda-12.4/lib64/libcublas.so.12.4.5.8": cublas,
        f"{site_packages}/nvidia/cublas/lib/libcublas.so.12": cublas,
    }
    add_files(lab, stack, "mixed", files)
    give_to_the_job(stack, "mixed", "gtx1080ti")
    lab.write(stack)
    text = lab.up().refused()
    assert (
        "P-NODRIVER: Job batch/limited: mixed contains 1.1 kB of driver files: /usr/lib/libcuda.so.535.104.05" in text
    )
    assert "P-ONECUDA: Job batch/limited: in mixed, CUDA is in the image twice: libcublas in /opt/venv/" in text
    assert "12.0 MB wasted" in text
    assert "P-BASE: Job batch/limited: standard support of Ubuntu 18.04, the base of mixed, ended on" in text
    assert "limited-job" not in jobs(lab)


def test_a_base_past_its_support_stops_the_update_where_the_site_says_so(lab: Lab, stack: Settings) -> None:
    add_files(lab, stack, "old", {"/etc/os-release": b'PRETTY_NAME="Ubuntu 18.04.6 LTS"\n'})
    give_to_the_job(stack, "old", "gtx1080ti")
    stack["config"]["gpu-commons:site"]["image_limits"] = {"refuse_unsupported_base": True}
    lab.write(stack)
    text = lab.up().refused()
    assert "P-BASE: Job batch/limited: standard support of Ubuntu 18.04, the base of old, ended on" in text
    assert "limited-job" not in jobs(lab)


def test_a_preview_refuses_an_image_whose_wheels_alone_are_too_big(lab: Lab, stack: Settings) -> None:
    shutil.copytree(ROOT / "images" / "hub", lab.project / "images" / "hub")
    stack["config"]["gpu-commons:images"].append({"name": "hub"})
    give_to_the_job(stack, "hub", "gtx1080ti")
    stack["config"]["gpu-commons:site"]["image_limits"] = {"warn_compressed_gb": 0.001, "refuse_compressed_gb": 0.01}
    lab.write(stack)
    text = lab.pulumi("preview").refused()
    assert (
        "P-SIZE: Job batch/limited: hub is at least 38.7 MB compressed according to its spec: the limit is 10.0 MB"
        in text
    )
    stack["config"]["gpu-commons:site"]["image_limits"] = {}
    lab.write(stack)
    text = lab.pulumi("preview").succeeded()
    assert (
        "hub is at least 38.7 MB compressed according to its spec; its actual size, read after the build, decides"
        in text
    )


def test_images_that_fit_a_disk_one_by_one_but_not_together_are_reported_at_the_end(lab: Lab, stack: Settings) -> None:
    for name in ("left", "right"):
        add_image(lab, stack, name, size_mib=3)
    (job,) = stack["config"]["gpu-commons:jobs"]
    stack["config"]["gpu-commons:jobs"] = [
        {**job, "name": name, "image": name, "pool": "gtx1070ti"} for name in ("left", "right")
    ]
    change_pool(stack, "gtx1070ti", root_disk_gib=0.013)
    lab.write(stack)
    text = lab.up().succeeded()
    assert "P-ROOM: pool gtx1070ti: 2 images may be on one node:" in text
    assert "of 0.013 GiB (assumed by the stack file) the kubelet leaves 11.9 MB for images" in text
    assert "P-DISK" not in text


def test_a_pre_pulled_image_that_is_slow_to_start_is_reported_and_not_refused(deployed: Lab, stack: Settings) -> None:
    hub = {
        "name": "slow",
        "hub_image": "tiny",
        "proxy_image": "tiny",
        "expose": {"kind": "cluster_ip"},
        "start_timeout_s": 10,
        "pre_pull": True,
        "profiles": [
            {
                "name": "p",
                "title": "P",
                "image": "tiny",
                "pool": "gtx1080ti",
                "cpu": 1,
                "memory_gib": 1,
                "is_default": True,
            }
        ],
    }
    stack["config"]["gpu-commons:hubs"] = [hub]
    change_pool(stack, "gtx1080ti", pull_mb_per_s=100)
    deployed.write(stack)
    text = deployed.pulumi("preview").succeeded()
    assert "P-START: profile p of hub slow: the first server on a node of gtx1080ti takes about 15 s" in text
    assert (
        "the pre-puller only helps on a node where it has finished, and a node that joins later lacks the image" in text
    )
    hub["pre_pull"] = False
    deployed.write(stack)
    assert "P-START: profile p of hub slow" in deployed.pulumi("preview").refused()
