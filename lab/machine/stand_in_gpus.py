"""GPUs of a machine that has none: device files, a driver's files, and the CDI spec that NVIDIA's own program makes of
them.

NVML, `libcuda`, `nvidia-smi` and the device files are stand-ins; whoever finds, counts, hands out and mounts them is
NVIDIA's. Everything is below one folder, which stands for the root of a driver (`--driver-root`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from compat.evidence.drivers import native_cuda
from compat.facts.rows import GpuModel
from compat.values.versions import DriverVersion
from fleet.labels import gfd_product
from lab import files, processes
from lab.instance import LabError
from lab.servers import kubelet

if TYPE_CHECKING:
    from fleet.pools import NodeGpus
    from lab.instance import Instance
    from lab.servers import Tools

SOURCES: Final = Path(__file__).parent.parent / "stand_ins"
LIBRARIES: Final = Path("usr/lib/x86_64-linux-gnu")
OTHER_DEVICES: Final = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
NULL_DEVICE: Final = os.makedev(1, 3)
# A line `INDEX XID` is an error of that GPU. It is below the one mount that every device plugin has, and gone with it.
XIDS: Final = kubelet.ROOT / "device-plugins" / "gpu-commons" / "xids"
UNKNOWN_DRIVER: Final = DriverVersion.parse("580.95.05")  # where nobody knows that of the node which is played
SMI: Final = """\
#!/bin/sh
# Stands in for NVIDIA's program: this machine has no GPU.
case "$*" in
*--query-gpu=driver_version*) echo "{version}" ;;
*) echo "stand-in for nvidia-smi, driver {version}: this lab has no GPU" ;;
esac
"""


@dataclass(frozen=True, slots=True)
class StandInGpus:
    """GPUs of one model and their driver, as NVML tells them."""

    name: str
    driver: str
    cuda: tuple[int, int]
    compute_capability: tuple[int, int]
    memory_mib: int
    uuids: tuple[str, ...]
    can_be_divided: bool = False  # by MIG; none is


def played(gpus: NodeGpus, machine: str, uuids: Sequence[str] = ()) -> StandInGpus:
    """The GPUs of a node or host; one whose UUID is not known gets one that is always the same for that machine."""
    driver, model = gpus.driver or UNKNOWN_DRIVER, gpus.model
    made_up = (f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{index}.{machine}')}" for index in range(gpus.count))
    cuda = native_cuda(driver)
    return StandInGpus(
        name=_name(model, driver),
        driver=str(driver),
        cuda=(cuda.major, cuda.minor),
        compute_capability=(model.compute_capability.major, model.compute_capability.minor),
        memory_mib=model.memory_mib,
        uuids=(*uuids, *list(made_up)[len(uuids) :]),
        can_be_divided=bool(model.mig_capable),
    )


def root(instance: Instance, use: str) -> Path:
    """The driver's root of a real node (`node`) or of Docker hosts (`docker`)."""
    return instance.run / "gpus" / use


def make(instance: Instance, tools: Tools, use: str, gpus: StandInGpus | None) -> None:
    """Make device files and driver, and describe them to runtimes in `cdi`; without GPUs there is nothing. Repeatable.

    Raises LabError where this machine makes no device files, or has no C compiler.
    """
    if gpus is None:
        remove(instance, use)
        return
    where = root(instance, use)
    devices = {*(f"nvidia{index}" for index in range(len(gpus.uuids))), *OTHER_DEVICES}
    for path in (where / "dev").glob("*"):
        if path.name not in devices:
            path.unlink()
    for name in sorted(devices):
        device_file(where / "dev" / name)
    _library(where, tools, "libnvidia-ml.so", gpus.driver, ["nvml.c", *nvml_words(gpus, XIDS)])
    _library(where, tools, "libcuda.so", gpus.driver, ["driver.c", f'-DDRIVER_VERSION="{gpus.driver}"'])
    for path in (where / LIBRARIES).glob("*.so.*"):
        if path.suffix != ".1" and not path.name.endswith(f".so.{gpus.driver}"):
            path.unlink()
    files.write(where / "usr/bin/nvidia-smi", SMI.format(version=gpus.driver), mode=0o755)
    files.write(cdi(instance, use) / "nvidia.yaml", _cdi_spec(where, tools))


