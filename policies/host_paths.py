"""Host paths that lead to GPUs: device files, runtime sockets, and their aliases. Pure."""

import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from fleet.unknown import UNKNOWN
from policies.finding import Finding, Level
from policies.model import HostPath
from policies.shapes import at, items
from policies.vocabulary import KUBERNETES, Vocabulary, sentence

_PATHS_BY_ROLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_OBEYED: Final = tuple(_PATHS_BY_ROLE["obeyed"])
_DATA_WITHIN: Final = tuple(_PATHS_BY_ROLE["data_within"])
_DATA: Final = tuple(_PATHS_BY_ROLE["data"])
RUNTIME_SOCKETS: Final = tuple(_PATHS_BY_ROLE["runtime_sockets"])
_DEVICES: Final = tuple(_PATHS_BY_ROLE["devices"])
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


DEVICE_PLUGINS: Final = "/var/lib/kubelet/device-plugins"
PLUGINS: Final = (DEVICE_PLUGINS, "/var/lib/kubelet/plugins_registry")
# A mount here selects the GPUs with its name: container toolkit,
# accept-nvidia-visible-devices-as-volume-mounts. Source: github:NVIDIA/nvidia-container-toolkit
# internal/config/image/cuda_image.go.
DEVICES_AS_MOUNTS: Final = "/run/nvidia-container-devices"
_ALL: Final = "volumes"  # place of volumes that are not known yet
_PATHS: Final = re.compile(r"(?<![\w.@/-])/[\w./-]*")  # paths in a text
# Per user: /run/user/1000/podman/podman.sock, docker.sock, the bus by which systemd starts programs, and their
# folders; LXD's; a runtime socket moved elsewhere.
_OTHER_SOCKETS: Final = re.compile(
    r"^/run/user(?:/[^/]+(?:/(?:bus|systemd(?:/.*)?|(?:podman|containerd|docker|buildkit)[^/]*(?:/.*)?"
    r"|.*\.sock[^/]*))?)?$"
    r"|^/var/lib/(?:incus|lxd)(?:/unix\.socket)?$"
    r"|/(?:docker|containerd|crio|cri-dockerd|dockershim|podman|buildkitd|nri|isulad|frakti)\.sock[^/]*$"
)
_EVERYTHING: Final = {"/", "/dev", "/dev/char", "/dev/kmem", "/dev/mem", "/run/nvidia"}
_MAYBE_DEVICES: Final = ("/dev/dri", "/dev/vfio")  # GPUs of any vendor
# Aliases of the node's root, or the driver container's.
_ROOTS: Final = re.compile(r"^(?:/proc/[^/]+(?:/task/[^/]+)?/(?:root|cwd)|/run/nvidia/driver)(?=/|$)")
# Paths into node processes: open files, memory, namespaces, and their parent folders.
_PROCESS: Final = re.compile(
    r"^/proc/(?:\d+|self|thread-self)(?:/task(?:/\d+)?)?(?:$|/(?:fd|exe|map_files|mem|ns)(?:/.*)?$)"
)


def check_path(
    label: str, path: str, words: Vocabulary = KUBERNETES, *, is_written: bool | None = False
) -> Iterator[Finding]:
    """GPU access by a mount of this host path; `label` names the mount in messages.

    Devices and sockets work even read-only. `is_written` is None if not known yet.
    """
    for found in _reached(label, plain(path.strip()), words, is_written=is_written):
        yield replace(found, names_gpus=names_gpus(path))


def names_gpus(path: str) -> bool:
    """Whether a path's name is NVIDIA's."""
    return "nvidia" in path


def _reached(label: str, path: str, words: Vocabulary, *, is_written: bool | None) -> Iterator[Finding]:
    node = words.node
    if path in _EVERYTHING or path.startswith(_DEVICES):
        yield Finding(f"{label} reaches every GPU of the {node}")
    elif _PROCESS.match(path):
        yield Finding(f"{label} reaches into a process of the {node}, and through it every GPU")
    elif _is_runtime_socket(path):  # also in a folder that root obeys: nothing but the socket can be written to
        yield _of_runtime(label, words)
    elif is_written is not False and is_obeyed(path) and path not in PLUGINS:
        doubt = "" if is_written else ", unless it is mounted with readOnly, which is not known yet"
        read_only = "Mount it with readOnly: true" if words == KUBERNETES else "Mount it read-only (readOnly: true)"
        yield Finding(
            f"{label} controls what root on the {node} does: whoever writes there reaches every GPU{doubt}",
            Level.REFUSE if is_written else Level.UNPROVED,
            remedy=f"{read_only}, or mount only the file that it needs.",
        )
    elif path == "/proc":
        yield Finding(
            f"{label} exposes the processes of the {node}, including those that use other people's GPUs",
            Level.WARN,
            remedy="Mount only the file below /proc that it reads.",
        )
    elif is_below(path, _MAYBE_DEVICES):
        yield Finding(
            f"{label} reaches the devices of the {node}'s GPUs, of any vendor",
            Level.WARN,
            remedy=f"{sentence(words.requests)}, and remove the {words.volume}.",
        )
    elif _OTHER_SOCKETS.search(path) or any(socket.startswith(f"{path}/") for socket in RUNTIME_SOCKETS):
        yield _of_runtime(label, words)
    elif path in PLUGINS or DEVICE_PLUGINS.startswith(f"{path}/"):
        yield _of_plugins(label, words, is_written=is_written)
    elif (is_written is not False and not is_data(path)) or is_socket(path):
        program = f"which program on the {node} uses what is written there"
        what = "what listens there" if is_socket(path) else program
        yield Finding(f"{label}: it is not known {what}; it may run as root", Level.UNPROVED)


