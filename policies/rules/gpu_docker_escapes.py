"""Docker-only ways to a GPU: uncounted requests, cgroup rules, disks, namespaces. Pure.

Engines do not count devices: any container that names a GPU gets it. A container holds a pool's GPU by
joining the GPU's network, which has room for one; a request without that network is like a pod without a request.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from fleet.unknown import UNKNOWN, Unknown
from platforms.docker.gpu_leases import NETWORK
from policies.docker_gpus import GPU_DEVICES, gpu_requests
from policies.finding import Finding, Level
from policies.model import Coverage, Site, Workload
from policies.scheduling import possible_pools
from policies.shapes import at, items, listed, text

# NVIDIA's device number is 195; a container may create device files itself.
_OPENS_GPUS: Final = re.compile(r"^\s*[ac]\s+(?:195|\*)\s*:")
_DISKS: Final = re.compile(r"^/dev/(?:[shv]d[a-z]|xvd|nvme\d|dm-|md\d|mapper/|mmcblk|loop|block(?:/|$)|disk(?:/|$))")
# Options that disable an isolation mechanism, and the mechanism. Sources: github:moby/moby daemon/daemon_unix.go
# parseSecurityOpt, github:docker/cli cli/command/container/opts.go parseSystemPaths.
_OPEN_WALLS: Final = {
    "seccomp=unconfined": "the system-call filter",
    "apparmor=unconfined": "the AppArmor profile",
    "label=disable": "SELinux labelling",
    "systempaths=unconfined": "the protection of /proc and /sys",
}
_SHARED: Final = {
    "ipcMode": "shares memory with every process of the host that does the same, including other people's",
    "usernsMode": "switches off user-namespace remapping: root in the container is root on the host",
}


def faults(workload: Workload) -> Iterator[Finding]:
    """GPU requests rejected by the provider or the engine."""
    for each in gpu_requests(workload.container_inputs):
        if each.fault:
            yield Finding(
                each.fault, remedy='Write deviceRequests: [{driver: nvidia, capabilities: [gpu], deviceIds: ["0"]}].'
            )


def of_container(workload: Workload, site: Site) -> Iterator[Finding]:
    """Empty for pods."""
    inputs = workload.container_inputs
    yield from _uncounted(workload, site)
    yield from _cgroup_rules(inputs.get("deviceCgroupRules"))
    yield from _devices(inputs.get("devices"))
    yield from _walls(inputs.get("securityOpts"))
    for key, what in _SHARED.items():
        if inputs.get(key) is UNKNOWN:
            yield Finding(f"{key} is not known yet", Level.UNPROVED)
        elif inputs.get(key) == "host":
            yield Finding(f"{key} host {what}", Level.WARN, remedy=f"Remove {key}.")
    for index, each in enumerate(items(inputs.get("volumes"))):
        if at(each, "fromContainer"):
            yield Finding(
                f"volumes[{index}].fromContainer takes the mounts of another container, which may reach GPUs",
                Level.UNPROVED,
            )


def _uncounted(workload: Workload, site: Site) -> Iterator[Finding]:
    """Requests for GPUs others may hold. A manually mapped device is no request; other checks refuse it."""
    requests = [each for each in gpu_requests(workload.container_inputs) if not each.is_by_hand and not each.fault]
    for each in requests:
        if each.takes_all:
            yield Finding(f"{each.where} takes every GPU of the host, including those that other containers hold")
        elif each.count > 0:
            # Source: github:moby/moby daemon/devices_nvidia_linux.go, countToDevices.
            which = "the first GPU" if each.count == 1 else f"the first {each.count} GPUs"
            yield Finding(f"{each.where} has a count, which always gives {which} of the host, no matter who holds them")
    named = [device for each in requests if not each.takes_all for device in each.devices]
    pools = {*possible_pools(workload, site)} if named else ()
    if named and not (pools and pools <= site.shared_hosts):
        names = [at(each, "name") for each in items(workload.container_inputs.get("networksAdvanced"))]
        yield from _not_held(named, [each for each in names if isinstance(each, str | Unknown)], site)


def _not_held(named: list[str], networks: list[str | Unknown], site: Site) -> Iterator[Finding]:
    """An index belongs to the network with its number; a UUID's number is unknown here, so UUIDs are counted."""
    held = {name.removeprefix(NETWORK) for name in map(text, networks) if name.startswith(NETWORK)}
    free = [each for each in dict.fromkeys(named) if each.isdecimal() and each not in held]
    by_uuid = {each for each in named if not each.isdecimal()}
    if not free and len(by_uuid) <= len(held - set(named)):
        return
    which = f"GPU {', '.join(free)}" if free else "its GPUs"
    if UNKNOWN in networks:
        yield Finding(f"whether it holds {which} depends on its networks, which are not known yet", Level.UNPROVED)
    elif site.coverage is Coverage.ALL:
        them = "it" if len(free) == 1 else "them"
        yield Finding(
            f"it asks for {which} without holding {them}: another container may use {them} at the same time",
            remedy=f"Use DockerGpuContainer, or join the network {NETWORK}N of GPU N: it has room for one container.",
        )
    else:
        yield Finding(f"it is not known whether another container uses {which} at the same time", Level.UNPROVED)


def _cgroup_rules(rules: Any) -> Iterator[Finding]:
    for index, rule in enumerate(listed(rules)):
        if rule is UNKNOWN:
            yield Finding(f"deviceCgroupRules[{index}] is not known yet: it may grant access to GPUs", Level.UNPROVED)
        elif _OPENS_GPUS.match(text(rule)):
            yield Finding(
                f"deviceCgroupRules[{index}] {rule} grants access to every GPU of the host", remedy="Remove it."
            )


def _devices(devices: Any) -> Iterator[Finding]:
    """A mapped device is accessible, unlike a merely mounted file below /dev."""
    for index, each in enumerate(items(devices)):
        path = text(at(each, "hostPath"))
        device = f"devices[{index}].hostPath {path}"
        if path.startswith(GPU_DEVICES):
            yield Finding(f"{device} passes GPUs by hand, no matter who holds them, and without the driver's libraries")
        elif _DISKS.match(path):
            what = "is a disk of the host: whoever writes to it controls the host, and reaches every GPU"
            yield Finding(f"{device} {what}", remedy="Mount a volume or a folder.")


def _walls(options: Any) -> Iterator[Finding]:
    for each in listed(options):
        if each is UNKNOWN:
            yield Finding("securityOpts are not known yet", Level.UNPROVED)
        elif wall := _OPEN_WALLS.get(text(each).replace(":", "=")):
            yield Finding(f"securityOpts {each} switches off {wall}", Level.WARN, remedy="Remove it.")
