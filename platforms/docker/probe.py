"""What one host with GPUs is, for a pool of a stack file: one file that needs Python 3.6 and nothing else.

    python3 probe.py [--json] [--program /opt/apptainer/bin/apptainer]
    ssh ops@gpu-07.example.edu python3 - --json < probe.py

It is copied or sent to where nothing can be installed. So it reads NVML by ctypes from libnvidia-ml.so.1, which is the
driver's own, and not by the package nvidia-ml-py; and it is written for the oldest Python that such hosts have as
theirs. It changes nothing. What cannot be read is {"unknown": why}. Ends with 3 on a login node.

NVML: https://docs.nvidia.com/deploy/nvml-api/api/group__nvmlDeviceQueries.html;
/proc: https://download.nvidia.com/XFree86/Linux-x86_64/460.80/README/procinterface.html.
"""

import argparse
import ctypes
import datetime as dt
import difflib
import http.client
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

LOGIN_NODE = 3  # exit code
ON_LOGIN_NODE = "this is a login node: it has Slurm's commands but no GPU; nothing was probed"
LIBRARY = "libnvidia-ml.so.1"
VERSION = r"\d{3}\.\d{2,3}(?:\.\d{2})?"  # of a driver: 470.256.02
Facts = Dict[str, Any]
_CDI_API = (1, 44)  # Docker 25: CDI names in device requests

# Where drivers put their libraries, beside the folders of ld.so.conf and LD_LIBRARY_PATH. The last ones are those of
# a driver container (gpu-operator's hostPaths.driverInstallDir) and of what it lays on a node.
_LIBRARIES = (
    "usr/lib64", "usr/lib64/nvidia", "usr/lib", "usr/lib/*-linux-gnu", "usr/lib/*-linux-gnu/nvidia/*",
    "usr/lib/nvidia-*", "run/opengl-driver/lib", "usr/local/nvidia/lib", "usr/local/nvidia/lib64",
    "home/kubernetes/bin/nvidia/lib64", "run/nvidia/driver/usr/lib64", "run/nvidia/driver/usr/lib/*-linux-gnu",
)  # fmt: skip
_IN_CONTAINER = "run/nvidia/driver/"
_TOOLKIT = ("nvidia-ctk", "nvidia-container-toolkit", "nvidia-container-runtime")
_CONFIG = "/etc/docker/daemon.json"
# https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html. The engine reads its
# runtimes when it is told to reload; CDI only at its start: https://docs.docker.com/reference/cli/dockerd/.
_INSTALL = "sudo apt-get install nvidia-container-toolkit # or dnf, from nvidia.github.io/libnvidia-container"
_CONFIGURE = "sudo nvidia-ctk runtime configure --runtime=docker"
_RELOAD = "sudo systemctl reload docker"
_RESTART = "sudo systemctl restart docker # ends containers, unless live-restore is on"
_GENERATE = "sudo nvidia-ctk cdi generate --output="
_CONTAINERS = (
    ("APPTAINER_CONTAINER", "apptainer"),
    ("SINGULARITY_CONTAINER", "singularity"),
    ("KUBERNETES_SERVICE_HOST", "kubernetes"),
    ("GPU_COMMONS_NODE", "kubernetes"),
)


class Unread(Exception):  # noqa: N818 - says what is the matter
    """Why a fact cannot be read."""


def known(read: Callable[..., Any], *args: Any) -> Any:
    """What is read, or why it is not: one fact that is missing leaves the others."""
    try:
        return read(*args)
    except OSError as error:
        name = f"{error.filename}: " if isinstance(error.filename, str) else ""
        why = f"{name}{error.strerror or error}"
    except (Unread, ValueError, KeyError, IndexError, subprocess.SubprocessError) as error:
        why = str(error)
    return {"unknown": " ".join(why.split()) or "no reason given"}


def is_unknown(value: Any) -> bool:
    """Whether a fact is the reason why it could not be read."""
    return isinstance(value, dict) and set(value) == {"unknown"}


