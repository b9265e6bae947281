"""Classifies node folders: those root relies on, and data of people and programs. Data and three questions."""

from __future__ import annotations

import re
from typing import Final

# Programs, settings, static pods and containers that root runs or obeys. A writer there becomes root.
_OBEYED: Final = (
    *("/bin", "/boot", "/efi", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/root", "/sbin", "/snap"),
    *("/opt/bin", "/opt/cni", "/opt/containerd", "/opt/nri", "/opt/nvidia"),
    *("/proc/sys/fs", "/proc/sys/kernel", "/proc/sysrq-trigger", "/sys", "/usr"),
    *("/var/spool/anacron", "/var/spool/at", "/var/spool/cron"),
    *("/run/cdi", "/run/cloud-init", "/run/containerd", "/run/crio", "/run/docker", "/run/k0s", "/run/k3s"),
    *("/run/systemd", "/run/udev/rules.d"),
    *("/var/lib/cloud", "/var/lib/containerd", "/var/lib/containers", "/var/lib/docker", "/var/lib/dpkg"),
    *("/var/lib/etcd", "/var/lib/k0s", "/var/lib/kubelet", "/var/lib/rpm", "/var/lib/snapd", "/var/lib/systemd"),
    *("/var/lib/rancher/k3s/agent", "/var/lib/rancher/k3s/server", "/var/lib/rancher/rke2"),
)
# Subpaths that only hold data.
_DATA_WITHIN: Final = (
    *("/etc/ca-certificates", "/etc/hostname", "/etc/hosts", "/etc/localtime", "/etc/lsb-release", "/etc/machine-id"),
    *("/etc/os-release", "/etc/pki", "/etc/resolv.conf", "/etc/ssl", "/etc/timezone", "/run/systemd/journal"),
    *("/sys/fs/bpf", "/sys/kernel/debug", "/sys/kernel/tracing", "/usr/lib/os-release", "/usr/local/share"),
    *("/usr/share", "/usr/src", "/var/lib/cloud/data", "/var/lib/docker/containers"),
    *("/var/lib/kubelet/plugins", "/var/lib/kubelet/plugins_registry", "/var/lib/kubelet/pod-resources"),
    "/var/lib/kubelet/pods",
)
# Folders for data of people and programs, and unowned devices.
_DATA: Final = (
    *("/backup", "/backups", "/cache", "/cephfs", "/cluster", "/data", "/datasets", "/export", "/exports", "/gpfs"),
    *("/home", "/local", "/lustre", "/media", "/mnt", "/models", "/nfs", "/project", "/projects", "/scratch"),
    *("/shared", "/software", "/srv", "/ssd", "/storage", "/tmp", "/users", "/volumes", "/work", "/workspace"),  # noqa: S108
    "/dev",  # devices other than GPUs: the device cgroup keeps them closed
    *("/lost+found", "/opt/local-path-provisioner", "/run/xtables.lock"),
    *("/var/backups", "/var/cache", "/var/data", "/var/local", "/var/log", "/var/mail", "/var/nfs", "/var/openebs"),
    *("/var/tmp", "/var/www", "/var/lib/docker-volumes"),  # noqa: S108 - of the node
)
_DATA_NAMED: Final = re.compile(r"^/(?:data|disk|mnt|scratch|ssd|nvme|volume|hdd|raid)-?\d+(?:/|$)|^/run/[^/]+\.pid$")
# In any home: keys that grant logins, and files that the next login runs.
_LOGIN: Final = re.compile(
    r"/(?:\.ssh|authorized_keys2?)(?:/|$)"
    r"|/\.(?:bash|zsh|k?sh|tcsh|csh)(?:rc|env|_profile|_login|_logout|_aliases)$|/\.z?(?:profile|shenv|login)$"
    r"|^/home/(?:.*/)?\.(?:config|local|pam_environment|xprofile|kube|docker|gnupg|aws|pki)(?:/|$)"
)
_CACHE: Final = re.compile(r"^/home/(?:.*/)?\.(?:cache|conda|ipython|jupyter|keras|nv|torch)(?:/|$)")
_HIDDEN: Final = re.compile(r"^/home/(?:.*/)?\.[^/]")
_SOCKET: Final = re.compile(r"\.sock(?:et)?s?(?:\.\w+)?$")


def is_obeyed(path: str) -> bool:
    """Whether a writer there becomes root of the node."""
    if _LOGIN.search(path) or any(each.startswith(f"{path}/") for each in _OBEYED):
        return True
    return is_below(path, _OBEYED) and not is_below(path, _DATA_WITHIN)


def is_data(path: str) -> bool:
    """Whether the data only matters to people and programs."""
    if _HIDDEN.match(path) and not _CACHE.match(path):
        return False
    return is_below(path, (*_DATA, *_DATA_WITHIN)) or bool(_DATA_NAMED.match(path))


def is_socket(path: str) -> bool:
    """Whether its name is a socket's: readOnly does not prevent connections to it."""
    return bool(_SOCKET.search(path))


def is_below(path: str, places: tuple[str, ...]) -> bool:
    """Whether it is one of these places or inside one."""
    return any(path == each or path.startswith(f"{each}/") for each in places)
