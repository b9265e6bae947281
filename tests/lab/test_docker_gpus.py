"""Containers of the lab's Docker engine and the GPUs that they ask for, by NVIDIA's own runtime."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import processes
from lab.instance import Instance
from lab.servers import docker
from lab.toolchain import Toolchain
from platforms.docker.probe import host_facts
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


def test_an_engine_without_nvidias_runtime_has_it_after_what_the_probe_says(
    lab: tuple[Instance, str], tmp_path: Path
) -> None:
    """The real nvidia-ctk shows its change, and makes it; the engine reads it when told to, and ends nothing."""
    instance, image = lab
    ctk, record = Toolchain().path("nvidia-ctk"), processes.read_record(instance, docker.NAME)
    config = instance.config / "docker-engine" / "daemon.json"
    (tmp_path / "etc/docker").mkdir(parents=True)
    (tmp_path / "etc/docker/daemon.json").symlink_to(config)
    environ = {"DOCKER_HOST": docker.address(instance), "PATH": f"{ctk.parent}:/usr/bin:/bin"}

    def lacking() -> list[dict[str, str]]:
        return list(host_facts(tmp_path, environ, dt.datetime.now(dt.UTC))["lacking"])

    def reload(*, has_nvidia: bool) -> None:
        assert record is not None
        os.kill(record.pid, signal.SIGHUP)  # as systemctl reload docker does
        until = time.monotonic() + 10
        while ("nvidia" in engines.client(instance, "info", "--format={{.Runtimes}}")) is not has_nvidia:
            assert time.monotonic() < until
            time.sleep(0.1)

    assert lacking() == []
    before = json.loads(config.read_text())
    others = {name: each for name, each in before["runtimes"].items() if name != docker.NVIDIA}
    config.write_text(json.dumps({**before, "runtimes": others, "default-runtime": "runc"}, indent=4) + "\n")
    stays = engines.client(instance, "run", "--detach", "--network=none", image, *engines.HTTPD)
    reload(has_nvidia=False)
    with pytest.raises(AssertionError, match="nvidia"):
        seen(lab, "--runtime=nvidia", "--env=NVIDIA_VISIBLE_DEVICES=2")
    (lacks,) = lacking()
    assert lacks["command"].startswith("sudo nvidia-ctk runtime configure --runtime=docker")
    assert '+            "path": "nvidia-container-runtime"' in lacks["diff"].splitlines()
    place = f"--nvidia-runtime-path={config.parent / docker.NVIDIA}"
    processes.run([str(ctk), "runtime", "configure", "--runtime=docker", f"--config={config}", place])
    assert [each["lacks"] for each in lacking()] == [
        "its engine has not read the runtime nvidia in /etc/docker/daemon.json"
    ]
    reload(has_nvidia=True)
    assert lacking() == []
    assert gpus(seen(lab, "--runtime=nvidia", "--env=NVIDIA_VISIBLE_DEVICES=2")) == {"/dev/nvidia2"}
    assert engines.inspect(instance, stays)["State"]["Running"]
