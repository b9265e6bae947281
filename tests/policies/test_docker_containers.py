"""Containers on Docker hosts, as pulumi-docker declares them: the rules of pods, and what only an engine has."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import pytest
from refusals import (
    AS_IN_A_POD,
    CONTAINER,
    EVERY_ADDRESS,
    FITS_NO_HOST,
    NOT_FOR_THE_DRIVER,
    SOUND_CONTAINER,
    UNCOUNTED_GPUS,
    asks_otherwise,
)
from rows import each_row
from shown import ADVISED, DIGEST, IMAGE, REFUSED, UNKNOWN, UNPROVED, shown, texts

from compat import Case, read_host
from fleet.nodes import Node
from fleet.pools import PoolGpus
from policies.crossguard import looks_at
from policies.model import Coverage, Site

AMOUNTS: Final = {"cpu": Decimal(16), "memory": Decimal(64 * 1024**3), "nvidia.com/gpu": Decimal(2)}
TAINT: Final = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
SITE: Final = Site(
    nodes=(Node("box", "box", {"gpu-commons.org/pool": "box"}, [TAINT], AMOUNTS),),
    allowed_registries=("registry.example.edu", "docker.io"),
    gpus={"box": PoolGpus(read_host(Case(gpu="GeForce GTX 1080 Ti", driver="418.88", host="docker")))},
)
# Words of a cluster: nobody on a Docker host knows what they mean.
OF_A_CLUSTER: Final = re.compile(
    r"\b(?:pods?|nodes?|kubelet|Kubernetes|scheduler|containers\[0\]|nodeSelector|hostPID)\b"
)


def findings(site: Site = SITE, **changes: Any) -> list[tuple[str, str]]:
    return shown(site, CONTAINER, {**SOUND_CONTAINER, **changes})


def one(kind: str, rule: str, site: Site = SITE, **changes: Any) -> str:
    """The only message of a kind by a rule. It speaks of a host."""
    (message,) = texts(findings(site, **changes), kind, rule)
    assert message.startswith(f"{rule}: Container notebook: ")
    assert not OF_A_CLUSTER.search(message), message
    return message


def test_a_container_that_holds_its_gpu_and_says_what_it_takes_passes() -> None:
    assert texts(findings(), REFUSED) == texts(findings(), ADVISED) == []
    assert [text for text in texts(findings(), UNPROVED) if not text.startswith("P-RUN")] == []


# --- the rules of pods


@each_row(("changes", "words"), AS_IN_A_POD)
def test_what_is_refused_in_a_pod_is_refused_in_a_container(changes: dict[str, Any], words: str) -> None:
    assert words in one(REFUSED, "P-GPU", **changes)


@each_row(
    ("key", "value"),
    [
        ("privileged", UNKNOWN),
        ("pidMode", UNKNOWN),
        ("envs", UNKNOWN),
        ("envs", [UNKNOWN]),
        ("volumes", [{"hostPath": UNKNOWN, "containerPath": "/d"}]),
        ("capabilities", {"adds": UNKNOWN}),
        ("deviceRequests", UNKNOWN),
        ("deviceCgroupRules", [UNKNOWN]),
        ("securityOpts", UNKNOWN),
        ("ipcMode", UNKNOWN),
        ("networksAdvanced", [{"name": UNKNOWN}]),
    ],
)
def test_what_is_not_known_yet_is_neither_refused_nor_passed(key: str, value: Any) -> None:
    found = findings(**{key: value})
    assert texts(found, REFUSED) == []
    assert len(texts(found, UNPROVED, "P-GPU")) == 1
    assert not OF_A_CLUSTER.search(texts(found, UNPROVED, "P-GPU")[0])


@each_row(("changes", "words"), FITS_NO_HOST)
def test_a_container_that_fits_no_host_is_refused(changes: dict[str, Any], words: str) -> None:
    assert words in one(REFUSED, "P-HOST", **changes)


def test_an_image_that_does_not_run_on_the_driver_of_the_host_is_refused() -> None:
    image = NOT_FOR_THE_DRIVER
    assert "does not run on pool box (driver 418.88)" in one(REFUSED, "P-RUN", image=image)
    assert texts(findings(image=image, deviceRequests=[]), REFUSED, "P-RUN") == []


def test_an_image_is_pinned_by_its_digest_also_where_it_is_mounted_or_pulled() -> None:
    assert "image docker.io/library/busybox:1 has no digest" in one(
        REFUSED, "P-PIN", image="docker.io/library/busybox:1"
    )
    mounted = {"type": "image", "source": "docker.io/library/busybox:1", "target": "/x"}
    assert "mounts[0].source docker.io/library/busybox:1 has no digest" in one(REFUSED, "P-PIN", mounts=[mounted])
    pulled = "docker:index/remoteImage:RemoteImage"
    assert "has no digest" in texts(shown(SITE, pulled, {"name": "docker.io/library/busybox:1"}), REFUSED, "P-PIN")[0]
    assert shown(SITE, pulled, {"name": IMAGE}) == []
    for odd in ({"name": UNKNOWN}, {"name": "x", "build": {"context": "."}}):
        assert [kind for kind, _ in shown(SITE, pulled, odd)] == [UNPROVED]


def test_the_id_of_an_image_says_which_bytes_and_not_from_where() -> None:
    assert "is the ID of an image on the host" in one(UNPROVED, "P-PIN", image=DIGEST)


# --- which GPUs


@each_row(("changes", "words"), UNCOUNTED_GPUS)
def test_gpus_that_nobody_counts_are_refused(changes: dict[str, Any], words: str) -> None:
    assert words in one(REFUSED, "P-GPU", **asks_otherwise(changes))


@each_row(
    "changes",
    [
        {"gpus": "device=0", "deviceRequests": []},
        {"gpus": "device=GPU-3a23c669", "deviceRequests": []},
        {"deviceRequests": [{"driver": "nvidia", "deviceIds": ["0"], "capabilities": ["gpu"]}]},
        {"deviceRequests": [{"driver": "amd", "count": 1}]},
        {"deviceRequests": [{"driver": "cdi", "deviceIds": ["example.com/nic=0"]}]},
        {"devices": [{"hostPath": "/dev/fuse"}], "deviceCgroupRules": ["c 10:229 rwm"]},
        {"envs": ["NVIDIA_VISIBLE_DEVICES=void", "NVIDIA_DRIVER_CAPABILITIES=compute"]},
    ],
)
def test_gpus_that_are_held_and_other_devices_pass(changes: dict[str, Any]) -> None:
    assert texts(findings(**changes), REFUSED) == []


def test_gpus_of_a_shared_host_are_held_by_nobody() -> None:
    alone = {"networksAdvanced": []}
    assert texts(findings(**alone), REFUSED) != []
    assert texts(findings(replace(SITE, shared_hosts=frozenset({"box"})), **alone), REFUSED) == []


def test_who_holds_the_gpus_of_another_teams_hosts_is_not_known() -> None:
    assert "another container uses GPU 0" in one(
        UNPROVED, "P-GPU", replace(SITE, coverage=Coverage.SOME), networksAdvanced=[]
    )


def test_a_container_without_gpus_of_a_host_without_gpus_may_do_there_what_it_wants() -> None:
    plain = replace(SITE.nodes[0], name="cpu", pool="cpu", labels={"gpu-commons.org/pool": "cpu"}, allocatable={})
    site = replace(SITE, nodes=(*SITE.nodes, plain))
    changes = {"deviceRequests": [], "cpus": None, "memory": None, "privileged": True}
    on_cpu = [{"label": "gpu-commons.org/pool", "value": "cpu"}]
    assert texts(findings(site, **changes, labels=on_cpu), REFUSED) == []
    assert texts(findings(site, **changes, labels=[]), REFUSED) != []


def test_what_decides_where_it_lands_has_its_name_in_the_container() -> None:
    unknown = {"runtime": UNKNOWN, "memory": UNKNOWN, "deviceRequests": UNKNOWN}
    expected = "which pools can host it depends on deviceRequests, memory, runtime."
    assert expected in one(UNPROVED, "P-HOST", **unknown)


# --- the engine


@each_row(
    ("changes", "words"),
    [
        ({"securityOpts": ["seccomp=unconfined"]}, "switches off the system-call filter"),
        ({"securityOpts": ["apparmor:unconfined"]}, "switches off the AppArmor profile"),
        ({"ipcMode": "host"}, "ipcMode host shares memory"),
        ({"usernsMode": "host"}, "usernsMode host switches off user-namespace remapping"),
        ({"pidMode": "host"}, "pidMode host exposes the processes of the host"),
    ],
)
def test_walls_that_are_taken_down_are_reported(changes: dict[str, Any], words: str) -> None:
    assert words in one(ADVISED, "P-GPU", **changes)


# --- P-PORT and P-LIMIT


@each_row("changes", EVERY_ADDRESS)
def test_a_port_on_every_address_is_refused(changes: dict[str, Any]) -> None:
    assert "the host" in one(REFUSED, "P-PORT", **changes)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.1.2.3"])
def test_a_port_on_a_written_address_passes(address: str) -> None:
    assert texts(findings(ports=[{"internal": 80, "ip": address}]), REFUSED) == []


@pytest.mark.parametrize(
    "changes", [{"ports": UNKNOWN}, {"ports": [{"internal": 80, "ip": UNKNOWN}]}, {"networkMode": UNKNOWN}]
)
def test_an_address_that_is_not_known_yet_is_unproved(changes: dict[str, Any]) -> None:
    assert texts(findings(**changes), REFUSED) == []
    assert one(UNPROVED, "P-PORT", **changes)


def test_memory_and_shared_memory_left_to_the_engine_are_reported_for_containers_that_request_gpus() -> None:
    assert "memory is not limited" in one(ADVISED, "P-LIMIT", memory=None)
    assert "/dev/shm has 64 MiB" in one(ADVISED, "P-LIMIT", shmSize=None)
    assert texts(findings(memory=None, shmSize=None, deviceRequests=[]), ADVISED, "P-LIMIT") == []
    for given in (
        {"ipcMode": "host"},
        {"tmpfs": {"/dev/shm": "size=1g"}},
        {"mounts": [{"type": "tmpfs", "target": "/dev/shm"}]},
    ):
        assert texts(findings(shmSize=None, **given), ADVISED, "P-LIMIT") == []


def test_a_batch_run_that_is_started_for_ever_is_refused() -> None:
    batch = {"mustRun": False, "attach": True}
    assert "starts a run that is meant to end" in one(REFUSED, "P-LIMIT", **batch, restart="always")
    assert "without maxRetryCount" in one(ADVISED, "P-LIMIT", **batch, restart="on-failure")
    for ends in ({"restart": "no"}, {"restart": None}, {"restart": "on-failure", "maxRetryCount": 3}):
        assert [each for each in findings(**batch, **ends) if each[1].startswith("P-LIMIT")] == []
    for odd in ({**batch, "restart": UNKNOWN}, {"mustRun": UNKNOWN, "restart": "always"}):
        assert one(UNPROVED, "P-LIMIT", **odd)


# --- what else there is on a host


@each_row("kind", ["service:Service", "plugin:Plugin", "image:Image", "compose:Compose", "buildxBuilder:BuildxBuilder"])
def test_what_runs_out_of_sight_could_not_be_proved(kind: str) -> None:
    (message,) = texts(shown(SITE, f"docker:index/{kind}", {}), UNPROVED, "P-READ")
    assert "none of that was checked" in message


def test_a_volume_of_the_engine_that_is_a_path_of_the_host_is_refused() -> None:
    volume = "docker:index/volume:Volume"
    bound = {"driver": "local", "driverOpts": {"type": "none", "o": "bind", "device": "/dev"}}
    assert (
        "driverOpts.device /dev reaches every GPU of the host" in texts(shown(SITE, volume, bound), REFUSED, "P-GPU")[0]
    )
    nfs = {"driverOpts": {"type": "nfs", "o": "addr=10.0.0.1", "device": ":/export"}}
    assert shown(SITE, volume, nfs) == shown(SITE, volume, {}) == []
    assert [kind for kind, _ in shown(SITE, volume, {"driverOpts": UNKNOWN})] == [UNPROVED]


@each_row("kind", ["network:Network", "tag:Tag", "secret:Secret", "serviceConfig:ServiceConfig"])
def test_what_runs_nothing_is_passed_over(kind: str) -> None:
    assert not looks_at(f"docker:index/{kind}")
