"""SingularityCE in the lab's Slurm: an image runs as the account, with the driver's stand-in where `--nv` asks."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.instance import Instance
from lab.machine import sif_runtime, stand_in_gpus
from lab.servers import slurm_files
from lab.servers.slurm_config import NodeGroup
from lab.toolchain import Toolchain
from tests.lab import slurm_labs as labs

DRIVER = "470.256.02"
CPU = NodeGroup("cpu", "cpu", 1, 4, 8000, max_time_min=60)
CLUSTER = replace(labs.CLUSTER, groups=(*labs.CLUSTER.groups, CPU), driver=DRIVER, has_images=True)
CONTENT = {"bin": ("busybox", "sh", "cat", "ls", "env", "id"), "tmp": (), "dev": (), "proc": (), "sys": (), "etc": ()}


def test_of_the_tools_configuration_only_the_list_of_libraries_is_another() -> None:
    text = "# LDCONFIG PATH: [STRING]\n# ldconfig path =\nmount tmp = yes\n"
    changed = sif_runtime.configuration(text, Path("/r/ldconfig"))
    assert changed == "# LDCONFIG PATH: [STRING]\nmount tmp = yes\nldconfig path = /r/ldconfig\n"


def test_of_what_nv_brings_only_the_program_is_another() -> None:
    text = "# nvidia-smi\nnvidia-smi\nlibcuda.so\n"
    assert sif_runtime.brought_by_nv(text, Path("/r/nvidia-smi")) == "# nvidia-smi\n/r/nvidia-smi\nlibcuda.so\n"


@pytest.fixture(scope="module")
def slurm(new_instance: Callable[..., Instance]) -> Iterator[Instance]:
    with labs.running("i", new_instance, CLUSTER) as instance:
        store = slurm_files.image_store(instance)
        _image(store / "busybox.sif", store / "root")
        yield instance


def _image(target: Path, root: Path) -> None:
    """An image of busybox from a folder, made by root with the tool of the cache."""
    for folder, programs in CONTENT.items():
        (root / folder).mkdir(parents=True)
        for program in programs:
            if program == "busybox":
                (root / folder / program).write_bytes(Path("/bin/busybox").read_bytes())
                (root / folder / program).chmod(0o755)
            else:
                (root / folder / program).symlink_to("busybox")
    env = {**os.environ, "SINGULARITY_NO_PRIVS": "1"}
    subprocess.run(
        [str(Toolchain().path("singularity")), "build", str(target), str(root)], check=True, env=env, timeout=60
    )


@pytest.mark.lab
def test_nv_brings_the_stand_in_of_the_driver_and_the_devices_that_slurm_gave(slurm: Instance) -> None:
    inside = "nvidia-smi; ls /.singularity.d/libs; echo devices=$CUDA_VISIBLE_DEVICES; echo user=$(id -u)"
    script = slurm_files.home(slurm) / "inside.sh"
    script.write_text(f"{inside}\n")
    output = labs.run_job(
        slurm,
        "--partition=gpu-shared --gres=gpu:p100:2",
        "singularity exec --nv ../images/busybox.sif sh inside.sh",
    )
    assert f"stand-in for nvidia-smi, driver {DRIVER}" in output
    assert {"libcuda.so.1", "libnvidia-ml.so.1"} <= {*output.split()}
    assert "devices=0,1" in output
    assert f"user={pwd.getpwnam(slurm_files.account(slurm)).pw_uid}" in output


@pytest.mark.lab
@pytest.mark.parametrize(
    ("options", "numbered"),
    [("--partition=gpu-shared --gres=gpu:p100:1", 4), ("--partition=gpu --gres=gpu:k80:1", 4), ("--partition=cpu", 0)],
)
def test_a_job_sees_the_device_files_of_its_node(slurm: Instance, options: str, numbered: int) -> None:
    output = labs.run_job(slurm, options, "singularity exec --nv ../images/busybox.sif ls /dev")
    found = {name for name in output.split() if name.startswith("nvidia")}
    assert found == {*stand_in_gpus.device_names(numbered)}
    assert {"null", "shm", "pts", "fuse"} <= {*output.split()}


@pytest.mark.lab
def test_the_version_of_the_driver_is_read_from_its_library(slurm: Instance) -> None:
    library = slurm_files.root(slurm) / "driver" / stand_in_gpus.LIBRARIES / "libnvidia-ml.so.1"
    read = (
        "import ctypes; n = ctypes.CDLL(path); b = ctypes.create_string_buffer(32); n.nvmlInit_v2();"
        "assert n.nvmlSystemGetDriverVersion(b, 32) == 0; print(b.value.decode())"
    )
    output = labs.ssh(slurm, f"/usr/bin/env python3 -c 'path = \"{library}\"; {read}'")
    assert output == DRIVER
