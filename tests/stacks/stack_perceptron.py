"""perceptron: a training run with one GPU of a Docker host, and TensorBoard that shows what it wrote."""

from __future__ import annotations

import httpx
from own_lab import OwnLab

from lab.cluster import wait_until
from tests.stacks.contract import Contract, Window


def use(lab: OwnLab, window: Window) -> None:
    """The run had the limits of its image and the device file of its GPU alone; TensorBoard has read its scalars."""
    del window
    found = dict(line.split(maxsplit=1) for line in lab.output_of("logs")["train"].splitlines())
    assert (found["stack"], found["shm_mib"]) == (str(64 * 2**20), "1024")
    assert [each for each in found["device_files"].split(",") if each[-1].isdigit()] == ["/dev/nvidia0"]
    assert float(found["accuracy"]) > 0.8
    if found["memlock"] != "unlimited":  # where the machine's hard limit is lower, it is named
        assert f"memlock unlimited lowered to {found['memlock']}" in lab.output
    address = "http://127.0.0.1:16006/data/plugin/scalars/tags"

    def unseen() -> set[str]:  # TensorBoard reads its folder every few seconds
        return set() if "accuracy" in httpx.get(address, trust_env=False).text else {"accuracy"}

    wait_until(unseen, within_s=60, what="scalars that TensorBoard has not read")


def left(lab: OwnLab) -> None:
    assert lab.docker("ps", "-aq") == ""
    assert "gpu-commons" not in lab.docker("network", "ls")
    assert "perceptron-logs" in lab.docker("volume", "ls")


CONTRACT = Contract(
    "perceptron",
    printed=(
        r"host workstation: 1 x 2 Tesla T4, driver 580\.95\.05: workstation",
        r"tensorboard/tensorboard: http://127\.0\.0\.1:16006/",
        r"train has ended; its log is the output logs\.train of the stack",
    ),
    use=use,
    other_driver="418.88",
    refusal=r"P-RUN: .{0,80}perceptron\S* does not run on pool workstation \(driver 418\.88\)",
    left=left,
)
