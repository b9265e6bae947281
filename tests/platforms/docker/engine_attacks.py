"""What a hub, or a gateway, may not do with the engine, however it is written. The key of each says what it tries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.platforms.docker import engine_requests as requests
from tests.platforms.docker.engine_requests import KERNEL, OTHER, Line, V, attach, create, listing, text

BOBS: Final = "lab-kernel-bob-0123456789ab"
BIND: Final = {"Source": "/", "Target": "/host", "Type": "bind"}
HOST_VOLUME: Final = {"DriverConfig": {"Name": "local", "Options": {"device": "/", "o": "bind", "type": "none"}}}


def on_hub(hub: Mapping[str, Any]) -> dict[str, Line]:
    """On the socket of the hub."""
    return {**dict(_bodies(hub)), **dict(_texts(hub)), **dict(_networks()), **dict(_paths()), **dict(_rest())}


def on_kernels(hub: Mapping[str, Any]) -> dict[str, Line]:
    """On the socket of the gateways."""
    kernel = requests.kernel(hub)
    other_home = [{"Source": "lab-home-bob", "Target": "/home/jovyan", "Type": "volume"}]
    device_request = kernel["HostConfig"]["DeviceRequests"][0]
    return {
        "a server": create("lab-server-ada", requests.server(hub)),
        "a gateway": create("lab-gateway-ada", requests.gateway(hub)),
        "a kernel without an id": create("lab-kernel-ada", kernel),
        "the home of somebody else": create(KERNEL, _host(kernel, Mounts=other_home)),
        "the program, to write": create(KERNEL, _host(kernel, Mounts=[requests.volume("lab-program", "/program")])),
        "a network of somebody else": create(KERNEL, _host(kernel, NetworkMode="lab-user-bob")),
        "the network of the hub": create(KERNEL, _host(kernel, NetworkMode="lab")),
        "labels of somebody else": create(KERNEL, requests.made_for("bob", "kernel", kernel)),
        "more GPUs than the kernel has": create(KERNEL, requests.kernel(hub, 0, ("0", "GPU-91f0"))),
        "fewer GPUs": create(KERNEL, requests.kernel(hub, 1, ("0",))),
        "a GPU of another hub": create(KERNEL, requests.kernel(hub, 0, ("2",))),
        "all GPUs": create(KERNEL, _host(kernel, DeviceRequests=[{**device_request, "Count": -1}])),
        "GPUs by a variable": create(KERNEL, kernel | {"Env": ["NVIDIA_VISIBLE_DEVICES=all"]}),
        "end the hub": ("POST", f"{V}/containers/lab-hub/kill?signal=9", ""),
        "end a server": ("DELETE", f"{V}/containers/lab-server-bob?force=True", ""),
        "list what others run": ("GET", f"{V}/containers/json?{listing()}", ""),
        "list the kernels of somebody else": ("GET", f"{V}/containers/json?{listing('gpu-commons.org/user=bob')}", ""),
        "end a kernel of somebody else": ("POST", f"{V}/containers/{BOBS}/kill?signal=9", ""),
        "remove a kernel of somebody else": ("DELETE", f"{V}/containers/{BOBS}?force=True", ""),
        "look into a kernel of somebody else": ("GET", f"{V}/containers/{BOBS}/json", ""),
        "a file for a kernel of somebody else": ("PUT", f"{V}/containers/{BOBS}/archive?path=%2F", "tar"),
        "start a kernel of somebody else": ("POST", f"{V}/containers/{BOBS}/start", ""),
        "a GPU for a kernel of somebody else": ("POST", f"{V}/networks/gpu-commons-card-0/connect", attach(BOBS)),
        "a kernel as somebody else": create(BOBS, requests.kernel(hub, user="bob")),
        "look into a home": ("GET", f"{V}/volumes/lab-home-ada", ""),
        "a home with a label": ("POST", f"{V}/volumes/create", text(requests.home("ada"))),
        "look into a server": ("GET", f"{V}/containers/lab-server-ada/json", ""),
        "a file elsewhere": ("PUT", f"{V}/containers/{KERNEL}/archive?path=%2Fetc", "tar"),
        "a file for a server": ("PUT", f"{V}/containers/lab-server-ada/archive?path=%2F", "tar"),
        "read a file": ("GET", f"{V}/containers/{KERNEL}/archive?path=%2F", ""),
        "a network for itself": ("POST", f"{V}/networks/create", text(requests.user_network())),
        "a GPU for a server": ("POST", f"{V}/networks/gpu-commons-card-0/connect", attach("lab-server-ada")),
        "pull an image": ("POST", f"{V}/images/create?fromImage=debian&tag=12", ""),
    }


def _host(made: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {**made, "HostConfig": {**made["HostConfig"], **more}}


def _without(made: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {**made, "HostConfig": {name: value for name, value in made["HostConfig"].items() if name != key}}


def _bodies(hub: Mapping[str, Any]) -> Iterator[tuple[str, Line]]:
    """Proper JSON, keys in order: what it asks for is refused."""
    made = requests.server(hub)
    mount = made["HostConfig"]["Mounts"][0]
    bodies: dict[str, Any] = {
        "privileged": _host(made, Privileged=True),
        "a folder of the host, by Binds": _host(made, Binds=["/:/host"]),
        "a volume, by Binds": _host(made, Binds=["lab-credentials:/c"]),
        "a folder of the host, by Mounts": _host(made, Mounts=[BIND]),
        "a folder of the host beside the home": _host(made, Mounts=[mount, BIND]),
        "a volume that is a folder of the host": _host(made, Mounts=[{**mount, "VolumeOptions": HOST_VOLUME}]),
        "volumes of another container": _host(made, VolumesFrom=["lab-hub"]),
        "the credentials": _host(made, Mounts=[{**mount, "Source": "lab-credentials"}]),
        "the socket of the hub": _host(made, Mounts=[{**mount, "Source": "lab-engine"}]),
        "the socket of the gateways": _host(made, Mounts=[requests.volume("lab-kernels", "/run/engine")]),
        "the home of somebody else": _host(made, Mounts=[{**mount, "Source": "lab-home-bob"}]),
        "the home at another place": _host(made, Mounts=[{**mount, "Target": "/var/run/nvidia-container-devices/all"}]),
        "the network of the host": _host(made, NetworkMode="host"),
        "the network of the hub process": _host(made, NetworkMode="container:lab-hub"),
        "processes of the host": _host(made, PidMode="host"),
        "IPC of the host": _host(made, IpcMode="host"),
        "users of the host": _host(made, UsernsMode="host"),
        "the name of the host": _host(made, UTSMode="host"),
        "a capability": _host(made, CapAdd=["SYS_ADMIN"]),
        "all capabilities": _without(made, "CapDrop"),
        "no capability dropped": _host(made, CapDrop=[]),
        "no confinement": _host(made, SecurityOpt=["no-new-privileges:true", "seccomp=unconfined"]),
        "new privileges": _without(made, "SecurityOpt"),
        "a device file": _host(made, Devices=[{"PathInContainer": "/dev/sda", "PathOnHost": "/dev/sda"}]),
        "device rules": _host(made, DeviceCgroupRules=["a *:* rwm"]),
        "a control group": _host(made, CgroupParent="/"),
        "another runtime": _host(made, Runtime="runc"),
        "kernel settings": _host(made, Sysctls={"kernel.msgmax": "1"}),
        "paths unmasked": _host(made, MaskedPaths=[]),
        "more memory": _host(made, Memory=1 << 40),
        "no limit of memory": _without(made, "Memory"),
        "a port of the host": _host(made, PortBindings={"1/tcp": [{"HostPort": "1"}]}),
        "a log of the host": _host(made, LogConfig={"Config": {"path": "/etc/x"}, "Type": "local"}),
        "GPUs by device request": _host(made, DeviceRequests=[{"Count": -1, "Driver": "nvidia"}]),
        "GPUs by a variable": made | {"Env": ["NVIDIA_VISIBLE_DEVICES=all"]},
        "GPUs by a variable beside": made | {"Env": [*made["Env"], "NVIDIA_VISIBLE_DEVICES=all"]},
        "another image": made | {"Image": "debian:12"},
        "root": made | {"User": "0"},
        "a health check": made | {"Healthcheck": {"Test": ["CMD", "true"]}},
        "the label of another hub": made | {"Labels": {**made["Labels"], "gpu-commons.org/hub": "other"}},
        "no label": made | {"Labels": {}},
        "another network by its settings": made | {"NetworkingConfig": {"EndpointsConfig": {"bridge": {}}}},
    }
    for name, body in bodies.items():
        yield name, create("lab-server-ada", body)
    yield "a server as somebody else", create("lab-server-bob", made)
    yield "a kernel of the hub's own", create(KERNEL, requests.kernel(hub))
    yield "a container of another name", create("other-server-ada", made)


def _texts(hub: Mapping[str, Any]) -> Iterator[tuple[str, Line]]:
    """What is written so that one parser reads it differently from another."""
    good = text(requests.server(hub))
    limits = good.index('{"CapDrop"')
    texts = {
        "lower case": good.replace('"NanoCpus"', '"privileged": true, "NanoCpus"'),
        "upper case": good.replace('"SecurityOpt"', '"PRIVILEGED": true, "SecurityOpt"'),
        "letters that fold to others": good.replace('"ShmSize"', '"Privileged\\u017f": true, "ShmSize"'),
        "an escape in a key": good.replace('"SecurityOpt"', '"\\u0050rivileged": true, "SecurityOpt"'),
        "an escape in the name of a variable": good.replace(
            '"MEM_LIMIT', '"\\u004eVIDIA_VISIBLE_DEVICES=all", "MEM_LIMIT'
        ),
        "a key twice": good.replace('"Memory": 67108864', '"Memory": 67108864, "Memory": 67108865'),
        "limits twice": f'{good[:-1]}, "HostConfig": {{"Privileged": true}}}}',
        "limits twice, in lower case": f'{good[:-1]}, "hostconfig": {{"Privileged": true}}}}',
        "limits twice, the first empty": f'{{"HostConfig": {{}}, {good[1:]}',
        "no limits": good.replace(good[limits : good.index(', "Image"')], "null"),
        "other spaces": good.replace('"Image": ', '"Image" :\t'),
        "a second value": good + good,
        "a line end": good + "\n",
        "a NUL": good + "\0",
        "a NUL, and a second value": good + "\0" + good.replace("private", "host"),
        "a byte order mark": "\ufeff" + good,
        "a letter that is not ASCII": good.replace("MEM_LIMIT=64", "MEM_LIMIT=\u00e9"),
        "a comment": good.replace(", ", ", /**/", 1),
        "half of it": good[:-1],
        "a list": f"[{good}]",
        "nothing": "",
        "an empty object": "{}",
        "one that is too long": good.replace("MEM_LIMIT=64", "MEM_LIMIT=" + "6" * 50_000),
    }
    for name, body in texts.items():
        yield f"text: {name}", create("lab-server-ada", body)


def _networks() -> Iterator[tuple[str, Line]]:
    bodies: dict[str, Any] = {
        "a way out": requests.user_network(Internal=False),
        "a bridge of the host": requests.user_network(Options={"com.docker.network.bridge.name": "docker0"}),
        "another driver": requests.user_network(Driver="macvlan"),
        "addresses of the host": requests.user_network(IPAM={"Config": [{"Subnet": "10.0.0.0/8"}]}),
        "the name of a card": requests.user_network(Name="gpu-commons-card-7"),
        "the network of somebody else": requests.user_network(Name="lab-user-bob"),
    }
    for name, body in bodies.items():
        yield f"network: {name}", ("POST", f"{V}/networks/create", text(body))
    card = f"{V}/networks/gpu-commons-card-0"
    yield "network: remove a card", ("DELETE", card, "")
    yield (
        "network: take a card from its holder",
        ("POST", f"{card}/disconnect", text({"Container": "x", "Force": True})),
    )
    yield "network: a card for a foreign container", ("POST", f"{card}/connect", attach("other"))
    yield "network: a card for the proxy", ("POST", f"{card}/connect", attach("lab-proxy"))
    yield (
        "network: an address",
        (
            "POST",
            f"{card}/connect",
            text({"Container": "lab-server-ada", "EndpointConfig": {"IPAMConfig": {"IPv4Address": "10.99.0.2"}}}),
        ),
    )
    yield "network: a card that is not there", ("GET", f"{V}/networks/gpu-commons-card-7", "")
    yield (
        "network: a server on the network of somebody else",
        ("POST", f"{V}/networks/lab-user-bob/connect", attach("lab-server-ada")),
    )
    yield "network: a server on the bridge", ("POST", f"{V}/networks/bridge/connect", attach("lab-server-ada"))
    yield "network: the hub's own", ("DELETE", f"{V}/networks/lab", "")
    yield "network: all", ("GET", f"{V}/networks", "")
    yield "network: prune", ("POST", f"{V}/networks/prune", "")


def _paths() -> Iterator[tuple[str, Line]]:
    """Other ways to write an address, or to reach what is not the hub's."""
    urls = {
        "another container": f"{V}/containers/other/json",
        "the proxy": f"{V}/containers/lab-proxy/json",
        "the hub itself": f"{V}/containers/lab-hub/json",
        "a container by its id": f"{V}/containers/{OTHER}/json",
        "a container by the beginning of its id": f"{V}/containers/{OTHER[:12]}/json",
        "two slashes": f"{V}//containers/lab-server-ada/json",
        "dots": f"{V}/containers/lab-server-ada/../other/json",
        "a dot encoded": f"{V}/containers/lab-server-ada%2f..%2fother/json",
        "a name encoded": f"{V}/containers/lab-server-%61da/json",
        "a slash encoded": f"{V}%2fcontainers/lab-server-ada/json",
        "upper case": f"{V}/Containers/lab-server-ada/json",
        "a name in upper case": f"{V}/containers/LAB-server-ada/json",
        "a name with a slash": f"{V}/containers//lab-server-ada/json",
        "an old API": "/v1.23/containers/lab-server-ada/json",
        "an API of no number": "/v1.41.0/containers/lab-server-ada/json",
        "a whole address": f"http://localhost{V}/containers/lab-server-ada/json",
        "a query that nobody sends": f"{V}/containers/lab-server-ada/json?size=1",
        "all containers": f"{V}/containers/json?all=1",
        "containers of another hub": f"{V}/containers/json?{listing(of='other')}",
        "two filters": f"{V}/containers/json?{listing()}&filters=%7B%7D",
        "a filter by something else": f"{V}/containers/json?all=1&filters=%7B%22name%22%3A+%5B%22lab%22%5D%7D",
        "files of a container": f"{V}/containers/lab-server-ada/archive?path=/",
        "a container as a file": f"{V}/containers/lab-server-ada/export",
    }
    for name, url in urls.items():
        yield f"path: {name}", ("GET", url, "")


