"""A hub.json, what its programs send to the engine, and what somebody sends who got hold of one of their sockets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final
from urllib.parse import quote, urlencode

HUB: Final = "lab"
DIGEST: Final = "sha256:" + "1" * 64
V: Final = "/v1.41"
KERNEL: Final = "lab-kernel-ada-0123456789ab"
OTHER: Final = "1f" * 32  # id of a container
Line = tuple[str, str, str]  # method, URL, body


def document(image: str = f"registry.example.edu/cuda@{DIGEST}") -> dict[str, Any]:
    """A hub with two GPUs: servers that have one, and servers whose kernels are containers with one or two."""
    gateway = body(image, Mounts=[volume("lab-program", "/program"), volume("lab-kernels", "/run/engine")])
    kernels = [
        {"name": "cupy", "title": "CuPy", "gpus": 1, "body": body(image, env=[])},
        {"name": "both", "title": "Both GPUs", "gpus": 2, "body": body(image, env=[], ShmSize=1073741824)},
    ]
    return {
        "access": "runtime",
        "cards": [
            {"index": 0, "device": "0", "network": "gpu-commons-card-0"},
            {"index": 1, "device": "GPU-91f0", "network": "gpu-commons-card-1"},
        ],
        "gateway": {"body": gateway, "max_kernels": 4},
        "hub": HUB,
        "network": HUB,
        "profiles": [
            {"name": "gpu", "title": "GPU", "gpus": 1, "body": body(image, env=[])},
            {"name": "kernels", "title": "Kernels", "gpus": 0, "body": body(image), "kernels": kernels},
        ],
    }


def body(image: str, *, env: list[str] | None = None, **host: Any) -> dict[str, Any]:
    """A container as the stack writes it."""
    limits = {
        "CapDrop": ["ALL"],
        "IpcMode": "private",
        "LogConfig": {"Config": {"max-file": "3", "max-size": "10m"}, "Type": "json-file"},
        "Memory": 67108864,
        "MemorySwap": 67108864,
        "NanoCpus": 1000000000,
        "SecurityOpt": ["no-new-privileges:true"],
        "ShmSize": 67108864,
    }
    return {
        "Cmd": ["/bin/sh", "-c", "sleep 60"],
        "Env": ["NVIDIA_VISIBLE_DEVICES=void"] if env is None else env,
        "HostConfig": limits | host,
        "Image": image,
        "Labels": {"gpu-commons.org/hub": HUB, "gpu-commons.org/pool": "server"},
    }


def volume(source: str, target: str) -> dict[str, Any]:
    return {"ReadOnly": True, "Source": source, "Target": target, "Type": "volume"}


def text(value: Any) -> str:
    """As the programs write a body."""
    return json.dumps(value, sort_keys=True)


def server(hub: Mapping[str, Any], profile: int = 1, **host: Any) -> dict[str, Any]:
    """What the hub makes of a profile's body for the user ada."""
    made = made_for("ada", "server", hub["profiles"][profile]["body"])
    home = {"Source": "lab-home-ada", "Target": "/home/jovyan", "Type": "volume"}
    made["HostConfig"] |= {"Mounts": [home], "NetworkMode": HUB} | host
    made["Env"] += ["JUPYTERHUB_USER=ada", "MEM_LIMIT=64", 'QUOTE="\\\u00e9\n']
    return made


def gateway(hub: Mapping[str, Any]) -> dict[str, Any]:
    made = made_for("ada", "gateway", hub["gateway"]["body"])
    restart = {"MaximumRetryCount": 5, "Name": "on-failure"}
    made["HostConfig"] |= {"NetworkMode": "lab-user-ada", "RestartPolicy": restart}
    made["Env"] += ["KG_AUTH_TOKEN=" + "0" * 64]
    return made


def kernel(
    hub: Mapping[str, Any], number: int = 0, devices: tuple[str, ...] = ("0",), user: str = "ada"
) -> dict[str, Any]:
    made = made_for(user, "kernel", hub["profiles"][1]["kernels"][number]["body"])
    home = {"Source": f"lab-home-{user}", "Target": "/home/jovyan", "Type": "volume"}
    device_request = {"Capabilities": [["gpu"]], "DeviceIDs": list(devices), "Driver": "nvidia"}
    made["HostConfig"] |= {
        "DeviceRequests": [device_request],
        "Init": True,
        "Mounts": [home],
        "NetworkMode": f"lab-user-{user}",
    }
    return made | {"WorkingDir": "/home/jovyan/course"}


def made_for(user: str, part: str, given: Mapping[str, Any]) -> dict[str, Any]:
    made = deepcopy(dict(given))
    made["Labels"] |= {"gpu-commons.org/part": part, "gpu-commons.org/user": user}
    return made


def user_network(**more: Any) -> dict[str, Any]:
    labels = {"gpu-commons.org/hub": HUB, "gpu-commons.org/part": "network", "gpu-commons.org/user": "ada"}
    return {"Driver": "bridge", "Internal": True, "Labels": labels, "Name": "lab-user-ada"} | more


