"""The lab's substitute images: what each stands for, its Dockerfile, and the files of its build context.

All are `FROM scratch` with one program: nothing is pulled, nothing is installed. Builders push them to
`<registry>/<name>:<tag>`; the real node needs the pause image before its first pod.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lab.pins import load_pins
from platforms.kubernetes.feature_discovery import DISCOVERY

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

# As in the stacks: a substitute is found by the whole reference.
DEVICE_PLUGIN_IMAGE = (
    "nvcr.io/nvidia/k8s-device-plugin:v0.17.1@sha256:af31e2b7c7f89834c4e5219860def7ac2e49a207b3d4e8610d5a26772b7738e5"
)
NODE_FEATURE_DISCOVERY_IMAGE = (
    "registry.k8s.io/nfd/node-feature-discovery:v0.18.3@sha256:"
    "f9ef2ebee55141a1758d3c0a87bb701f5db2adf6856f7218b11bc2bac7b63862"
)
PERSISTENCE_IMAGE = (
    "docker.io/library/busybox:1.36.1@sha256:73aaf090f3d85aa34ee199857f03fa3a95c8ede2ffd4cc2cdb5b94e566b11662"
)

SUBSTITUTE_LABEL = "org.gpu-commons.lab.substitute"

PAUSE = "lab/pause"
BUSYBOX = "lab/busybox"
DEVICE_PLUGIN = "lab/device-plugin"
NODE_FEATURE_DISCOVERY = "lab/node-feature-discovery"
PERSISTENCE_DAEMON = "lab/persistence-daemon"
DRIVER = "lab/driver"

# Libraries of a program that loads the driver's library.
C_LIBRARY = {path.name: path for path in map(Path, ("/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"))}

# Answers like a driver container's entry point, to the same two arguments.
_DRIVER_SCRIPT = """\
echo "stands for a driver container in the lab of gpu-commons; no module is loaded into kernel $(uname -r)"
[ "$1" != check ] || exit 0
trap 'echo ended; exit 0' TERM INT
while :; do sleep 3600 & wait $!; done
"""


@dataclass(frozen=True, slots=True)
class StandInImage:
    """One substitute. `files` maps a path in the build context to the file on this machine."""

    name: str  # repository below the registry: lab/pause
    stands_for: str  # the reference that it replaces
    reason: str
    dockerfile: str
    files: Mapping[str, Path]
    drives_gpus: bool = False  # then it is used even if the image it stands for can be pulled: a lab has no GPU

    @property
    def tag(self) -> str:
        """A digest of all image inputs: new content has a new tag, so that nodes pull it."""
        digest = hashlib.sha256(self.dockerfile.encode())
        for name, path in sorted(self.files.items()):
            digest.update(name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()[:12]

    def reference(self, instance: Instance) -> str:
        """Where the lab pushes it: 127.0.0.1:5000/lab/pause:0123456789ab."""
        return f"{instance.registry_address}/{self.name}:{self.tag}"


def images(tools: Tools, drivers: Collection[str] = ()) -> list[StandInImage]:
    """All substitutes of the lab; `drivers` are the driver containers of its stack.

    Raises LabError if a program for one is not installed.
    """
    busybox = tools.path("busybox")
    return [
        StandInImage(
            name=PAUSE,
            stands_for="registry.k8s.io/pause:3.10.1",
            reason="its registry cannot be reached; it only sleeps",
            dockerfile=render_dockerfile(
                "registry.k8s.io/pause:3.10.1",
                program="busybox",
                places=("/bin/busybox",),
                entrypoint=("/bin/busybox", "sleep", "2147483647"),
            ),
            files={"busybox": busybox},
        ),
        _busybox(BUSYBOX, "docker.io/library/busybox:1.36", busybox),
        StandInImage(
            name=DEVICE_PLUGIN,
            stands_for=DEVICE_PLUGIN_IMAGE,
            reason=f"NVIDIA's programs, {_version('nvidia-device-plugin')}, built here; its GPUs are stand-ins",
            dockerfile=render_dockerfile(
                DEVICE_PLUGIN_IMAGE,
                program="nvidia-device-plugin",
                places=("/usr/bin/nvidia-device-plugin",),
                entrypoint=("nvidia-device-plugin",),
                more={DISCOVERY: f"/usr/bin/{DISCOVERY}", **{name: str(path) for name, path in C_LIBRARY.items()}},
            ),
            files={**{name: tools.path(name) for name in ("nvidia-device-plugin", DISCOVERY)}, **C_LIBRARY},
            drives_gpus=True,
        ),
        StandInImage(
            name=NODE_FEATURE_DISCOVERY,
            stands_for=NODE_FEATURE_DISCOVERY_IMAGE,
            reason=f"its registry cannot be reached; its programs, {_version('node-feature-discovery')}, built here",
            dockerfile=render_dockerfile(
                NODE_FEATURE_DISCOVERY_IMAGE,
                program="nfd-master",
                places=("/usr/bin/nfd-master",),
                entrypoint=("nfd-master",),
                more={"nfd-gc": "/usr/bin/nfd-gc"},
            ),
            files={name: tools.path(name) for name in ("nfd-gc", "nfd-master")},
        ),
        _busybox(PERSISTENCE_DAEMON, PERSISTENCE_IMAGE, busybox),
        *(_driver(reference, busybox) for reference in sorted({*drivers})),
    ]


def _busybox(name: str, reference: str, program: Path) -> StandInImage:
    return StandInImage(
        name=name,
        stands_for=reference,
        reason="its registry cannot be reached; Debian's busybox takes its place",
        dockerfile=render_dockerfile(
            reference,
            program="busybox",
            places=("/bin/busybox",),
            entrypoint=(),
            # Applets by name, as in the replaced image. (Debian's `wget -T` crashes; `timeout 5 wget` works.)
            run='["/bin/busybox", "--install", "-s", "/bin"]',
        ),
        files={"busybox": program},
    )


def _version(tool: str) -> str:
    return load_pins().tools[tool].version


def _driver(reference: str, busybox: Path) -> StandInImage:
    """Its modules are for another kernel than this machine's: the stand-in loads none, and says so."""
    key = reference.partition("@")[0].rpartition(":")[2]
    return StandInImage(
        name=f"{DRIVER}/{key.lower()}",
        stands_for=reference,
        reason="this machine runs another kernel and has no GPU: it loads nothing, says so and waits",
        dockerfile=render_dockerfile(
            reference,
            program="busybox",
            places=("/bin/busybox",),
            entrypoint=("/bin/busybox", "sh", "-c", _DRIVER_SCRIPT, "load-driver"),
            run='["/bin/busybox", "--install", "-s", "/bin"]',
        ),
        files={"busybox": busybox},
        drives_gpus=True,
    )


def find(name: str, tools: Tools) -> StandInImage:
    """The substitute of that repository name (`PAUSE`, …)."""
    return next(image for image in images(tools) if image.name == name)


def render_dockerfile(  # noqa: PLR0913 - a line of the file each
    stands_for: str,
    *,
    program: str,
    places: tuple[str, ...],
    entrypoint: tuple[str, ...],
    run: str = "",
    more: Mapping[str, str] | None = None,
) -> str:
    """The Dockerfile of one program, with `more` files that it needs, each by its path.

    No `# syntax=` line: its frontend image could not be pulled.
    """
    lines = [
        f"# In the lab of gpu-commons, in place of {stands_for}.",
        "FROM scratch",
        f'LABEL {SUBSTITUTE_LABEL}="{stands_for}"',
        *(f"COPY --chmod=755 {program} {place}" for place in places),
        *(f"COPY --chmod=755 {name} {place}" for name, place in (more or {}).items()),
        "ENV PATH=/usr/bin:/bin",
        *([f"RUN {run}"] if run else []),
        *([f"ENTRYPOINT {json.dumps(list(entrypoint))}"] if entrypoint else ['CMD ["/bin/sh"]']),
    ]
    return "\n".join(lines) + "\n"
