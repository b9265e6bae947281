"""The lab's Docker engine: its configuration, that it runs containers, and that nothing of it stays."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab import clamped_runc, processes
from lab.instance import Instance, LabError, Networks
from lab.machine import docker_host
from lab.servers import docker
from lab.toolchain import Toolchain
from tests.lab import docker_engines as engines

KEY = Path("/etc/docker/key.json")
MEMLOCK = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]


def test_it_leaves_the_packet_filter_and_the_folders_of_the_machine_alone(tmp_path: Path) -> None:
    instance = Instance("x", 3, tmp_path, {"registry": 5001})
    configured = docker.configuration(instance, {})
    assert {name for name, value in configured.items() if value is False} == {
        "iptables",
        "ip6tables",
        "ip-forward",
        "ip-masq",
    }
    assert configured["bridge"] == "none"
    folders = (configured[name] for name in ("data-root", "exec-root", "pidfile", "deprecated-key-path"))
    assert all(Path(str(folder)).is_relative_to(tmp_path) for folder in folders)
    assert configured["hosts"] == [f"unix://{tmp_path}/run/docker.sock"]
    assert configured["default-runtime"] == docker.NVIDIA


def test_labs_of_one_machine_share_neither_addresses_nor_control_groups(tmp_path: Path) -> None:
    assert len({Networks.of_slot(slot).docker_cidr for slot in range(18)}) == 18
    homes = [Instance("default", 0, tmp_path / name, {}) for name in ("one", "two")]
    assert docker.cgroup(homes[0]) != docker.cgroup(homes[1])


def test_a_folder_too_long_for_its_sockets_is_named_before_anything_starts(tmp_path: Path) -> None:
    instance = Instance("x", 0, tmp_path / ("x" * 90), {"registry": 5001})
    with pytest.raises(LabError, match=r"too long for a socket .* set XDG_STATE_HOME to a shorter folder"):
        docker.server(instance, Toolchain(), tmp_path)


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("--root /r create --bundle /b --pid-file /p c", "/b/config.json"),
        ("create --bundle=/b c", "/b/config.json"),
        ("--log /l exec --process /tmp/process --detach c", "/tmp/process"),
        ("--root /r delete --force c", None),
        ("state c", None),
    ],
)
def test_limits_are_looked_for_where_runc_reads_them(words: str, file: str | None) -> None:
    assert clamped_runc.file_of(words.split()) == (Path(file) if file else None)


def test_a_limit_above_the_machines_is_lowered_and_another_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clamped_runc, "hard_limit", {"RLIMIT_MEMLOCK": 8 << 20, "RLIMIT_STACK": 64 << 20}.get)
    limits = [
        {"type": "RLIMIT_MEMLOCK", "hard": clamped_runc.UNLIMITED, "soft": clamped_runc.UNLIMITED},
        {"type": "RLIMIT_STACK", "hard": 64 << 20, "soft": 8 << 20},
    ]
    assert clamped_runc.clamp({"rlimits": limits}) == ["memlock unlimited lowered to 8388608"]
    assert [(limit["hard"], limit["soft"]) for limit in limits] == [(8 << 20, 8 << 20), (64 << 20, 8 << 20)]
    assert clamped_runc.clamp({}) == []


@pytest.mark.parametrize(("effective", "are_hard"), [("000001fffeffffff", True), ("000001ffffffffff", False)])
def test_limits_are_hard_without_the_capability_that_raises_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, effective: str, *, are_hard: bool
) -> None:
    status = tmp_path / "status"
    status.write_text(f"Name:\tx\nCapPrm:\t{effective}\nCapEff:\t{effective}\n")
    monkeypatch.setattr(clamped_runc, "STATUS", status)
    assert clamped_runc.limits_are_hard() is are_hard


@pytest.fixture(scope="module")
def lab(
    new_instance: Callable[..., Instance], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Instance, str]]:
    """An engine, and an image in the lab's registry."""
    port = new_instance(tmp_path_factory.mktemp("port"), "registry").ports["registry"]
    with engines.engine("one", registry_port=port) as instance, engines.image_registry(instance) as image:
        yield instance, image


@pytest.mark.lab
def test_a_container_of_an_image_of_the_labs_registry_answers_on_loopback_and_by_name(
    lab: tuple[Instance, str],
) -> None:
    instance, image = lab
    engines.client(instance, "network", "create", "classroom")
    engines.client(
        instance, "run", "-d", "--name", "web", "--network", "classroom", "-p", "127.0.0.1::8000", image, *engines.HTTPD
    )
    published = engines.inspect(instance, "web")["NetworkSettings"]["Ports"]["8000/tcp"][0]
    assert published["HostIp"] == "127.0.0.1"
    answer = _get(f"http://127.0.0.1:{published['HostPort']}/sh")
    assert len(answer.content) == Path("/bin/busybox").stat().st_size
    by_name = ("/bin/busybox", "nslookup", "web")
    found = engines.client(instance, "run", "--rm", "--network", "classroom", image, *by_name)
    address = engines.inspect(instance, "web")["NetworkSettings"]["Networks"]["classroom"]["IPAddress"]
    assert address in found
    assert address.startswith(instance.networks.docker_cidr.removesuffix("0.0/16"))
    engines.client(instance, "rm", "--force", "web")
    engines.client(instance, "network", "rm", "classroom")


