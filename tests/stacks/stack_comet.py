"""comet: jobs in partitions of Slurm, and one image for two generations of GPUs."""

from __future__ import annotations

from own_lab import OwnLab

from lab.servers import slurm_files
from tests.lab import slurm_labs
from tests.stacks.contract import Contract, Window

JOBS = ("whole-node", "shared-p100", "shared-any")
OF_A_NODE = ",".join(f"/dev/nvidia{number}" for number in range(4))
NO_DEVICE = "not: cudaErrorNoDevice: no CUDA-capable device is detected"  # the driver suffices; the lab has no GPU


def submitted(lab: OwnLab, job: str) -> list[str]:
    """Numbers of all jobs of that name that Slurm ever gave a node."""
    output = slurm_labs.ssh(lab.instance, "sacct -n -P -X -o jobid,jobname,nodelist -S now-1days")
    rows = [line.split("|") for line in output.splitlines()]
    return [number for number, name, nodes in rows if name.startswith(f"{job}-") and nodes != "None assigned"]


def use(lab: OwnLab, window: Window) -> None:
    """Each job ran once, and saw exactly the devices that Slurm gave it."""
    del window
    logs = lab.output_of("logs").items()
    seen = {name: dict(line.split(maxsplit=1) for line in log.splitlines()) for name, log in logs}
    whole, one, two = (seen[name] for name in JOBS)
    assert (whole["slurm_job_partition"], whole["cuda_visible_devices"], whole["slurm_job_gpus"]) == (
        "gpu", "0,1,2,3", "0,1,2,3",
    )  # fmt: skip
    assert (one["slurm_job_partition"], one["cuda_visible_devices"]) == ("gpu-shared", one["slurm_job_gpus"])
    assert len(one["slurm_job_gpus"].split(",")) == 1
    assert (two["slurm_job_partition"], two["cuda_visible_devices"]) == ("gpu-shared", two["slurm_job_gpus"])
    assert len(two["slurm_job_gpus"].split(",")) == 2
    assert {each["driver"] for each in seen.values()} == {"470.256.02"}  # --nv brings the stand-in of the driver
    assert {each["cupy"] for each in seen.values()} == {"13.6.0"}
    assert {(each["device_files"], each["sum"]) for each in seen.values()} == {(OF_A_NODE, NO_DEVICE)}
    assert [len(submitted(lab, job)) for job in JOBS] == [1, 1, 1]


def left(lab: OwnLab) -> None:
    """Nothing in the queue, no job that ran twice, and the files of images, which others may use."""
    assert slurm_labs.queue(lab.instance, "%j") == []
    assert [len(submitted(lab, job)) for job in JOBS] == [1, 1, 1]
    assert [*slurm_files.image_store(lab.instance).glob("cupy-cuda11/*.sif")]


CONTRACT = Contract(
    "comet",
    printed=("sinfo",),
    use=use,
    other_driver="390.157",
    refusal=r"P-RUN: .{0,80}cupy-cuda11\S* does not run on pools? .{0,80}shared-p100.{0,20} \(driver 390\.157\)",
    left=left,
)
