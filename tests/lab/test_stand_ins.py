"""Substitute images say what they stand for; those with a program of NVIDIA have its real one."""

from __future__ import annotations

import ctypes
import json
import shutil
from pathlib import Path

import pytest

from lab import processes
from lab.instance import Instance
from lab.machine import stand_in_gpus
from lab.stand_ins import images

PROJECT = Path(__file__).parents[2]
DEVICE_PLUGIN = (
    "nvcr.io/nvidia/k8s-device-plugin:v0.17.1@sha256:af31e2b7c7f89834c4e5219860def7ac2e49a207b3d4e8610d5a26772b7738e5"
)
BUSYBOX = "docker.io/library/busybox:1.36.1@sha256:73aaf090f3d85aa34ee199857f03fa3a95c8ede2ffd4cc2cdb5b94e566b11662"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    for name in ("busybox", "gpu-feature-discovery", "nfd-gc", "nfd-master", "nvidia-device-plugin"):
        (tmp_path / name).write_text(name)
    return tmp_path


class Folder:
    """Programs that are files in one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        return self.root / name


def test_every_substitute_names_the_image_it_stands_for(programs: Path) -> None:
    found = {image.name: image.stands_for for image in images.images(Folder(programs))}
    assert found == {
        "lab/pause": "registry.k8s.io/pause:3.10.1",
        "lab/busybox": "docker.io/library/busybox:1.36",
        "lab/device-plugin": DEVICE_PLUGIN,
        "lab/node-feature-discovery": (
            "registry.k8s.io/nfd/node-feature-discovery:v0.18.3@sha256:"
            "f9ef2ebee55141a1758d3c0a87bb701f5db2adf6856f7218b11bc2bac7b63862"
        ),
        "lab/persistence-daemon": BUSYBOX,
    }


def test_a_driver_container_of_the_stack_has_a_stand_in_that_answers_to_its_words(programs: Path) -> None:
    key = "580-6.12.102-flatcar-flatcar4593.2.5"
    reference = f"registry.example.edu/drivers/nvidia:{key}@sha256:{'5' * 64}"
    *_, driver = images.images(Folder(programs), [reference])
    assert (driver.name, driver.stands_for, driver.drives_gpus) == (f"lab/driver/{key}", reference, True)
    (line,) = [each for each in driver.dockerfile.splitlines() if each.startswith("ENTRYPOINT ")]
    _, *command = json.loads(line.removeprefix("ENTRYPOINT "))  # without busybox, whose shell is this machine's sh
    output = processes.run([*command, "check", "6.12.102-flatcar"])
    assert output.startswith("stands for a driver container in the lab of gpu-commons; no module is loaded")


def test_cuda_has_the_version_of_its_driver_and_no_device_whatever_is_called(tmp_path: Path) -> None:
    folder = Folder(Path(shutil.which("gcc") or pytest.skip("no C compiler")).parent)
    words = stand_in_gpus.driver_words("470.256.02")
    cuda = ctypes.CDLL(str(stand_in_gpus.library(tmp_path, folder, "libcuda.so", "470.256.02", words)))
    version, found = ctypes.c_int(), ctypes.c_void_p()
    assert (cuda.cuDriverGetVersion(ctypes.byref(version)), version.value) == (0, 11040)
    assert cuda.cuInit(0) == 100
    assert cuda.cuGetProcAddress(b"cuMemAlloc", ctypes.byref(found), 11030, ctypes.c_uint64(0), None) == 0
    assert ctypes.CFUNCTYPE(ctypes.c_int)(found.value)() == 100


def test_the_device_plugin_is_found_under_the_name_of_the_real_program(programs: Path) -> None:
    assert images.find(images.DEVICE_PLUGIN, Folder(programs)).dockerfile == (
        f"# In the lab of gpu-commons, in place of {DEVICE_PLUGIN}.\n"
        "FROM scratch\n"
        f'LABEL org.gpu-commons.lab.substitute="{DEVICE_PLUGIN}"\n'
        "COPY --chmod=755 nvidia-device-plugin /usr/bin/nvidia-device-plugin\n"
        "COPY --chmod=755 gpu-feature-discovery /usr/bin/gpu-feature-discovery\n"
        "COPY --chmod=755 ld-linux-x86-64.so.2 /lib64/ld-linux-x86-64.so.2\n"
        "COPY --chmod=755 libc.so.6 /lib/x86_64-linux-gnu/libc.so.6\n"
        "ENV PATH=/usr/bin:/bin\n"
        'ENTRYPOINT ["nvidia-device-plugin"]\n'
    )


def test_another_program_is_another_tag(programs: Path) -> None:
    before = images.find(images.PAUSE, Folder(programs))
    instance = Instance("default", 0, programs, {"registry": 5000})
    reference, tag = before.reference(instance), before.tag
    assert reference == f"127.0.0.1:5000/lab/pause:{tag}"
    (programs / "busybox").write_text("a newer one")
    assert images.find(images.PAUSE, Folder(programs)).tag != tag
