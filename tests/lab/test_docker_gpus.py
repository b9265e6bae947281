"""Containers of the lab's Docker engine and the GPUs that they ask for, by NVIDIA's own runtime."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lab.instance import Instance
from tests.lab import docker_engines as engines

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="a Docker engine needs root")]
DRIVER = engines.GPUS.driver
# A container without a driver has no /usr.
SEES = ("/bin/busybox", "sh", "-c", "busybox find /dev /usr -name '*nvidia*' 2>/dev/null; true")


@pytest.fixture(scope="module")
def lab() -> Iterator[tuple[Instance, str]]:
    with engines.engine("gpus") as instance:
        yield instance, engines.import_busybox(instance)


def seen(lab: tuple[Instance, str], *words: str) -> set[str]:
    """What of NVIDIA a container finds that was started with these words."""
    instance, image = lab
    return set(engines.client(instance, "run", "--rm", "--network", "none", *words, image, *SEES).splitlines())


def gpus(found: set[str]) -> set[str]:
    return {each for each in found if each[-1].isdigit() and each.startswith("/dev/")}


def test_two_users_have_the_gpu_each_asked_for_and_the_driver(lab: tuple[Instance, str]) -> None:
    ann, bob = seen(lab, "--gpus", "device=0"), seen(lab, "--gpus", "device=3")
    assert (gpus(ann), gpus(bob)) == ({"/dev/nvidia0"}, {"/dev/nvidia3"})
    assert ann - gpus(ann) == bob - gpus(bob)
    assert {"/dev/nvidiactl", "/usr/bin/nvidia-smi", f"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.{DRIVER}"} <= ann


def test_several_gpus_are_those_that_were_named_also_by_uuid(lab: tuple[Instance, str]) -> None:
    assert gpus(seen(lab, "--gpus", '"device=1,3"')) == {"/dev/nvidia1", "/dev/nvidia3"}
    assert gpus(seen(lab, "--gpus", f"device={engines.GPUS.uuids[2]}")) == {"/dev/nvidia2"}


@pytest.mark.parametrize("words", [(), ("--env", "NVIDIA_VISIBLE_DEVICES=void")])
def test_who_asked_for_none_has_neither_gpu_nor_driver(lab: tuple[Instance, str], words: tuple[str, ...]) -> None:
    assert seen(lab, *words) == set()


def test_a_gpu_that_the_host_does_not_have_is_refused_by_name(lab: tuple[Instance, str]) -> None:
    with pytest.raises(AssertionError, match=r"unresolvable CDI devices nvidia\.com/gpu=9"):
        seen(lab, "--gpus", "device=9")


def test_limits_that_this_machine_cannot_give_are_lowered_below_nvidias_runtime(lab: tuple[Instance, str]) -> None:
    assert gpus(seen(lab, "--gpus", "device=1", "--ulimit", "memlock=-1")) == {"/dev/nvidia1"}
