"""Refusals on a Docker host and in a job of Slurm: changes of a sound resource, and words of each message.

This folder tests each of them alone; tests/e2e/test_rules_of_hosts.py tests all of them together with the real engine.
"""

from __future__ import annotations

from typing import Any, Final

from shown import DIGEST, IMAGE

Changes = dict[str, Any]

CONTAINER: Final = "docker:index/container:Container"
SOUND_CONTAINER: Final[Changes] = {
    "name": "notebook",
    "image": IMAGE,
    "labels": [{"label": "gpu-commons.org/pool", "value": "box"}],
    "cpus": "4",
    "memory": 8192,
    "shmSize": 1024,
    "deviceRequests": [{"driver": "cdi", "deviceIds": ["nvidia.com/gpu=0"]}],
    "networksAdvanced": [{"name": "gpu-commons"}, {"name": "gpu-commons-card-0"}],
    "ports": [{"internal": 8888, "external": 18888, "ip": "127.0.0.1"}],
    "mounts": [{"type": "volume", "source": "homes", "target": "/home"}],
    "capabilities": {"drops": ["ALL"]},
    "securityOpts": ["no-new-privileges:true"],
    "ipcMode": "private",
    "restart": "unless-stopped",
    "mustRun": True,
}
AS_IN_A_POD: Final[list[tuple[Changes, str]]] = [
    ({"privileged": True}, "the container is privileged: it reaches every GPU of the host"),
    ({"pidMode": "host", "capabilities": {"adds": ["SYS_PTRACE"]}}, "through pidMode host and can enter them"),
    ({"envs": ["A=b", "NVIDIA_VISIBLE_DEVICES=0"]}, "envs.NVIDIA_VISIBLE_DEVICES selects GPUs by hand"),
    ({"mounts": [{"type": "bind", "source": "/dev", "target": "/d"}]}, "mounts[0].source /dev reaches every GPU"),
    ({"volumes": [{"hostPath": "/dev", "containerPath": "/d"}]}, "volumes[0].hostPath /dev reaches every GPU"),
    ({"volumes": [{"volumeName": "/dev", "containerPath": "/d"}]}, "volumes[0].volumeName /dev reaches every GPU"),
    ({"mounts": [{"type": "bind", "source": "/etc", "target": "/e"}]}, "whoever writes there reaches every GPU"),
    (
        {"mounts": [{"type": "bind", "source": "/var/run/docker.sock", "target": "/s"}]},
        "reaches the container runtime",
    ),
    ({"runtime": "nvidia", "deviceRequests": []}, "asks for no GPU under the runtime nvidia"),
    (
        {
            "mounts": [
                {
                    "type": "volume",
                    "source": "x",
                    "target": "/x",
                    "volumeOptions": {"driverOptions": {"type": "none", "o": "bind", "device": "/dev"}},
                }
            ]
        },
        "mounts[0].volumeOptions.driverOptions.device /dev reaches every GPU",
    ),
]
FITS_NO_HOST: Final[list[tuple[Changes, str]]] = [
    ({"labels": [{"label": "gpu-commons.org/pool", "value": "a100"}]}, "label gpu-commons.org/pool=a100"),
    ({"cpus": "17"}, "it requests 17 cpu, but the host has 16"),
    ({"memory": 2**17}, "memory, but the host has 64Gi"),
    ({"cpus": "many"}, '"many" is not an amount'),
]
UNCOUNTED_GPUS: Final[list[tuple[Changes, str]]] = [
    ({"gpus": "all"}, "gpus takes every GPU of the host, including those that other containers hold"),
    ({"deviceRequests": [{"driver": "cdi", "deviceIds": ["nvidia.com/gpu=all"]}]}, "takes every GPU of the host"),
    ({"deviceRequests": [{"driver": "nvidia", "count": -1, "capabilities": ["gpu"]}]}, "takes every GPU"),
    (
        {"deviceRequests": [{"driver": "nvidia", "count": 2, "capabilities": ["gpu"]}]},
        "always gives the first 2 GPUs",
    ),
    ({"gpus": "1"}, "always gives the first GPU of the host, no matter who holds them"),
    ({"gpus": '"device=0,1"'}, "gpus device=0,1 names no devices"),
    ({"gpus": "some"}, "is neither all nor device=ID"),
    ({"gpus": "device=1"}, "asks for GPU 1 without holding it"),
    ({"gpus": "device=0", "networksAdvanced": []}, "asks for GPU 0 without holding it"),
    ({"gpus": "device=GPU-3a23c669", "networksAdvanced": []}, "asks for its GPUs without holding them"),
    ({"deviceRequests": [{"deviceIds": ["0"], "count": 1}]}, "names devices and a count"),
    ({"deviceRequests": [{"driver": "cdi", "count": 1}]}, "with CDI the engine only accepts device names"),
    ({"devices": [{"hostPath": "/dev/nvidia0"}]}, "devices[0].hostPath /dev/nvidia0 passes GPUs by hand"),
    ({"devices": [{"hostPath": "nvidia.com/gpu=0"}]}, "is not a path on the host"),
    ({"devices": [{"hostPath": "/dev/sda"}]}, "is a disk of the host"),
    ({"deviceCgroupRules": ["c 195:* rmw"]}, "grants access to every GPU of the host"),
]