def _is_runtime_socket(path: str) -> bool:
    return path.removesuffix(".ttrpc") in RUNTIME_SOCKETS or (is_socket(path) and bool(_OTHER_SOCKETS.search(path)))


def _of_runtime(label: str, words: Vocabulary) -> Finding:
    return Finding(
        f"{label} reaches the container runtime of the {words.node}, which starts containers with any GPU",
        remedy=f"Remove the {words.volume}; building images and watching containers works without the socket.",
        is_runtime=True,
    )


def _of_plugins(label: str, words: Vocabulary, *, is_written: bool | None) -> Finding:
    """Device plugin folder: an unprivileged plugin can allocate GPUs, even those of others."""
    doubt = "" if is_written else ", unless it is mounted with readOnly, which is not known yet"
    exempt = ", or name the image of a device plugin in site.runtime_daemons" if words == KUBERNETES else ""
    return Finding(
        f"{label} reaches the sockets through which containers get their GPUs"
        + (
            ""
            if is_written is False
            else f": a process that can write there can register a device plugin and allocate any GPU{doubt}"
        ),
        Level.WARN if is_written is False else Level.REFUSE if is_written else Level.UNPROVED,
        remedy=f"Remove the {words.volume}{exempt}.",
    )


def check_host_path(mount: HostPath, words: Vocabulary = KUBERNETES, *, is_written: bool | None) -> Iterator[Finding]:
    """GPU access by a host path that a workload or PersistentVolume mounts."""
    if isinstance(mount.path, str):
        yield from check_path(f"{mount.place} {mount.path}", mount.path, words, is_written=is_written)
    elif mount.path is UNKNOWN:
        what = "are not known yet: one" if mount.place == _ALL else "is not known yet: it"
        yield Finding(f"{mount.place} {what} may reach the devices of the {words.node}", Level.UNPROVED)


def of_volumes(volumes: Any) -> Iterator[HostPath]:
    """Host paths among a pod's volumes."""
    if volumes is UNKNOWN:
        yield HostPath(_ALL, UNKNOWN, UNKNOWN)
        return
    for index, volume in enumerate(items(volumes)):
        yield from of_volume(f"volumes[{index}]", volume)


def of_volume(place: str, volume: Any, kinds: Sequence[str] = ("hostPath",)) -> Iterator[HostPath]:
    """Paths of the node in a volume or PersistentVolume: `hostPath.path`, `local.path`."""
    for kind in kinds:
        source = at(volume, kind)
        path = source.get("path") if isinstance(source, Mapping) else source
        if path is UNKNOWN:
            yield HostPath(place, UNKNOWN, at(volume, "name"))
            return
        if isinstance(path, str):
            yield HostPath(f"{place}.{kind}", path, at(volume, "name"))


def check_driver(path: str, volume: Any) -> Iterator[Finding]:
    """Host paths in the options of a volume's storage driver: their use is unknown."""
    for kind in ("csi", "flexVolume"):
        source = volume.get(kind) if isinstance(volume, Mapping) else None
        options = [source.get(key) for key in ("volumeAttributes", "options")] if isinstance(source, Mapping) else []
        for where in (where for each in options if isinstance(each, Mapping) for where in reaches(repr(each))):
            yield Finding(f"{path}.{kind} names {where}: it is not known what its driver mounts", Level.UNPROVED)


def reaches(text: str) -> Iterator[str]:
    """Paths in a text, such as an annotation, that reach node GPUs."""
    for path in _PATHS.findall(text):
        if any(each.level is Level.REFUSE for each in check_path("", path)):
            yield path


def chooses_gpus(mount_path: str) -> bool:
    """True for a mount path whose name selects the runtime's GPUs for the container."""
    found = _one_slash(mount_path)
    return found == DEVICES_AS_MOUNTS or found.startswith(f"{DEVICES_AS_MOUNTS}/")


def plain(path: str) -> str:
    """Normalizes //dev, /dev/./nvidia0, /proc/1/root/dev and /run/nvidia/driver/dev."""
    before, found = "", path
    while found != before:
        before, found = found, _ROOTS.sub("", _one_slash(found))
    return found or "/"


def _one_slash(path: str) -> str:
    found = posixpath.normpath("/" + path.lstrip("/"))
    return found.removeprefix("/var") if found == "/var/run" or found.startswith("/var/run/") else found