def cdi(instance: Instance, use: str) -> Path:
    """The folder of CDI specs for runtimes; it is empty where there are no GPUs."""
    return root(instance, use) / "etc" / "cdi"


def remove(instance: Instance, use: str) -> None:
    """Take all of it away; containers that have it must have ended."""
    shutil.rmtree(root(instance, use), ignore_errors=True)
    if (instance.run / "gpus").is_dir() and not any((instance.run / "gpus").iterdir()):
        (instance.run / "gpus").rmdir()


def labels(instance: Instance, tools: Tools, use: str) -> dict[str, str]:
    """What NVIDIA's GPU feature discovery says of them: labels that Node Feature Discovery would set on the node."""
    where = root(instance, use)
    found = where / "features"
    argv = [str(tools.path("gpu-feature-discovery")), "--oneshot", "--no-timestamp", f"--output-file={found}"]
    processes.run(argv, env=_environment(where), timeout_s=60)
    pairs = (line.partition("=") for line in found.read_text(encoding="utf-8").splitlines())
    return {key: value for key, _, value in pairs if key}


def break_one(index: int, xid: int) -> None:
    """Let a GPU of the real node fail with that error, which the device plugin reads as from a driver."""
    XIDS.parent.mkdir(parents=True, exist_ok=True)
    with XIDS.open("a") as file:
        file.write(f"{index} {xid}\n")


def device_file(path: Path) -> None:
    """A stand-in for a device: a file that swallows what is written to it. Raises LabError without CAP_MKNOD."""
    if path.exists() and stat.S_ISCHR(path.stat().st_mode):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, NULL_DEVICE)
    except PermissionError as error:
        raise LabError(f"this machine makes no device files ({path}): the lab's GPUs need CAP_MKNOD") from error
    path.chmod(0o666)


def nvml_words(gpus: StandInGpus, xids: Path) -> list[str]:
    """The compiler's words for `nvml.c`."""
    major, minor = gpus.compute_capability
    return [
        f'-DDRIVER="{gpus.driver}"',
        f'-DNAME="{gpus.name}"',
        f"-DCUDA={gpus.cuda[0] * 1000 + gpus.cuda[1] * 10}",
        f"-DMAJOR={major}",
        f"-DMINOR={minor}",
        f"-DMIB={gpus.memory_mib}",
        f'-DXID_FILE="{xids}"',
        *(["-DMIG"] if gpus.can_be_divided else []),
        "-DGPUS=" + ",".join(f'{{"{each}",1}}' for each in gpus.uuids),
    ]


def _name(model: GpuModel, driver: DriverVersion) -> str:
    """As the driver says it; GPU feature discovery makes dashes of its blanks."""
    return gfd_product(model, driver).replace("-", " ")


def _library(where: Path, tools: Tools, name: str, version: str, words: Sequence[str]) -> None:
    """Build one library of the driver, unless it is there; who has it open keeps the old one."""
    source, *defines = words
    target = where / LIBRARIES / f"{name}.{version}"
    key = hashlib.sha256((SOURCES / source).read_bytes() + repr(defines).encode()).hexdigest()
    record = where / "keys" / name
    if not (target.exists() and record.exists() and record.read_text() == key):
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{name}.draft")
        flags = ["-shared", "-fPIC", "-O1", f"-Wl,-soname,{name}.1", *defines]
        processes.run([str(tools.path("gcc")), *flags, str(SOURCES / source), "-o", str(draft)])
        draft.replace(target)
        files.write(record, key)
    link = where / LIBRARIES / f"{name}.1"
    if not link.is_symlink() or str(link.readlink()) != target.name:
        link.unlink(missing_ok=True)
        link.symlink_to(target.name)


def _cdi_spec(where: Path, tools: Tools) -> str:
    """By NVIDIA's own program: devices by index, by UUID and all of them."""
    argv = [str(tools.path("nvidia-ctk")), "cdi", "generate", "--mode=nvml", f"--driver-root={where}"]
    argv += [f"--dev-root={where}", f"--nvidia-cdi-hook-path={tools.path('nvidia-cdi-hook')}"]
    return processes.run(argv, env=_environment(where), timeout_s=60)


def _environment(where: Path) -> dict[str, str]:
    """For programs of the machine itself, where neither library nor device files are in their places."""
    return {"LD_LIBRARY_PATH": str(where / LIBRARIES), "GPU_COMMONS_DEV": str(where / "dev")}