def asks_otherwise(changes: Changes) -> Changes:
    """The sound one's own request for a GPU gives way to another form of asking."""
    return changes if {"deviceRequests", "devices"} & {*changes} else {**changes, "deviceRequests": []}


EVERY_ADDRESS: Final[list[Changes]] = [
    *(
        {"ports": [{"internal": 80, "external": 8080, **ip}]}
        for ip in ({}, {"ip": "0.0.0.0"}, {"ip": "::"}, {"ip": ""})  # noqa: S104
    ),
    {"publishAllPorts": True},
    {"networkMode": "host"},
    {"networksAdvanced": [{"name": "gpu-commons-card-0"}, {"name": "host"}]},
]
NOT_FOR_THE_DRIVER: Final = f"docker.io/nvidia/cuda:12.4.1-runtime-ubuntu22.04@{DIGEST}"
FOR_EVER: Final[Changes] = {"mustRun": False, "attach": True, "restart": "always"}
OF_CONTAINERS: Final[list[tuple[str, Changes, str]]] = [
    *(("P-GPU", changes, words) for changes, words in AS_IN_A_POD),
    *(("P-HOST", changes, words) for changes, words in FITS_NO_HOST),
    *(("P-GPU", asks_otherwise(changes), words) for changes, words in UNCOUNTED_GPUS),
    *(("P-PORT", changes, "the host") for changes in EVERY_ADDRESS),
    ("P-RUN", {"image": NOT_FOR_THE_DRIVER}, "does not run on pool box (driver 418.88)"),
    ("P-PIN", {"image": "docker.io/library/busybox:1"}, "image docker.io/library/busybox:1 has no digest"),
    ("P-LIMIT", FOR_EVER, "starts a run that is meant to end"),
]

JOB: Final = "pulumi-python:dynamic/gpu-commons:SlurmJob"
JOBS_IMAGE: Final = "registry.example.edu/gpu-commons/cupy-cuda11@sha256:" + "0" * 64
TEXT: Final = """#!/bin/bash
#SBATCH --partition=gpu-shared
#SBATCH --gres=gpu:p100:1
export CUDA_VISIBLE_DEVICES=
singularity exec --cleanenv --contain --nv /projects/gpu-commons/images/cupy-cuda11/000000000000.sif python train.py
"""
SOUND_JOB: Final[Changes] = {
    "image": JOBS_IMAGE,
    "image_name": "cupy-cuda11",
    "pools": ["shared-p100"],
    "gpus": 1,
    "text": TEXT,
}
COUNTED_ON: Final[list[tuple[str, str]]] = [
    ("module load cuda/9.2", "'module load cuda/9.2': what it runs depends on a module of the site"),
    ("bash -c 'module load cuda/8.0; python train.py'", "'module load cuda/8.0'"),
    ("load module cuda/8.0", "'load module cuda/8.0'"),
    ("ml cuda/9.2", "'ml cuda/9.2'"),
    ("singularity run /projects/a.sif train.py --nv", "--nv comes after the image"),
    ("singularity exec -B /software/cuda/9.2 /projects/a.sif train.py", "binds the host's CUDA"),
    ("singularity exec --nv /oasis/scratch/ops/tf.simg python", "tf.simg is in /oasis/scratch, which is purged"),
    ("export CUDA_VISIBLE_DEVICES=0,1", "CUDA_VISIBLE_DEVICES=0,1 chooses GPUs in place of Slurm"),
]
NOT_FOR_K80: Final[Changes] = {
    "image": "docker.io/tensorflow/tensorflow:2.19.0-gpu", "image_name": "other", "pools": ["gpu-k80", "shared-p100"],
    "gpus": 4,
}  # fmt: skip
OF_JOBS: Final[list[tuple[str, Changes, str]]] = [
    *(("P-BATCH", {"text": f"{TEXT}{line}\n"}, words) for line, words in COUNTED_ON),
    ("P-RUN", NOT_FOR_K80, "does not run on pools gpu-k80, shared-p100"),
    ("P-HOST", {"gpus": 5}, "no pool can host it"),
]
