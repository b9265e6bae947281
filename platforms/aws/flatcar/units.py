"""Systemd units of a Flatcar GPU node: modules in their order, persistence, the container runtime, scratch space. Pure.

An extension brings modules and programs, and `nvidia.service` of the image would then only call nvidia-smi, in no order
that somebody wrote down; without an extension it compiles a driver for minutes. So it is masked, and the order is here.
The image updates itself and reboots into another kernel, which modules built for this one do not survive: that is
masked as well. Nodes are replaced, not updated.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

from platforms.aws.flatcar.driver import Driver, Way
from platforms.aws.flatcar.ignition import Directory, DropIn, File, Unit
from platforms.aws.flatcar.releases import Release
from platforms.aws.machine_images import KernelModule

# In this order: the others need the first. `nvidia-uvm` is what CUDA opens, `nvidia-modeset` what displays open.
MODULES: Final = ("nvidia", "nvidia-uvm", "nvidia-modeset")
SCRATCH: Final = "/var/scratch"
ENABLED_EXTENSIONS: Final = "/etc/flatcar/enabled-sysext.conf"  # what Flatcar fetches of its release at first boot
CONTAINERD_CONFIG: Final = "/etc/containerd/config-nvidia.toml"  # that the toolkit's extension starts containerd with
RUNTIME_CONFIG: Final = "/etc/nvidia-container-runtime/config.toml"
CONTAINER_ROOT: Final = "/run/nvidia/driver"  # where a driver container shows its libraries to the node
MASKED: Final = ("nvidia.service", "update-engine.service", "locksmithd.service", "tmp.mount")
_IN_MEMORY: Final = ("tmpfs", "ramfs")


def unit_of(module: str) -> str:
    """`load-nvidia-uvm.service` loads nvidia-uvm."""
    return f"load-{module}.service"


PERSISTENCE: Final = "nvidia-persistence.service"
CHECK_SCRATCH: Final = "check-scratch.service"


def masks() -> tuple[Unit, ...]:
    """What the image would do and must not. Without tmp.mount, /tmp lies on the disk of / and not in memory."""
    return tuple(Unit(name=name, mask=True) for name in MASKED)


def before_the_kubelet(driver: Driver) -> tuple[str, ...]:
    """Units that have to have ended well before a node joins: a node without its driver or its scratch stays away.

    A driver container runs as a pod, so the node has to join first.
    """
    modules = (unit_of(MODULES[-1]), PERSISTENCE) if driver.way is Way.EXTENSION else ()
    return (CHECK_SCRATCH, *modules)


def units(driver: Driver, release: Release) -> tuple[Unit, ...]:
    """All of them, in the order in which they run."""
    loading = (*_loading(release), _persistence()) if driver.way is Way.EXTENSION else ()
    return (*masks(), _check_scratch(), *loading, _containerd(driver))


def files(driver: Driver) -> tuple[File, ...]:
    """What the units and the container runtime read."""
    found = [File.of(CONTAINERD_CONFIG, _CONTAINERD)]
    if driver.way is Way.CONTAINER:
        return (*found, File.of(RUNTIME_CONFIG, _RUNTIME))
    found.append(File.of(ENABLED_EXTENSIONS, f"{driver.extension}\n", overwrite=True))
    if driver.module is KernelModule.PROPRIETARY:
        found.append(File.of("/etc/modprobe.d/nvidia-gsp.conf", _GSP))
    return tuple(found)


def directories() -> tuple[Directory, ...]:
    """Scratch space on the root disk. Its mode is the unit's to set: spec 3.4 has no sticky bit."""
    return (Directory(path=SCRATCH),)