def _get(url: str) -> httpx.Response:
    """The container's server may need a moment."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return httpx.get(url, timeout=10)
        except httpx.TransportError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@pytest.mark.lab
@pytest.mark.skipif(not clamped_runc.limits_are_hard(), reason="this machine can raise limits: CAP_SYS_RESOURCE")
def test_a_container_gets_the_machines_limit_where_it_asks_for_more_and_a_line_says_so(
    lab: tuple[Instance, str],
) -> None:
    instance, image = lab
    limits = ("--ulimit", "memlock=-1", "--ulimit", "stack=67108864")
    health = ("--health-cmd", "/bin/busybox true", "--health-interval", "1s")
    engines.client(instance, "run", "-d", "--name", "job", *limits, *health, image, "/bin/busybox", "sleep", "600")
    output = engines.client(instance, "exec", "job", "/bin/sh", "-c", "ulimit -l; ulimit -s").split()
    assert output == [str(MEMLOCK // 1024), "65536"]
    deadline = time.monotonic() + 20
    while (status := engines.inspect(instance, "job")["State"]["Health"]["Status"]) == "starting":
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert status == "healthy"
    assert docker_host.lowered_limits(instance) == [f"memlock unlimited lowered to {MEMLOCK}"]
    assert len(docker.clamp_log(instance).read_text().splitlines()) == 1  # health checks add none
    engines.client(instance, "rm", "--force", "job")


@pytest.mark.lab
def test_two_engines_run_side_by_side_and_the_end_of_one_leaves_the_other(lab: tuple[Instance, str]) -> None:
    first, image = lab
    sleep = ("/bin/busybox", "sleep", "600")
    with engines.engine("two", registry_port=first.ports["registry"]) as second:
        for instance in (first, second):
            engines.client(instance, "network", "create", "classroom")
            engines.client(instance, "run", "-d", "--init", "--name", "same", "--network", "classroom", image, *sleep)
        addresses = {
            engines.inspect(instance, "same")["NetworkSettings"]["Networks"]["classroom"]["IPAddress"]
            for instance in (first, second)
        }
        assert len(addresses) == 2
        assert engines.client(second, "info", "--format", "{{.ContainersRunning}}") == "1"
    assert engines.inspect(first, "same")["State"]["Running"]
    engines.client(first, "rm", "--force", "same")
    engines.client(first, "network", "rm", "classroom")


@pytest.mark.lab
@pytest.mark.parametrize("ended_by", ["make down", "kill -9"])
def test_nothing_of_it_stays_on_the_machine_and_its_volumes_are_there_again(
    lab: tuple[Instance, str], ended_by: str
) -> None:
    registry_port = lab[0].ports["registry"]
    before = engines.packet_filter()
    had_key, dead_before = KEY.exists(), engines.dead_sockets()
    with engines.engine("gone", registry_port=registry_port) as instance:
        engines.client(instance, "network", "create", "classroom")
        engines.client(instance, "volume", "create", "homes")
        mount = ("--mount", "type=volume,source=homes,target=/homes")
        again = ("--restart", "unless-stopped", "--network", "classroom", "--publish", "127.0.0.1::8000")
        # Without an init, sleep ignores SIGTERM: the engine has to kill it at its end.
        engines.client(instance, "run", "-d", "--name", "web", *again, *mount, lab[1], "/bin/busybox", "sleep", "600")
        engines.client(instance, "exec", "web", "/bin/sh", "-c", "echo lesson > /homes/one")
        assert engines.packet_filter() == before
        if ended_by == "kill -9":
            record = processes.read_record(instance, docker.NAME)
            process = record.process() if record else None
            assert process is not None
            process.kill()
            process.wait(10)
            assert any(trace.startswith("mount") for trace in engines.traces_of(instance))
        engines.stop(instance)
        assert engines.traces_of(instance) == []
        assert engines.packet_filter() == before
        assert KEY.exists() is had_key
        assert engines.dead_sockets() <= dead_before
        assert json.loads((instance.home / "traces.json").read_text()) == []
        docker_host.start(instance, Toolchain())
        assert _until_running(instance, "web")
        assert engines.client(instance, "exec", "web", "/bin/busybox", "cat", "/homes/one") == "lesson"


def _until_running(instance: Instance, container: str) -> bool:
    """A container that restarts is started by the engine after it answers."""
    deadline = time.monotonic() + 20
    state: dict[str, Any] = {}
    while not state.get("Running") and time.monotonic() < deadline:
        state = engines.inspect(instance, container)["State"]
        time.sleep(0.1)
    return bool(state.get("Running"))


@pytest.mark.lab
def test_a_range_that_is_in_use_is_named_before_the_engine_starts(lab: tuple[Instance, str], tmp_path: Path) -> None:
    engines.client(lab[0], "network", "create", "classroom")
    other = Instance("other", lab[0].slot, tmp_path, {"registry": 1})
    other.run.mkdir()
    other.data.mkdir()
    with pytest.raises(LabError, match=rf"{other.networks.docker_cidr}, is in use on this machine: .*br-"):
        docker_host.start(other, Toolchain())
    engines.client(lab[0], "network", "rm", "classroom")


def test_without_root_it_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabError, match="the lab's Docker engine needs root"):
        docker_host.start(Instance("x", 0, tmp_path, {"registry": 1}), Toolchain())