class Nvml:
    """The driver's own library. Each call raises Unread with the library's words."""

    def __init__(self, names: Sequence[str]) -> None:
        failed = []
        for name in names:
            try:
                self._library = ctypes.CDLL(name)
                break
            except OSError as error:
                failed.append(str(error))
        else:
            raise Unread(f"{failed[0]} (the driver's own library)")
        self.call("nvmlInit_v2")

    def call(self, name: str, *args: Any) -> None:
        function = getattr(self._library, name, None)
        if function is None:
            raise Unread(f"the library of this driver has no {name}")
        code = function(*args)
        if code:
            words = getattr(self._library, "nvmlErrorString", None)
            if words is not None:
                words.restype = ctypes.c_char_p
            raise Unread(f"{name}: {words(code).decode(errors='replace') if words else f'error {code}'}")

    def text(self, name: str, *args: Any) -> str:
        buffer = ctypes.create_string_buffer(96)  # NVML_DEVICE_UUID_V2_BUFFER_SIZE, its largest of these
        self.call(name, *args, buffer, ctypes.c_uint(len(buffer)))
        return buffer.value.decode(errors="replace")

    def numbers(self, name: str, *args: Any, count: int = 1, kind: Any = ctypes.c_int) -> List[int]:
        found = [kind() for _ in range(count)]
        self.call(name, *args, *map(ctypes.byref, found))
        return [each.value for each in found]

    def cuda(self) -> str:
        """Highest CUDA that the driver runs natively: 12020 is 12.2."""
        number = self.numbers("nvmlSystemGetCudaDriverVersion")[0]
        return f"{number // 1000}.{number % 1000 // 10}"

    def gpus(self) -> List[Facts]:
        """Those that this process may see: in an allocation its own."""
        return [self._gpu(index) for index in range(self.numbers("nvmlDeviceGetCount_v2", kind=ctypes.c_uint)[0])]

    def _gpu(self, index: int) -> Facts:
        handle = ctypes.c_void_p()
        lost = known(self.call, "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
        reads = {
            "model": lambda: self.text("nvmlDeviceGetName", handle),
            "uuid": lambda: self.text("nvmlDeviceGetUUID", handle),
            "memory_gib": lambda: self._memory_gib(handle),
            "compute_capability": lambda: self._capability(handle),
            "persistence_mode": lambda: self._persistence(handle),
        }  # type: Dict[str, Callable[[], Any]]
        return {"index": index, **{name: lost or known(read) for name, read in reads.items()}}

    def _memory_gib(self, handle: ctypes.c_void_p) -> float:
        memory = (ctypes.c_ulonglong * 3)()  # nvmlMemory_t: total, free, used
        self.call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
        return round(memory[0] / 2**30, 1)

    def _capability(self, handle: ctypes.c_void_p) -> str:
        return ".".join(map(str, self.numbers("nvmlDeviceGetCudaComputeCapability", handle, count=2)))

    def _persistence(self, handle: ctypes.c_void_p) -> str:
        return "on" if self.numbers("nvmlDeviceGetPersistenceMode", handle)[0] else "off"


def kernel_module(root: Path) -> Tuple[str, str]:
    """`open` or `proprietary`, and its version.

    NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Wed ...
    NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build ...
    """
    line = _text(root / "proc/driver/nvidia/version").partition("\n")[0]
    found = re.search(rf"\s({VERSION})\s", f"{line} ")
    if not found:
        raise Unread(f"/proc/driver/nvidia/version has no version in its first line: {line!r}")
    return ("open" if "Open Kernel" in line else "proprietary"), found.group(1)


def driver_libraries(root: Path, environ: Mapping[str, str]) -> List[Facts]:
    """Versions of libcuda and libnvidia-ml, with their folders. Neither empty files nor cuda-compat count."""
    configured = [line for path in sorted((root / "etc/ld.so.conf.d").glob("*.conf")) for line in _lines(path)]
    asked = environ.get("LD_LIBRARY_PATH", "").split(":")
    folders = [each for pattern in _LIBRARIES for each in sorted(root.glob(pattern))]
    folders += [root / each.strip().lstrip("/") for each in (*configured, *asked) if each.strip().startswith("/")]
    found = {}  # type: Dict[str, List[str]]
    for folder in dict.fromkeys(Path(os.path.realpath(str(each))) for each in folders):
        for path in sorted(folder.glob("lib*.so.*")) if folder.name != "compat" else ():
            named = re.match(rf"lib(?:cuda|nvidia-ml)\.so\.({VERSION})$", path.name)
            if named and path.is_file() and path.stat().st_size and not path.is_symlink():
                where = f"/{folder.relative_to(os.path.realpath(str(root)))}"
                if where not in found.setdefault(named.group(1), []):
                    found[named.group(1)].append(where)
    return [{"version": version, "folders": places} for version, places in sorted(found.items())]


def second_driver(libraries: Sequence[Facts], module: Optional[str]) -> str:
    """A second source of a driver, in words; `none` for one alone. `module`: version of the kernel module."""
    found = [(each["version"], folder) for each in libraries for folder in each["folders"]]
    versions = {version for version, _ in found}
    is_inside = {folder.lstrip("/").startswith(_IN_CONTAINER) for _, folder in found}
    said = ", ".join(f"{version} in {folder}" for version, folder in found)
    if len(versions) > 1 or len(is_inside) > 1:
        return f"libraries of {said}"
    if module and versions and module not in versions:
        return f"kernel module {module}, libraries of {said}"
    return "none"


def persistence_daemon(root: Path, inside: str) -> str:
    """Whether nvidia-persistenced runs: its process is seen, or its socket, where others' processes are hidden."""
    names = (known(_text, path) for path in root.glob("proc/[0-9]*/comm"))
    # The kernel keeps 15 characters of a name.
    seen = any(isinstance(name, str) and name.strip() == "nvidia-persistenced"[:15] for name in names)
    if seen or (root / "run/nvidia-persistenced/socket").exists():
        return "running"
    if inside != "none":
        raise Unread(f"{_elsewhere(inside)} sees no processes of the host")
    return "not running"


class _Engine(http.client.HTTPConnection):
    """Docker's engine on its socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=10)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except OSError as error:
            raise Unread(f"the Docker engine at {self._path} does not answer: {error.strerror or error}") from None

    def get(self, path: str) -> Facts:
        self.request("GET", path)
        return dict(json.loads(self.getresponse().read().decode()))


def docker(root: Path, environ: Mapping[str, str]) -> Facts:
    """What the engine says of itself, as far as a pool is concerned."""
    address = environ.get("DOCKER_HOST") or f"unix://{root / 'var/run/docker.sock'}"
    if not address.startswith("unix://"):
        raise Unread(f"DOCKER_HOST is {address.partition('://')[0]}://, which is an engine elsewhere")
    engine = _Engine(address[len("unix://") :])
    try:
        version = engine.get("/version")
        info = engine.get(f"/v{version['ApiVersion']}/info")
    except (http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        raise Unread(f"what answers at {address} is no Docker engine: {error!r}") from None
    finally:
        engine.close()
    return {
        "engine": str(version.get("Version", "")),
        "api": str(version["ApiVersion"]),
        "data_root": str(info.get("DockerRootDir", "")),
        "runtimes": sorted(info.get("Runtimes") or ()),
        "default_runtime": str(info.get("DefaultRuntime", "")),
        "cdi_spec_dirs": list(info.get("CDISpecDirs") or ()),  # none: CDI is off, or the engine older than 25
    }


def engine_config(root: Path) -> Facts:
    """What the engine would read at its next reload."""
    config = json.loads(_text(root / _CONFIG.lstrip("/")))
    return {"runtimes": sorted(config.get("runtimes", ())), "default_runtime": config.get("default-runtime", "")}


def runtime_diff(root: Path, paths: str) -> str:
    """What NVIDIA's program would change in the engine's configuration; it writes nothing here."""
    program = shutil.which("nvidia-ctk", path=paths)
    if program is None:
        raise Unread("nvidia-ctk: not on PATH")
    file = root / _CONFIG.lstrip("/")
    words = [program, "runtime", "configure", "--runtime=docker", "--dry-run", f"--config={file}"]
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20, check=False)
    if ran.returncode:
        raise Unread(f"nvidia-ctk: {ran.stderr.decode(errors='replace').strip()}")
    after = ran.stdout.decode(errors="replace").splitlines()
    return "\n".join(difflib.unified_diff(_lines(file), after, _CONFIG, _CONFIG, lineterm=""))


def lacking(facts: Facts, diff: Callable[[], Any]) -> Any:
    """What keeps the engine from giving GPUs to containers, by gpu_access, with the command that mends it."""
    if is_unknown(facts["docker"]):
        return facts["docker"]
    found = []  # type: List[Facts]
    if is_unknown(facts["container_toolkit"]):
        what = "NVIDIA's container toolkit is not installed, or not on PATH"
        found.append({"gpu_access": "any", "lacks": what, "command": _INSTALL})
    found += ({"gpu_access": "runtime", **each} for each in _lacking_runtime(facts, diff))
    found += ({"gpu_access": "cdi", "lacks": what, "command": command} for what, command in _lacking_cdi(facts))
    return found


def _lacking_runtime(facts: Facts, diff: Callable[[], Any]) -> Iterator[Facts]:
    names = facts["docker"]["runtimes"]
    if "nvidia" in names:
        return
    if "nvidia" in facts["engine_config"].get("runtimes", ()):
        yield {"lacks": f"its engine has not read the runtime nvidia in {_CONFIG}", "command": _RELOAD}
    else:
        what = f"its engine has no runtime nvidia, only {', '.join(names)}"
        yield {"lacks": what, "command": f"{_CONFIGURE} && {_RELOAD}", "diff": diff()}


def _lacking_cdi(facts: Facts) -> Iterator[Tuple[str, str]]:
    engine, specs, driver = facts["docker"], facts["cdi_specs"], facts["driver"]
    if _number(engine["api"]) >= _CDI_API:
        if not engine["cdi_spec_dirs"]:
            yield "CDI is off in its engine", f"{_CONFIGURE} --cdi.enabled && {_RESTART}"
        if not specs:
            yield "it has no CDI spec of NVIDIA's devices", f"{_GENERATE}/etc/cdi/nvidia.yaml"
    for spec in () if is_unknown(specs) or is_unknown(driver) else specs:
        if spec["drivers"] and driver not in spec["drivers"]:
            what = f"{spec['file']} is for driver {', '.join(spec['drivers'])}, and {driver} runs"
            yield what, f"{_GENERATE}{spec['file']}"


def cdi_devices(root: Path) -> List[str]:
    """NVIDIA's devices in the specs of CDI, by their full names.

    Names are found as in NVIDIA's own page: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
    """
    found = []
    for _, kind, text in _cdi_specs(root):
        names = re.findall(r'(?m)(?:^\s*-?\s|[{,]\s*)"?name"?:\s*["\']?([\w.:-]+)', text)
        found += [f"{kind}={name}" for name in names]
    return list(dict.fromkeys(found))


def cdi_specs(root: Path) -> List[Facts]:
    """Files of NVIDIA's devices, with the versions of the driver whose libraries they mount."""
    pattern = rf"lib(?:cuda|nvidia-ml)\.so\.({VERSION})\b"
    return [
        {"file": f"/{path.relative_to(root)}", "drivers": sorted(set(re.findall(pattern, text)))}
        for path, _, text in _cdi_specs(root)
    ]


def _cdi_specs(root: Path) -> Iterator[Tuple[Path, str, str]]:
    """File, kind and text."""
    for path in sorted([*root.glob("etc/cdi/*"), *root.glob("var/run/cdi/*")]):
        text = _text(path) if path.suffix in (".yaml", ".yml", ".json") else ""
        kind = re.search(r'(?m)(?:^|[{,])\s*"?kind"?:\s*"?([\w.-]*nvidia\.com/[\w.-]+)', text)
        if kind:
            yield path, kind.group(1), text


def version_said(programs: Sequence[str], pattern: str, path: Optional[str] = None) -> Facts:
    """The first of these programs that is there, and the version that it prints."""
    for program in programs:
        where = shutil.which(program, path=path)
        if where is None:
            continue
        ran = subprocess.run(
            [where, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20, check=False
        )
        said = ran.stdout.decode(errors="replace")
        found = re.search(pattern, said)
        if found:
            return {"program": where, "version": found.group(1), "says": said.strip().partition("\n")[0]}
    raise Unread(f"{' and '.join(programs)}: not on PATH, or without a version")


def disk(root: Path, folder: str) -> Facts:
    """The file system of a folder: what is free, and whether it is memory."""
    inside = root / os.path.realpath(folder).lstrip("/") if root == Path("/") else root / folder.lstrip("/")
    sizes = os.statvfs(str(inside))
    kind, longest = "", -1
    for line in _lines(root / "proc/mounts"):
        fields = line.split()
        point = fields[1].rstrip("/") if len(fields) > 2 else None
        if point is not None and f"/{inside.relative_to(root)}/".startswith(f"{point}/") and len(point) >= longest:
            kind, longest = fields[2], len(point)
    return {
        "path": folder,
        "free_gib": round(sizes.f_bavail * sizes.f_frsize / 2**30, 1),
        "total_gib": round(sizes.f_blocks * sizes.f_frsize / 2**30, 1),
        "is_memory": kind in ("tmpfs", "ramfs"),
    }


def container(root: Path, environ: Mapping[str, str]) -> str:
    """What this runs in; `none` on the host itself."""
    for variable, name in _CONTAINERS:
        if variable in environ:
            return name
    return "docker" if (root / ".dockerenv").exists() else "podman" if (root / "run/.containerenv").exists() else "none"


def slurm(environ: Mapping[str, str]) -> Any:
    """The allocation that this runs in, or `none`."""
    if "SLURM_JOB_ID" not in environ:
        return "none"
    names = {"job": "SLURM_JOB_ID", "partition": "SLURM_JOB_PARTITION", "node": "SLURMD_NODENAME"}
    return {key: environ.get(name, "") for key, name in names.items()}


def is_login_node(root: Path, environ: Mapping[str, str]) -> bool:
    """Slurm's commands, no allocation, no Job of Kubernetes that was sent to a node, and no device of a GPU."""
    has_commands = any(shutil.which(each, path=environ.get("PATH")) for each in ("sbatch", "srun", "sinfo"))
    has_device = (root / "dev/nvidiactl").exists() or any(root.glob("dev/nvidia[0-9]*"))
    return has_commands and not has_device and not {"SLURM_JOB_ID", "GPU_COMMONS_NODE"} & set(environ)


def host_facts(
    root: Path, environ: Mapping[str, str], at: dt.datetime, library: str = LIBRARY, program: str = ""
) -> Facts:
    """Everything about this host. `program`: what starts images there, where it is not on PATH."""
    libraries = known(driver_libraries, root, environ)
    found = [] if is_unknown(libraries) else libraries  # of a driver container, where the loader has none
    places = [f"{root}{folder}/libnvidia-ml.so.{each['version']}" for each in found for folder in each["folders"]]
    nvml = known(Nvml, [library, *places])
    module = known(kernel_module, root)
    module = {"flavour": module[0], "version": module[1]} if isinstance(module, tuple) else module
    kernels = None if is_unknown(module) else module["version"]

    def of_driver(read: Callable[[Nvml], Any]) -> Any:
        return known(read, nvml) if isinstance(nvml, Nvml) else nvml

    driver = of_driver(lambda asked: asked.text("nvmlSystemGetDriverVersion"))
    engine, inside = known(docker, root, environ), container(root, environ)
    paths = f"{environ.get('PATH', os.defpath)}:/usr/local/nvidia/toolkit"
    images = [program] if program else ["apptainer", "singularity"]
    facts = {
        "probed": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "host": environ.get("GPU_COMMONS_NODE") or platform.node(),  # a pod has a name of its own
        "system": known(_system, root),
        "kernel": platform.release(),
        "container": inside,
        "slurm": slurm(environ),
        "driver": kernels if is_unknown(driver) and kernels else driver,
        "cuda": of_driver(Nvml.cuda),
        "kernel_module": module,
        "driver_libraries": libraries,
        "second_driver": libraries if is_unknown(libraries) else second_driver(libraries, kernels),
        "gpus": of_driver(Nvml.gpus),
        "models_on_node": known(_models, root),
        "persistence_daemon": known(persistence_daemon, root, inside),
        "container_toolkit": known(_toolkit, inside, paths),
        "cdi_devices": known(cdi_devices, root),
        "cdi_specs": known(cdi_specs, root),
        "docker": engine,
        "engine_config": known(engine_config, root),
        "apptainer": known(version_said, images, r"(\d+\.\d+(?:\.\d+)?(?:-[\w.]+)?)", environ.get("PATH")),
        "glibc": known(_glibc, inside),
        "cgroup": known(_cgroup, root),
        "cpu": os.cpu_count() or {"unknown": "Python does not know it"},
        "memory_gib": known(_memory_gib, root),
        "data_root": known(_data_root, root, inside, engine),
        "temporary": known(_temporary, root, inside, environ.get("TMPDIR") or "/tmp"),  # noqa: S108 - looked at, not used
    }
    return {**facts, "lacking": lacking(facts, lambda: known(runtime_diff, root, paths))}


def pool_keys(facts: Facts) -> Facts:
    """What a stack file says of a pool of such hosts, under its keys. Another value than a plain one is unknown."""
    gpus, on_node, in_slurm = facts["gpus"], facts["models_on_node"], facts["slurm"] != "none"
    keys = {}  # type: Facts
    if is_unknown(gpus) and is_unknown(on_node):
        keys["gpu"] = keys["gpus_per_node"] = gpus
    else:
        models = on_node if is_unknown(gpus) else [each["model"] for each in gpus]
        names = sorted({json.dumps(each) for each in models})
        if names:
            several = {"unknown": f"GPUs of several models ({', '.join(names)}): a pool has one"}
            keys["gpu"] = models[0] if len(names) == 1 else several
        hidden = {"unknown": "an allocation shows no other GPUs, and /proc/driver/nvidia is not there"}
        is_hidden = in_slurm and is_unknown(on_node)
        keys["gpus_per_node"] = hidden if is_hidden else max(len(models), 0 if is_unknown(on_node) else len(on_node))
    if facts["container"] == "kubernetes":
        keys["gpus_per_node"] = {"unknown": "a pod sees its own GPUs; kubectl get node says how many there are"}
    keys["driver"] = facts["driver"]
    engine = facts["docker"]
    if in_slurm:
        keys["glibc"] = facts["glibc"]
    else:
        toolkit = facts["container_toolkit"]
        keys["container_toolkit"] = toolkit if is_unknown(toolkit) else toolkit["version"]
    if not in_slurm and not is_unknown(engine):
        uuids = [gpus] if is_unknown(gpus) else [each["uuid"] for each in gpus]
        keys["gpu_uuids"] = next((each for each in uuids if is_unknown(each)), uuids)
        keys["gpu_access"] = (
            "cdi" if facts["cdi_devices"] and engine["cdi_spec_dirs"] and _number(engine["api"]) >= _CDI_API
            else "runtime" if "nvidia" in engine["runtimes"]
            else {"unknown": "the engine has neither CDI devices nor a runtime nvidia"}
        )  # fmt: skip
    root = facts["data_root"]
    keys.update(cpu=facts["cpu"], memory_gib=facts["memory_gib"])
    keys["root_disk_gib"] = root if is_unknown(root) else int(root["total_gib"])
    return keys


def as_yaml(pool: Facts, facts: Facts) -> str:
    """Both as YAML: what can be pasted into a stack file, and what stands beside it."""
    where = facts["slurm"]
    job = "" if where == "none" else f", job {where['job']} of partition {where['partition']}"
    lines = [f"# {facts['host']}, probed {facts['probed']}{job}", "pool: # as a stack file has it"]
    for key, value in pool.items():
        lines += [f"  # {key}: not known: {value['unknown']}"] if is_unknown(value) else _yaml(key, value, "  ")
    lines.append("host:")
    for key, value in facts.items():
        lines += _yaml(key, value, "  ")
    # A terminal or a file of a C locale takes nothing else.
    return "\n".join(lines).encode("ascii", "backslashreplace").decode() + "\n"


def _yaml(key: str, value: Any, indent: str) -> Iterator[str]:
    if is_unknown(value):
        yield f"{indent}{key}: unknown # {value['unknown']}"
    elif isinstance(value, dict):
        yield f"{indent}{key}:"
        for name, inner in value.items():
            yield from _yaml(name, inner, f"{indent}  ")
    elif isinstance(value, str) and "\n" in value:
        yield f"{indent}{key}: |"
        yield from (f"{indent}  {line}" for line in value.splitlines())
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        yield f"{indent}{key}:"
        for each in value:
            lines = [line for name, inner in each.items() for line in _yaml(name, inner, f"{indent}    ")]
            yield f"{indent}  - {lines[0].strip()}"
            yield from lines[1:]
    else:
        yield f"{indent}{key}: {json.dumps(value)}"  # JSON is YAML


def _lines(path: Path) -> List[str]:
    return _text(path).splitlines() if path.is_file() else []


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _data_root(root: Path, inside: str, engine: Facts) -> Facts:
    """The disk that holds images and containers."""
    if not is_unknown(engine):
        return disk(root, engine["data_root"])
    if inside != "none":
        raise Unread(f"{_elsewhere(inside)} does not see where the host keeps images")
    places = ("/var/lib/docker", "/var/lib/containerd", "/")
    return disk(root, next(each for each in places if (root / each.lstrip("/")).is_dir()))


def _temporary(root: Path, inside: str, folder: str) -> Facts:
    """The folder of temporary files, where it is that of the host."""
    if inside == "kubernetes":
        raise Unread(f"{_elsewhere(inside)} has temporary files of its own")
    return disk(root, folder)


def _toolkit(inside: str, paths: str) -> Facts:
    """NVIDIA's container toolkit of the host; an image may have another."""
    if inside != "none":
        raise Unread(f"{_elsewhere(inside)} does not see the container toolkit of the host")
    return version_said(_TOOLKIT, r"NVIDIA Container [\w ]*version (\d[\w.-]*)", paths)


def _number(version: str) -> Tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _system(root: Path) -> str:
    fields = dict(line.partition("=")[::2] for line in _lines(root / "etc/os-release"))
    return fields["PRETTY_NAME"].strip("\"'")


def _models(root: Path) -> List[str]:
    """Of all GPUs that the driver has on this machine; an allocation may see fewer."""
    files = sorted(root.glob("proc/driver/nvidia/gpus/*/information"))
    if not files and not (root / "proc/driver/nvidia/version").exists():
        raise Unread("/proc/driver/nvidia is not there: no driver is loaded, or it is hidden")
    return [line.partition(":")[2].strip() for path in files for line in _lines(path) if line.startswith("Model:")]


def _cgroup(root: Path) -> str:
    folder = root / "sys/fs/cgroup"
    if not any(folder.glob("*")):
        raise Unread("/sys/fs/cgroup is empty")
    return "v2" if (folder / "cgroup.controllers").exists() else "v1"


def _elsewhere(inside: str) -> str:
    return f"this runs in a container ({inside}), which"


def _glibc(inside: str) -> str:
    if inside != "none":
        raise Unread(f"{_elsewhere(inside)} has a C library of its own")
    name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    if name != "glibc":
        raise Unread("the C library of this host is not glibc")
    return version


def _memory_gib(root: Path) -> float:
    sizes = dict(line.partition(":")[::2] for line in _lines(root / "proc/meminfo"))
    return round(int(sizes["MemTotal"].split()[0]) / 2**20, 1)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Print it."""
    parser = argparse.ArgumentParser(
        description="What this host with GPUs is, as a pool of a stack file. Changes nothing."
    )
    parser.add_argument("--json", action="store_true", help="JSON in place of YAML")
    parser.add_argument("--program", default="", help="what starts images here: apptainer, singularity, or a path")
    chosen = parser.parse_args(argv)
    root = Path("/")
    if is_login_node(root, os.environ):
        sys.stderr.write(f"error: {ON_LOGIN_NODE}; run it in an allocation: srun --gres=gpu:1 python3 probe.py\n")
        return LOGIN_NODE
    facts = host_facts(root, os.environ, dt.datetime.now(dt.timezone.utc), program=chosen.program)
    pool = pool_keys(facts)
    sys.stdout.write(
        f"{json.dumps({'pool': pool, 'host': facts}, indent=2)}\n" if chosen.json else as_yaml(pool, facts)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
