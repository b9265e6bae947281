"""Arguments of a pulumi-docker container with a complete runtime profile: no engine defaults remain.

Names are those of `docker.Container` in pulumi-docker 5.2.0. Pure.
"""

from collections.abc import Mapping
from typing import Any, Final

from fleet import labels
from platforms.docker.container_model import Container, Mount
from platforms.docker.limits import DROPPED, LOG, LOG_DRIVER, NO_GPU, SECURITY, limits_of
from workloads.arguments import plain, read

CONTAINER_TOKEN: Final = "docker:index/container:Container"  # noqa: S105 - a resource type


def parse_container(name: str, args: Mapping[str, Any]) -> Container:
    """Arguments of DockerGpuContainer. Raises SettingsError with every problem."""
    return read(Container, f"DockerGpuContainer {name}", name, plain(args))


def container_args(name: str, shape: Container, network: Any) -> dict[str, Any]:
    """Arguments of `docker.Container`, with Python keys.

    `network` may be another resource's output; None: the container has no network.
    """
    networks = () if network is None else (network, *shape.card_networks)
    limits = limits_of(shape, cpu=shape.cpu, memory_gib=shape.memory_gib, shm_gib=shape.shm_gib)
    args: dict[str, Any] = {
        "name": name,
        "image": shape.image,
        "labels": _labels(shape),
        "cpus": _cores(limits.cpu),
        "memory": limits.memory_mib,
        "memory_swap": limits.memory_mib,  # no swap; unset, every preview shows the engine's value
        "shm_size": limits.shm_mib,
        "ipc_mode": limits.ipc,
        "ulimits": [{"name": name, "soft": value, "hard": value} for name, value in limits.ulimits],
        "capabilities": {"drops": list(DROPPED)},
        "security_opts": list(SECURITY),
        "log_driver": LOG_DRIVER,
        "log_opts": LOG,
        **({"networks_advanced": [{"name": each} for each in networks]} if networks else {"network_mode": "none"}),
        "envs": [f"{key}={value}" for key, value in sorted(_env(shape).items())],
        "ports": [
            {"internal": port.container, "external": port.host, "ip": port.address, "protocol": "tcp"}
            for port in shape.ports
        ],
        "mounts": [_mount(each) for each in shape.mounts],
        **_gpus(shape),
        **_life(shape),
    }
    if shape.command:
        args["command"] = list(shape.command)
    return {key: value for key, value in args.items() if value not in ([], None)}


def _cores(cpu: float) -> str:
    """In the provider's format (nanoInt64ToDecimalString): any other shows as a change in each preview."""
    text = f"{cpu:.9f}"
    return f"{cpu:.1f}" if text.count("0") == 9 else text.rstrip("0")


def wire_form(args: Any) -> Any:
    """Arguments in the Pulumi engine's form: camel case keys."""
    if isinstance(args, Mapping):
        return {_camel(key): wire_form(value) for key, value in args.items()}
    return [wire_form(each) for each in args] if isinstance(args, list) else args


def _camel(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(word.capitalize() for word in more)


def _labels(shape: Container) -> list[dict[str, str]]:
    marks = {
        labels.POOL: shape.pool,
        labels.IMAGE: shape.image_name,
    }
    return [{"label": key, "value": value} for key, value in marks.items()]


def _env(shape: Container) -> dict[str, str]:
    """Hides all GPUs from containers without a grant."""
    return shape.env if shape.devices else {**shape.env, **NO_GPU}


def _mount(mount: Mount) -> dict[str, Any]:
    kind, source = ("volume", mount.volume) if mount.volume else ("bind", mount.folder)
    return {"type": kind, "source": source, "target": mount.target, "read_only": mount.read_only}


def _gpus(shape: Container) -> dict[str, Any]:
    """Only the granted devices."""
    if not shape.devices:
        return {}
    if shape.access == "cdi":
        return {
            "device_requests": [{"driver": "cdi", "device_ids": [f"nvidia.com/gpu={each}" for each in shape.devices]}]
        }
    if len(shape.devices) == 1:
        return {"gpus": f"device={shape.devices[0]}"}
    # Not `gpus`: the provider strips the quotes and splits at the comma, and the engine rejects the rest.
    # github:kreuzwerker/terraform-provider-docker internal/provider/resource_docker_container_funcs.go,
    # normalizeGPUOptionString; github:docker/cli opts/gpus.go.
    return {"device_requests": [{"driver": "nvidia", "capabilities": ["gpu"], "device_ids": list(shape.devices)}]}


def _life(shape: Container) -> dict[str, Any]:
    """Services are restarted; a batch run is awaited, its log kept, and never restarted."""
    if not shape.runs_to_end:
        return {"restart": "unless-stopped", "must_run": True}
    retried = {"restart": "on-failure", "max_retry_count": shape.retries} if shape.retries else {"restart": "no"}
    return {"must_run": False, "attach": True, "logs": True, **retried}
