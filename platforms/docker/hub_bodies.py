"""Bodies of `POST /containers/create` for a hub and its kernel gateways. Pure.

The sender adds what only it knows: name, user labels and variables, home, networks, and devices
of the cards that were free. Field names: https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Container.
"""

from collections.abc import Mapping
from typing import Any, Final

from fleet import labels
from platforms.docker.container_model import RuntimeProfile
from platforms.docker.hub_files.names import HUB
from platforms.docker.hub_model import Hub, Kernel, Profile
from platforms.docker.hub_names import Names
from platforms.docker.limits import DROPPED, LOG, LOG_DRIVER, MIB, NO_GPU, SECURITY, Limits, limits_of
from workloads.hub_options import kernel_culling

PROGRAM_FOLDER: Final = "/program"
ENGINE_FOLDER: Final = "/run/engine"
_BILLION: Final = 1_000_000_000
_GATEWAY_CPU: Final = 1.0
_GATEWAY_MEMORY_GIB: Final = 0.5


def server_body(names: Names, hub: Hub, profile: Profile) -> dict[str, Any]:
    """Server of a profile."""
    limits = _limits(profile, profile)
    return _body(names, hub, profile.image, profile.image_name, limits, has_gpus=bool(profile.gpus)) | {
        "Cmd": ["jupyterhub-singleuser", *kernel_culling(hub.cull)]
    }


def kernel_body(names: Names, hub: Hub, kernel: Kernel) -> dict[str, Any]:
    """A kernel in its own container; its command depends on its connection."""
    return _body(names, hub, kernel.image, kernel.image_name, _limits(kernel, kernel), has_gpus=bool(kernel.gpus))


def gateway_body(names: Names, hub: Hub) -> dict[str, Any]:
    """A user's kernel gateway: it reaches the engine through its own filter, which allows only kernels."""
    limits = limits_of(RuntimeProfile(), cpu=_GATEWAY_CPU, memory_gib=_GATEWAY_MEMORY_GIB, shm_gib=None)
    program = _volume(names.program, PROGRAM_FOLDER)
    engine = _volume(names.kernels, ENGINE_FOLDER)
    body = _body(names, hub, hub.gateway_image, hub.gateway_image_name, limits, has_gpus=False)
    host = body["HostConfig"] | {"Mounts": [program, engine]}
    command = ["jupyter", "kernelgateway", "--config", f"{PROGRAM_FOLDER}/hub_files/gateway_config.py"]
    return body | {"Cmd": command, "Env": [*body["Env"], f"PYTHONPATH={PROGRAM_FOLDER}"], "HostConfig": host}


def _limits(workload: Profile | Kernel, runtime: RuntimeProfile) -> Limits:
    return limits_of(runtime, cpu=workload.cpu, memory_gib=workload.memory_gib, shm_gib=workload.shared_memory_gib)


def _body(  # noqa: PLR0913 - a container, and whose it is
    names: Names, hub: Hub, image: Any, image_name: str, limits: Limits, *, has_gpus: bool
) -> dict[str, Any]:
    memory = limits.memory_mib * MIB
    host: dict[str, Any] = {
        "CapDrop": list(DROPPED),
        "IpcMode": limits.ipc,
        "LogConfig": {"Type": LOG_DRIVER, "Config": dict(LOG)},
        "Memory": memory,
        "MemorySwap": memory,  # no swap
        "NanoCpus": round(limits.cpu * _BILLION),
        "SecurityOpt": list(SECURITY),
        "ShmSize": limits.shm_mib * MIB,
    }
    if limits.ulimits:
        host["Ulimits"] = [{"Name": name, "Soft": value, "Hard": value} for name, value in limits.ulimits]
    return {
        "Image": image,
        "Env": [] if has_gpus else _variables(NO_GPU),
        "Labels": {HUB: names.hub, labels.IMAGE: image_name, labels.POOL: hub.pool},
        "HostConfig": host,
    }


def _variables(values: Mapping[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in sorted(values.items())]


def _volume(source: str, target: str) -> dict[str, Any]:
    return {"Type": "volume", "Source": source, "Target": target, "ReadOnly": True}
