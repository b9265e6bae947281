"""The stack on a Docker host comes up on an engine of the lab's, stays as it is, and leaves its data alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import httpx
import pytest
from own_lab import OwnLab, changes, own_lab

from lab.cluster import wait_until
from lab.instance import LabError

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def lab() -> Iterator[OwnLab]:
    with own_lab("perceptron") as lab:
        yield lab


def docker(lab: OwnLab, *words: str) -> str:
    """The engine's own command, on the lab's engine."""
    done = subprocess.run(["docker", *words], env=lab.shell(), capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_it_ends_with_the_host_its_ports_and_the_log_of_the_run(lab: OwnLab) -> None:
    assert "host workstation: 1 x 2 Tesla T4, driver 580.95.05: workstation" in lab.output
    assert "tensorboard/tensorboard: http://127.0.0.1:16006/" in lab.output
    assert "train has ended; its log is the output logs.train of the stack" in lab.output
    assert "refused none" in lab.output


def test_the_run_had_the_limits_of_its_image_and_the_device_file_of_its_gpu_alone(lab: OwnLab) -> None:
    log = json.loads(lab.pulumi("stack", "output", "logs", "--json"))["train"]
    found = dict(line.split(maxsplit=1) for line in log.splitlines())
    assert (found["stack"], found["shm_mib"]) == (str(64 * 2**20), "1024")
    assert [each for each in found["device_files"].split(",") if each[-1].isdigit()] == ["/dev/nvidia0"]
    assert float(found["accuracy"]) > 0.8
    if found["memlock"] != "unlimited":  # where the machine's hard limit is lower, it is named
        assert f"memlock unlimited lowered to {found['memlock']}" in lab.output


def test_tensorboard_answers_on_its_named_port_with_what_the_run_wrote(lab: OwnLab) -> None:
    assert lab.output
    address = "http://127.0.0.1:16006/data/plugin/scalars/tags"

    def unseen() -> set[str]:  # TensorBoard reads its folder every few seconds
        return set() if "accuracy" in httpx.get(address, trust_env=False).text else {"accuracy"}

    wait_until(unseen, within_s=60, what="scalars that TensorBoard has not read")


def test_a_card_that_somebody_else_holds_is_refused_by_the_engine_and_named_in_a_preview(lab: OwnLab) -> None:
    image = docker(lab, "inspect", "--format", "{{.Config.Image}}", "tensorboard").strip()
    label = "gpu-commons.org/pool=workstation"
    networks = [word for card in (0, 1) for word in ("--network", f"gpu-commons-card-{card}")]
    hold = ["run", "-d", "--name", "somebody", "--label", label, *networks[:2], image, "sleep", "300"]
    docker(lab, *hold)
    docker(lab, "network", "connect", "gpu-commons-card-1", "somebody")
    try:
        second = docker(lab, "run", "--rm", *networks[:2], image, "true")
        assert "no available IPv4 addresses" in second
        with pytest.raises(LabError, match="train needs 1 cards, and 0 of 2 are free") as caught:
            lab.pulumi("preview")
        assert "container somebody" in str(caught.value)
    finally:
        docker(lab, "rm", "-f", "somebody")
    assert "no available" not in docker(lab, "run", "--rm", *networks[:2], image, "true")


def test_a_second_run_changes_nothing_and_destroy_leaves_the_data_alone(lab: OwnLab) -> None:
    assert not changes(lab.up())
    lab.pulumi("destroy", "--yes", "--skip-preview")
    assert docker(lab, "ps", "-aq") == ""
    assert "gpu-commons" not in docker(lab, "network", "ls")
    assert "perceptron-logs" in docker(lab, "volume", "ls")
