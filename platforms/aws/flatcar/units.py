"""Systemd units of a Flatcar GPU node: modules in order, persistence, container runtime, scratch space. Pure.

An extension brings modules and programs; the image's `nvidia.service` would then only call nvidia-smi, in no
documented order, and without an extension it compiles a driver for minutes. So it is masked, and the order is here.
The image updates itself and reboots into another kernel, which modules built for this one do not survive: that is
masked too. Nodes are replaced, not updated.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from platforms.aws.flatcar.driver import Driver, Way
from platforms.aws.flatcar.ignition import Directory, DropIn, File, Unit
from platforms.aws.flatcar.releases import Release
from platforms.aws.machine_images import KernelModule
from platforms.templates import rendered

# In this order: the others need the first. CUDA opens `nvidia-uvm`, displays open `nvidia-modeset`.
MODULES: Final = ("nvidia", "nvidia-uvm", "nvidia-modeset")
SCRATCH: Final = "/var/scratch"
ENABLED_EXTENSIONS: Final = "/etc/flatcar/enabled-sysext.conf"  # extensions that Flatcar fetches at first boot
CONTAINERD_CONFIG: Final = "/etc/containerd/config-nvidia.toml"  # used by the containerd of the toolkit's extension
RUNTIME_CONFIG: Final = "/etc/nvidia-container-runtime/config.toml"
CONTAINER_ROOT: Final = "/run/nvidia/driver"  # where a driver container exposes its libraries to the node
MASKED: Final = ("nvidia.service", "update-engine.service", "locksmithd.service", "tmp.mount")


def unit_of(module: str) -> str:
    """`load-nvidia-uvm.service` loads nvidia-uvm."""
    return f"load-{module}.service"


PERSISTENCE: Final = "nvidia-persistence.service"
CHECK_SCRATCH: Final = "check-scratch.service"


def masks() -> tuple[Unit, ...]:
    """Units of the image that must not run. Without tmp.mount, /tmp is on the root disk, not in memory."""
    return tuple(Unit(name=name, mask=True) for name in MASKED)


def before_the_kubelet(driver: Driver) -> tuple[str, ...]:
    """Units that must succeed before a node joins: a node without its driver or its scratch stays away.

    A driver container runs as a pod, so the node must join first.
    """
    modules = (unit_of(MODULES[-1]), PERSISTENCE) if driver.way is Way.EXTENSION else ()
    return (CHECK_SCRATCH, *modules)


def units(driver: Driver, release: Release) -> tuple[Unit, ...]:
    """All units in run order."""
    scratch = Unit(name=CHECK_SCRATCH, enabled=True, contents=text_of(CHECK_SCRATCH, scratch=SCRATCH))
    persistence = text_of(PERSISTENCE, after=unit_of(MODULES[-1]))
    loading = (*_loading(release), Unit(name=PERSISTENCE, enabled=True, contents=persistence))
    wait = text_of("20-scratch.conf", after=" ".join(before_the_kubelet(driver)), scratch=SCRATCH)
    containerd = Unit(name="containerd.service", enabled=True, dropins=(DropIn(name="20-scratch.conf", contents=wait),))
    return (*masks(), scratch, *(loading if driver.way is Way.EXTENSION else ()), containerd)


def files(driver: Driver) -> tuple[File, ...]:
    """Files for the units and the container runtime."""
    found = [File.of(CONTAINERD_CONFIG, text_of("containerd.toml"))]
    if driver.way is Way.CONTAINER:
        return (*found, File.of(RUNTIME_CONFIG, _RUNTIME))
    found.append(File.of(ENABLED_EXTENSIONS, f"{driver.extension}\n", overwrite=True))
    if driver.module is KernelModule.PROPRIETARY:
        found.append(File.of("/etc/modprobe.d/nvidia-gsp.conf", _GSP))
    return tuple(found)


def directories() -> tuple[Directory, ...]:
    """Scratch space on the root disk. The unit sets its mode: spec 3.4 has no sticky bit."""
    return (Directory(path=SCRATCH),)


# github.com/awslabs/amazon-eks-ami, templates/al2023/runtime/gpu/nvidia-kmod-load.sh: g4dn, g5 and g5g have an issue
# with the GPU System Processor, which only the proprietary module can leave off. Older GPUs have none.
_GSP: Final = "options nvidia NVreg_EnableGpuFirmware=0\n"
# Omitted settings are the toolkit's defaults; it finds an extension's libraries by itself.
_RUNTIME: Final = f"""\
[nvidia-container-cli]
root = "{CONTAINER_ROOT}"
ldconfig = "@/sbin/ldconfig"
"""


def _loading(release: Release) -> Iterator[Unit]:
    """One unit per module, each after the previous one; the first also checks the kernel."""
    for before, module in itertools.pairwise(("", *MODULES)):
        after = unit_of(before) if before else "systemd-sysext.service"
        values = {"module": module, "before": before, "after": after, "kernel": release.kernel_release}
        yield Unit(name=unit_of(module), enabled=True, contents=text_of("load-module.service", **values))


def text_of(name: str, **values: Any) -> str:
    """A file of a node, from its template in the folder `node`."""
    return rendered(Path(__file__).with_name("node") / f"{name}.j2", **values)