def _rest() -> Iterator[tuple[str, Line]]:
    """What a hub has no use for."""
    begins = f"{V}/containers/lab-server-ada"
    lines: dict[str, Line] = {
        "two names": ("POST", f"{V}/containers/create?name=lab-server-ada&name=other", "{}"),
        "a name behind another": ("POST", f"{V}/containers/create?name=other&name=lab-server-ada", "{}"),
        "no name": ("POST", f"{V}/containers/create", "{}"),
        "a platform": ("POST", f"{V}/containers/create?name=lab-server-ada&platform=x", "{}"),
        "a start with a body": ("POST", f"{begins}/start", text({"Privileged": True})),
        "a read with a body": ("GET", f"{begins}/json", "{}"),
        "rename": ("POST", f"{begins}/rename?name=lab-hub", ""),
        "update": ("POST", f"{begins}/update", text({"Memory": 0})),
        "attach": ("POST", f"{begins}/attach?stream=1", ""),
        "exec in its server": ("POST", f"{begins}/exec", text({"Cmd": ["sh"], "Privileged": True})),
        "exec in the proxy": ("POST", f"{V}/containers/lab-proxy/exec", text({"Cmd": ["sh"]})),
        "an exec by its id": ("POST", f"{V}/exec/{OTHER}/start", "{}"),
        "files into a container": ("PUT", f"{begins}/archive?path=%2F", "tar"),
        "commit": ("POST", f"{V}/commit?container=lab-server-ada", "{}"),
        "build": ("POST", f"{V}/build?remote=https://example.org/x", ""),
        "a session": ("POST", "/session", ""),
        "gRPC": ("POST", "/grpc", ""),
        "an image by tag": ("POST", f"{V}/images/create?fromImage=debian&tag=12", ""),
        "load images": ("POST", f"{V}/images/load", "tar"),
        "remove images": ("DELETE", f"{V}/images/debian?force=1", ""),
        "list images": ("GET", f"{V}/images/json", ""),
        "volumes": ("GET", f"{V}/volumes", ""),
        "remove the database": ("DELETE", f"{V}/volumes/lab-database", ""),
        "remove a home": ("DELETE", f"{V}/volumes/lab-home-ada", ""),
        "a volume that is a folder": (
            "POST",
            f"{V}/volumes/create",
            text({"DriverOpts": {"device": "/", "o": "bind"}}),
        ),
        "swarm": ("POST", f"{V}/swarm/init", "{}"),
        "services": ("POST", f"{V}/services/create", "{}"),
        "secrets": ("GET", f"{V}/secrets", ""),
        "plugins": ("POST", f"{V}/plugins/pull?remote=x", "[]"),
        "the host": ("GET", f"{V}/info", ""),
        "events": ("GET", f"{V}/events", ""),
        "credentials": ("POST", f"{V}/auth", "{}"),
        "prune": ("POST", f"{V}/containers/prune", ""),
        "another method": ("PATCH", f"{begins}/json", ""),
        "options": ("OPTIONS", f"{begins}/json", ""),
    }
    yield from lines.items()