def home(user: str, more: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A user's home, or the record of an earlier one."""
    labels = {"gpu-commons.org/hub": HUB, "gpu-commons.org/login": 'Ada "É" @ example.edu', **(more or {})}
    return {"Labels": labels, "Name": f"lab-home-{user}"}


def holders(earlier: str) -> str:
    wanted = {"label": [f"gpu-commons.org/hub={HUB}", f"gpu-commons.org/home={earlier}"]}
    return urlencode({"filters": json.dumps(wanted)})


def attach(name: str) -> str:
    return text({"Container": name, "EndpointConfig": {}})


def listing(*labels: str, of: str = HUB) -> str:
    """As docker-py asks for what has these labels."""
    wanted = json.dumps({"label": [f"gpu-commons.org/hub={of}", *labels]})
    return urlencode({"limit": -1, "all": 1, "size": 0, "trunc_cmd": 0, "filters": wanted})


def create(name: str, made: Any) -> Line:
    return "POST", f"{V}/containers/create?name={name}", made if isinstance(made, str) else text(made)


def hub_sends(hub: Mapping[str, Any]) -> list[Line]:
    """Every kind of call of the hub, in an order in which an engine carries them out."""
    image = hub["profiles"][1]["body"]["Image"]
    place, _, digest = image.partition("@")
    only = json.dumps({"label": ["gpu-commons.org/hub=lab"]})
    gone = "v=True&link=False&force=True"
    return [
        ("GET", "/version", ""),
        ("GET", f"{V}/_ping", ""),
        ("GET", f"{V}/images/{quote(image, safe='/:')}/json", ""),
        ("POST", f"{V}/images/create?{urlencode({'tag': digest, 'fromImage': place})}", ""),
        ("POST", f"{V}/networks/create", text(user_network())),
        ("GET", f"{V}/networks/lab-user-ada", ""),
        ("GET", f"{V}/networks?{urlencode({'filters': only})}", ""),
        ("GET", f"{V}/volumes?{holders('lab-home-ann--0123456789')}", ""),
        ("POST", f"{V}/volumes/create", text(home("ada"))),
        ("GET", f"{V}/volumes/lab-home-ada", ""),
        ("POST", f"{V}/volumes/create", text(home("ann--1", {"gpu-commons.org/home": "lab-home-ann--0"}))),
        create("lab-gateway-ada", gateway(hub)),
        ("POST", f"{V}/containers/lab-gateway-ada/start", ""),
        create("lab-server-ada", server(hub)),
        ("POST", f"{V}/networks/lab-user-ada/connect", attach("lab-server-ada")),
        ("GET", f"{V}/networks/gpu-commons-card-0", ""),
        ("POST", f"{V}/networks/gpu-commons-card-0/connect", attach("lab-server-ada")),
        ("POST", f"{V}/containers/lab-server-ada/start", ""),
        ("GET", f"{V}/containers/lab-server-ada/json", ""),
        ("GET", f"{V}/containers/lab-server-ada/logs?stderr=1&stdout=1&timestamps=0&follow=0&tail=20", ""),
        ("GET", f"{V}/containers/json?{listing()}", ""),
        ("GET", f"{V}/containers/json?{listing('gpu-commons.org/user=ada', 'gpu-commons.org/part=kernel')}", ""),
        ("POST", f"{V}/containers/lab-server-ada/stop?t=0", ""),
        ("DELETE", f"{V}/containers/lab-server-ada?{gone}", ""),
        ("POST", f"{V}/containers/lab-gateway-ada/kill?signal=SIGKILL", ""),
        ("DELETE", f"{V}/containers/lab-gateway-ada?{gone}", ""),
        ("DELETE", f"{V}/networks/lab-user-ada", ""),
    ]


def gateways_send(hub: Mapping[str, Any]) -> list[Line]:
    """Calls of a gateway; its kernel asks for no GPU of an engine that has none."""
    return [
        ("GET", "/version", ""),
        create(KERNEL, kernel(hub)),
        create(KERNEL, kernel(hub, 0, ("GPU-91f0",))),
        create(KERNEL, kernel(hub, 1, ("0", "GPU-91f0"))),
        ("GET", f"{V}/networks/gpu-commons-card-1", ""),
        ("POST", f"{V}/networks/gpu-commons-card-1/connect", attach(KERNEL)),
        ("PUT", f"{V}/containers/{KERNEL}/archive?path=%2F", "tar"),
        ("POST", f"{V}/containers/{KERNEL}/start", ""),
        ("POST", f"{V}/containers/{KERNEL}/kill?signal=2", ""),
        ("GET", f"{V}/containers/{KERNEL}/json", ""),
        ("GET", f"{V}/containers/json?{listing('gpu-commons.org/user=ada', 'gpu-commons.org/part=kernel')}", ""),
        ("DELETE", f"{V}/containers/{KERNEL}?v=True&link=False&force=True", ""),
    ]
