"""Systemd units of a Flatcar GPU node: modules in order, persistence, container runtime, scratch space. Pure.

An extension brings modules and programs; the image's `nvidia.service` would then only call nvidia-smi, in no
documented order, and without an extension it compiles a driver for minutes. So it is masked, and the order is here.
The image updates itself and reboots into another kernel, which modules built for this one do not survive: that is
masked too. Nodes are replaced, not updated.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

from platforms.aws.flatcar.driver import Driver, Way
from platforms.aws.flatcar.ignition import Directory, DropIn, File, Unit
from platforms.aws.flatcar.releases import Release
from platforms.aws.machine_images import KernelModule

# In this order: the others need the first. CUDA opens `nvidia-uvm`, displays open `nvidia-modeset`.
MODULES: Final = ("nvidia", "nvidia-uvm", "nvidia-modeset")
SCRATCH: Final = "/var/scratch"
ENABLED_EXTENSIONS: Final = "/etc/flatcar/enabled-sysext.conf"  # extensions that Flatcar fetches at first boot
CONTAINERD_CONFIG: Final = "/etc/containerd/config-nvidia.toml"  # used by the containerd of the toolkit's extension
RUNTIME_CONFIG: Final = "/etc/nvidia-container-runtime/config.toml"
CONTAINER_ROOT: Final = "/run/nvidia/driver"  # where a driver container exposes its libraries to the node
MASKED: Final = ("nvidia.service", "update-engine.service", "locksmithd.service", "tmp.mount")
_IN_MEMORY: Final = ("tmpfs", "ramfs")


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
    loading = (*_loading(release), _persistence()) if driver.way is Way.EXTENSION else ()
    return (*masks(), _check_scratch(), *loading, _containerd(driver))


def files(driver: Driver) -> tuple[File, ...]:
    """Files for the units and the container runtime."""
    found = [File.of(CONTAINERD_CONFIG, _CONTAINERD)]
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
# As in the toolkit's extension, except the default runtime: pods get GPUs by the runtime class `nvidia`.
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
    """Reports another kernel, instead of failing to load a module. `$$` is a dollar to systemd."""
    kernel = release.kernel_release
    message = f"the driver of this node is for kernel {kernel}, and it runs $$(uname -r)"
    return f'ExecStartPre=/bin/sh -c \'test "$$(uname -r)" = {kernel} || {{ echo "{message}" >&2; exit 1; }}\''


def _devices(module: str) -> list[str]:
    """Device files, which modprobe does not create. Their users also create them, so a failure breaks nothing."""
    flag = {"nvidia-uvm": "-u ", "nvidia-modeset": "-m "}.get(module, "")
    return [f"ExecStart=-/usr/bin/nvidia-modprobe {flag}-c 0"]


def _persistence() -> Unit:
    """The daemon if the extension has it, else the older way, which lasts until the next boot, as does this unit."""
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
    """Containerd unpacks in its own folder on the root disk; its other data goes to the scratch space."""
    wait = " ".join(before_the_kubelet(driver))
    lines = ["[Unit]", f"After={wait}", "[Service]", f"Environment=TMPDIR={SCRATCH}"]
    return Unit(
        name="containerd.service", enabled=True, dropins=(DropIn(name="20-scratch.conf", contents=_text(lines)),)
    )


def _unit(name: str, lines: list[str]) -> Unit:
    return Unit(name=name, enabled=True, contents=_text([*lines, "[Install]", "WantedBy=multi-user.target"]))


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
