"""R-VIS: the GPUs visible to a program: variables that hide GPUs or driver parts, and slices of a GPU."""

import re

from compat.evidence.names import mig
from compat.rules.rule import Rule
from compat.values.fact import Fact
from compat.values.findings import Finding, Variable, note, refuse, unknown, warn
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import ComputeCapability

ID = "R-VIS"
_RUNTIME = "github:NVIDIA/cloud-native-docs container-toolkit/docker-specialized.md"
_PROCESS = "https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html"
_DATE = "2026-11-20"
_CONTAINERS = frozenset({"docker", "kubernetes", ""})
_FIRST_WITH_MIG = ComputeCapability(8, 0)
_NAMES = r"(?i:\d+|GPU-[0-9a-f-]*|MIG-\S*)"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    found: list[Finding] = [*_slice(pool)] if pool.gpu.mig else []
    if not image.environment:
        return tuple(found)
    environment = dict(image.environment)
    if "CUDA_VISIBLE_DEVICES" in environment:
        found += _process(environment["CUDA_VISIBLE_DEVICES"], pool)
    if pool.host in _CONTAINERS:
        if "NVIDIA_VISIBLE_DEVICES" in environment:
            found += _runtime(environment["NVIDIA_VISIBLE_DEVICES"], pool)
        if "NVIDIA_DRIVER_CAPABILITIES" in environment:
            found += _capabilities(environment["NVIDIA_DRIVER_CAPABILITIES"], image)
    return tuple(found)


def _process(value: str, pool: PoolFacts) -> list[Finding]:
    text = "CUDA_VISIBLE_DEVICES lists indices, UUIDs or MIG ids; empty is none; the first invalid entry ends the list"
    fact = Fact(text, _PROCESS, _DATE)
    entries = [entry.strip() for entry in value.split(",")]
    if value.startswith("$"):
        return [unknown(ID, f"it is not known what CUDA_VISIBLE_DEVICES={value} becomes: write its value", fact)]
    if value.lower() == "all" or not re.fullmatch(_NAMES, entries[0]):
        message = f"CUDA_VISIBLE_DEVICES={value or '(empty)'} hides every GPU"
        return [refuse(ID, message, fact, Variable("CUDA_VISIBLE_DEVICES"))]
    if entries[0].upper().startswith("MIG-"):
        if (bad := _no_mig(pool)) is not None:
            return [bad]
        if len(entries) > 1:
            message = "CUDA_VISIBLE_DEVICES names several MIG slices: a process sees the first one only"
            return [warn(ID, message, fact)]
        return [warn(ID, "CUDA_VISIBLE_DEVICES names a MIG slice: some frameworks then find no device", fact)]
    if pool.host == "kubernetes" and entries[0].isdigit() and entries[0] != "0":
        message = f"CUDA_VISIBLE_DEVICES={value}: in a container with one GPU, its index is 0, whatever the host's is"
        return [warn(ID, message, fact)]
    if any(not re.fullmatch(_NAMES, entry) for entry in entries):
        return [warn(ID, f"CUDA_VISIBLE_DEVICES={value} ends at its first invalid entry", fact)]
    return []


def _runtime(value: str, pool: PoolFacts) -> list[Finding]:
    fact = Fact("NVIDIA_VISIBLE_DEVICES: all, none, void, an index, a UUID or a MIG id", _RUNTIME, _DATE)
    all_ = Variable("NVIDIA_VISIBLE_DEVICES", "all")
    if value.lower() in {"none", "void", ""} and pool.host != "kubernetes":
        return [refuse(ID, f"NVIDIA_VISIBLE_DEVICES={value or '(empty)'} gives the container no GPU", fact, all_)]
    if value.upper().startswith("MIG-") and (bad := _no_mig(pool)) is not None:
        return [bad]
    if value.lower() == "all" and pool.host == "kubernetes":
        message = "NVIDIA_VISIBLE_DEVICES=all gives a pod without a GPU request every GPU of its node"
        return [warn(ID, message, fact)]
    return []


def _slice(pool: PoolFacts) -> tuple[Finding, ...]:
    """A pool of slices: its driver must support MIG on this GPU. `gpu_names.py` checked that it has slices."""
    oldest, fact = pool.gpu.mig_driver, pool.gpu.mig_fact
    if oldest is None or fact is None:
        fact = Fact("drivers for MIG by GPU", mig.SOURCE, mig.DATE)
        return (note(ID, f"no table lists the first driver that slices {pool.gpu.name}", fact),)
    if pool.driver is None or pool.driver >= oldest:
        return (note(ID, f"{pool.gpu.name} is a MIG slice {pool.gpu.mig}", fact),)
    return (refuse(ID, f"driver {pool.driver} does not support MIG on {pool.gpu.name}", fact, oldest),)


def _no_mig(pool: PoolFacts) -> Finding | None:
    if pool.gpu.capability >= _FIRST_WITH_MIG and pool.gpu.product_class in {"datacenter", "workstation", ""}:
        return None
    fact = Fact("MIG exists on data-centre GPUs from compute capability 8.0 on", mig.PROFILES, _DATE)
    return refuse(ID, f"{pool.gpu.name} does not support MIG", fact)


def _capabilities(value: str, image: ImageFacts) -> list[Finding]:
    fact = Fact("NVIDIA_DRIVER_CAPABILITIES chooses the driver's parts; default utility,compute", _RUNTIME, _DATE)
    given = {word.strip().lower() for word in value.split(",")}
    if "all" in given:
        return []
    if "compute" not in given and (image.cuda is not None or image.framework):
        message = f"NVIDIA_DRIVER_CAPABILITIES={value} leaves out compute: no libcuda in the container"
        return [refuse(ID, message, fact, Variable("NVIDIA_DRIVER_CAPABILITIES", f"{value},compute"))]
    if "utility" not in given:
        message = f"NVIDIA_DRIVER_CAPABILITIES={value} leaves out utility: no nvidia-smi in the container"
        return [warn(ID, message, fact)]
    return [note(ID, f"NVIDIA_DRIVER_CAPABILITIES={value} includes what is needed", fact)]


RULE = Rule(ID, check, sources=(_RUNTIME, _PROCESS, mig.SOURCE))
