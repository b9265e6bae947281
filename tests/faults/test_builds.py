"""An image build whose registry or builder fails: one clear error, and the same command converges afterwards."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from projects import write_image
from second_lab import STACK

from imaging.build.buildkit import Buildctl
from lab import processes
from lab.build_logs import failed_build
from lab.servers import buildkit

pytestmark = pytest.mark.lab

if TYPE_CHECKING:
    from second_lab import Lab, Settings

MIB = 1024**2


def add_image(lab: Lab, stack: Settings, name: str, size_mib: int) -> None:
    """An image of the project with one file of that size that nothing can compress, named in the stack file."""
    add_files(lab, stack, name, {"/content": os.urandom(size_mib * MIB)})


def add_files(lab: Lab, stack: Settings, name: str, files: Mapping[str, bytes]) -> None:
    """An image of the project with these files, named in the stack file."""
    write_image(lab.project / "images" / name, files)
    stack["config"]["gpu-commons:images"].append({"name": name})
    lab.write(stack)


def images(lab: Lab) -> set[str]:
    return {urn.rsplit("::", 1)[1] for urn in lab.resources() if "$docker-build:index:Image::" in urn}


def kept(lab: Lab, before: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What the state says now of the resources that were there before."""
    return {urn: resource for urn, resource in lab.resources().items() if urn in before}


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("registry", "failed to push {registry}.*connection refused"),
        ("buildkitd", "waiting for connection|context deadline exceeded"),
    ],
)
def test_a_registry_or_builder_that_is_down_fails_one_build_and_the_next_up_pushes_it(
    deployed: Lab, stack: Settings, server: str, expected: str
) -> None:
    before = deployed.resources()
    add_image(deployed, stack, f"without-{server}", size_mib=1)
    deployed.kill(server)
    text = deployed.up().refused()
    assert re.search(expected.format(registry=re.escape(deployed.instance.registry_address)), text)
    assert kept(deployed, before) == before
    name = f"without-{server}"
    was_checked = {f"{name}-check"} if server == "registry" else set()
    assert images(deployed) == {"tiny-check", "tiny-build", *was_checked}
    deployed.start()
    assert f"+ {2 - len(was_checked)} created" in deployed.up().succeeded()
    assert images(deployed) == {"tiny-check", "tiny-build", f"{name}-check", f"{name}-build"}
    assert deployed.pending() == []


def test_a_failing_step_is_shown_with_its_last_lines(deployed: Lab, stack: Settings) -> None:
    """`make up` has them from the builder where the plugin lost them."""
    add_image(deployed, stack, "broken", size_mib=1)
    spec = deployed.project / "images" / "broken" / "image.yaml"
    spec.write_text(spec.read_text() + "os_packages: [no-such-package]\n")
    text = deployed.python_m_lab("up", "--simulated", "--stack", STACK).refused()
    assert "✗ failed   Image broken-check" in text
    assert re.search(r"no-such-package|apt-get: not found", text)
    assert re.search(r"exit code: (100|127)", text)
    builder = Buildctl(deployed.tools.path("buildctl"), f"unix://{buildkit.socket_path(deployed.instance)}")
    assert failed_build(builder, f"{deployed.instance.registry_address}/gpu-commons/broken:another") == []


def test_an_image_that_its_own_check_refuses_is_not_pushed_and_one_that_passes_again_is(
    deployed: Lab, stack: Settings
) -> None:
    before = deployed.resources()
    add_image(deployed, stack, "refused", size_mib=1)
    check = deployed.project / "images" / "refused" / "verify.py"
    passes = check.read_text()
    check.write_text("echo the course needs torch 2.6; exit 1\n")
    text = deployed.python_m_lab("up", "--simulated", "--stack", STACK).refused()
    assert "✗ failed   Image refused-check" in text
    assert "the image fails its own check (verify.py in its folder), so it was not exported" in text
    assert "the course needs torch 2.6" in text
    assert kept(deployed, before) == before
    assert images(deployed) == {"tiny-check", "tiny-build"}
    tags = httpx.get(f"http://{deployed.instance.registry_address}/v2/gpu-commons/refused/tags/list")
    assert tags.status_code == httpx.codes.NOT_FOUND
    check.write_text(passes)
    assert "+ 2 created" in deployed.up().succeeded()
    assert images(deployed) == {"tiny-check", "tiny-build", "refused-check", "refused-build"}


@contextmanager
def small_disk(lab: Lab, size_mib: int) -> Iterator[None]:
    """The builder with a disk of its own of that size; afterwards its own cache is there again."""
    root = lab.instance.data / "buildkit"
    processes.stop(lab.instance, "buildkitd", within_s=30)
    processes.run(["mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "tmpfs", str(root)])
    try:
        processes.start(lab.instance, buildkit.server(lab.instance, lab.tools))
        yield
    finally:
        processes.stop(lab.instance, "buildkitd", within_s=30)
        processes.run(["umount", "--recursive", "--lazy", str(root)])
        lab.start()


def test_a_full_disk_of_the_builder_is_one_clear_error_and_with_room_the_image_is_built(
    deployed: Lab, stack: Settings
) -> None:
    before = deployed.resources()
    add_image(deployed, stack, "big", size_mib=48)
    with small_disk(deployed, size_mib=32):
        text = deployed.python_m_lab("up", "--simulated", "--stack", STACK).refused()
    assert "is full" in text
    assert "prune" in text
    assert kept(deployed, before) == before
    assert images(deployed) == {"tiny-check", "tiny-build"}
    assert "+ 2 created" in deployed.up().succeeded()