# github.com/awslabs/amazon-eks-ami, templates/al2023/runtime/gpu/nvidia-kmod-load.sh: g4dn, g5 and g5g have an issue
# with the GPU's own processor, which only the proprietary module can leave alone. Older GPUs have none.
_GSP: Final = "options nvidia NVreg_EnableGpuFirmware=0\n"
# As the toolkit's extension brings it, but for the default runtime: a pod gets GPUs by the runtime class `nvidia`.
# github.com/flatcar/sysext-bakery, nvidia-runtime.sysext/files/usr/share/flatcar/etc/containerd/config-nvidia.toml
_CONTAINERD: Final = """\
version = 2
oom_score = -999

[plugins."io.containerd.grpc.v1.cri"]
enable_selinux = true

[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
BinaryName = "/usr/bin/nvidia-container-runtime"
SystemdCgroup = true
"""
# Anything left out is the toolkit's default; an extension's libraries are where the toolkit looks.
_RUNTIME: Final = f"""\
[nvidia-container-cli]
root = "{CONTAINER_ROOT}"
ldconfig = "@/sbin/ldconfig"
"""


def _loading(release: Release) -> Iterator[Unit]:
    """One unit for each module, each after the one before; the first also asks for the kernel."""
    for before, module in itertools.pairwise(("", *MODULES)):
        after = unit_of(before) if before else "systemd-sysext.service"
        lines = [
            "[Unit]",
            f"Description=Load the kernel module {module}",
            f"{'Requires' if before else 'Wants'}={after}",
            f"After={after}",
            "[Service]",
            "Type=oneshot",
            "RemainAfterExit=yes",
            *([] if before else [_same_kernel(release)]),
            f"ExecStart=/usr/sbin/modprobe {module}",
            *_devices(module),
        ]
        yield _unit(unit_of(module), lines)


def _same_kernel(release: Release) -> str:
    """A node on another kernel says so, instead of a module that does not load. `$$` is a dollar to systemd."""
    kernel = release.kernel_release
    message = f"the driver of this node is for kernel {kernel}, and it runs $$(uname -r)"
    return f'ExecStartPre=/bin/sh -c \'test "$$(uname -r)" = {kernel} || {{ echo "{message}" >&2; exit 1; }}\''


def _devices(module: str) -> list[str]:
    """The device files, which modprobe does not make. Who needs one makes it too, so that a failure ends nothing."""
    flag = {"nvidia-uvm": "-u ", "nvidia-modeset": "-m "}.get(module, "")
    return [f"ExecStart=-/usr/bin/nvidia-modprobe {flag}-c 0"]


def _persistence() -> Unit:
    """The daemon where the extension has it, else the older way, which lasts until the next boot, as does this unit."""
    lines = [
        "[Unit]",
        "Description=Keep GPUs initialised while nobody uses them",
        f"Requires={unit_of(MODULES[-1])}",
        f"After={unit_of(MODULES[-1])}",
        "[Service]",
        "Type=oneshot",
        "RemainAfterExit=yes",
        "ExecStart=/bin/sh -c 'if command -v nvidia-persistenced; then nvidia-persistenced; else nvidia-smi -pm 1; fi'",
    ]
    return _unit(PERSISTENCE, lines)


def _check_scratch() -> Unit:
    in_memory = "|".join(_IN_MEMORY)
    loop = f'for d in /tmp {SCRATCH}; do case "$$(findmnt -n -o FSTYPE -T $$d)" in {in_memory})'
    failure = 'echo "$$d lies in memory: builds and downloads would fill it" >&2; exit 1;; esac; done'
    lines = [
        "[Unit]",
        "Description=Scratch space lies on a disk",
        "[Service]",
        "Type=oneshot",
        "RemainAfterExit=yes",
        f"ExecStartPre=/usr/bin/chmod 1777 {SCRATCH}",
        f"ExecStart=/bin/sh -c '{loop} {failure}'",
    ]
    return _unit(CHECK_SCRATCH, lines)


def _containerd(driver: Driver) -> Unit:
    """Containerd unpacks below its own folder, on the root disk; what else it writes goes to the scratch space."""
    wait = " ".join(before_the_kubelet(driver))
    lines = ["[Unit]", f"After={wait}", "[Service]", f"Environment=TMPDIR={SCRATCH}"]
    return Unit(
        name="containerd.service", enabled=True, dropins=(DropIn(name="20-scratch.conf", contents=_text(lines)),)
    )


def _unit(name: str, lines: list[str]) -> Unit:
    return Unit(name=name, enabled=True, contents=_text([*lines, "[Install]", "WantedBy=multi-user.target"]))


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
