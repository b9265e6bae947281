"""The stack's own containers of a hub on a Docker host, as pulumi-docker arguments. Pure.

Only the filter mounts the engine's socket; it has no network, and access to it depends on mounting the volumes
with its two sockets. No container has a capability, except the setup that changes file owners and ends.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fleet.labels import OWN_PREFIX
from platforms.docker.container import container_args
from platforms.docker.container_model import Container, Mount, Port
from platforms.docker.engine_filter import COMMAND
from platforms.docker.hub import DATABASE, HUB_PORT, PROXY_API, PROXY_API_PORT, checksum
from platforms.docker.hub_bodies import ENGINE_FOLDER, PROGRAM_FOLDER
from platforms.docker.hub_model import Hub
from platforms.docker.hub_names import Names

CHECKSUM: Final = f"{OWN_PREFIX}configuration"  # label that forces a restart when it changes
PROXY_PORT: Final = 8000
FILTER_FILE: Final = "/etc/gpu-commons/engine_filter.cfg"
SETUP_FOLDER: Final = "/setup"
CREDENTIALS: Final = "/credentials"
SECRETS_OF_HOST: Final = "/etc/gpu-commons/secrets"  # host folder for site secrets: NAME/KEY
_ROOT, _USER = "0:0", "1000:1000"


def filter_container(names: Names, hub: Hub, configuration: Any) -> dict[str, Any]:
    """The filter between the hub and the engine."""
    shape = _shape(hub, hub.filter_image, hub.filter_image_name, cpu=0.5, memory_gib=0.25, mounts=(
        Mount(folder=hub.socket, target="/run/docker.sock"),
        Mount(volume=names.engine, target="/run/hub"),
        Mount(volume=names.kernels, target="/run/kernels"),
    ), command=(*COMMAND, FILTER_FILE))  # fmt: skip
    # Root without capabilities can open the engine's socket as its owner, but nothing else.
    return container_args(names.engine, shape, None) | {
        "user": _ROOT,
        "uploads": _uploads({FILTER_FILE: configuration}),
    }


def setup_container(names: Names, hub: Hub, files: Mapping[str, Any]) -> dict[str, Any]:
    """Writes programs and credentials into volumes and ends; `files` by path below its folder."""
    folders = [
        Mount(volume=names.program, target=PROGRAM_FOLDER),
        Mount(volume=names.credentials, target=CREDENTIALS),
        Mount(volume=names.tls, target="/tls"),
        Mount(volume=names.database, target="/database"),
    ]
    given = {"certificate": hub.expose.certificate, "key": hub.expose.key, "client-secret": _client_secret(hub)}
    folders += [
        Mount(folder=path, target=f"/given/{name}", read_only=True) for name, path in given.items() if path is not None
    ]
    command = ("python3", f"{SETUP_FOLDER}/hub_files/setup.py")
    shape = _shape(
        hub, hub.hub_image, hub.hub_image_name, cpu=1, memory_gib=0.5, mounts=tuple(folders), command=command
    )
    args = container_args(names.setup, shape.model_copy(update={"runs_to_end": True}), None)
    # The provider treats a new mount source as an in-place change, but makes none: a label restarts it.
    return args | {
        "labels": [*args["labels"], _mark({name: path or "" for name, path in given.items()})],
        "user": _ROOT,
        "capabilities": {"drops": ["ALL"], "adds": ["CAP_CHOWN"]},
        "uploads": _uploads({f"{SETUP_FOLDER}/{path}": text for path, text in files.items()}),
    }


def proxy_container(names: Names, hub: Hub, network: Any, control: Any) -> dict[str, Any]:
    """The public entry: it has the certificate, and of the hub only the token for proxy commands.

    It takes commands on the network `control`, where the hub is and no user's server.
    """
    flags = [
        "--ip=0.0.0.0",
        f"--port={PROXY_PORT}",
        f"--api-ip={PROXY_API}",
        f"--api-port={PROXY_API_PORT}",
        f"--default-target=http://{names.process}:{HUB_PORT}",
        f"--error-target=http://{names.process}:{HUB_PORT}/hub/error",
        f"--ssl-cert={CREDENTIALS}/tls.crt",
        f"--ssl-key={CREDENTIALS}/tls.key",
    ]
    # The proxy only reads its token from the environment.
    started = f'CONFIGPROXY_AUTH_TOKEN="$(cat {CREDENTIALS}/proxy-token)" exec configurable-http-proxy "$@"'
    shape = _shape(
        hub,
        hub.proxy_image,
        hub.proxy_image_name,
        cpu=1,
        memory_gib=0.5,
        command=("sh", "-c", started, "proxy", *flags),
        mounts=(Mount(volume=names.tls, target=CREDENTIALS, read_only=True),),
        ports=(Port(name="https", container=PROXY_PORT, host=hub.expose.port, address=hub.expose.address),),
    )
    args = container_args(names.proxy, shape, network)
    # It reads its certificate at startup: a new one recreates the container.
    served = {"certificate": hub.expose.certificate or "", "key": hub.expose.key or "", "url": hub.url}
    networks = [*args["networks_advanced"], {"name": control, "aliases": [PROXY_API]}]
    return args | {"user": _USER, "labels": [*args["labels"], _mark(served)], "networks_advanced": networks}


def hub_container(names: Names, hub: Hub, network: Any, control: Any) -> dict[str, Any]:
    """JupyterHub itself."""
    shape = _shape(
        hub,
        hub.hub_image,
        hub.hub_image_name,
        cpu=2,
        memory_gib=1,
        command=("jupyterhub", "--config", f"{PROGRAM_FOLDER}/hub_files/jupyterhub_config.py"),
        env={"PYTHONPATH": PROGRAM_FOLDER},
        mounts=(
            Mount(volume=names.program, target=PROGRAM_FOLDER, read_only=True),
            Mount(volume=names.credentials, target=CREDENTIALS, read_only=True),
            Mount(volume=names.engine, target=ENGINE_FOLDER, read_only=True),
            Mount(volume=names.database, target=DATABASE),
        ),
    )
    args = container_args(names.process, shape, network)
    return args | {"user": _USER, "networks_advanced": [*args["networks_advanced"], {"name": control}]}


def own_containers(name: str, hub: Hub) -> Iterator[tuple[str, dict[str, Any]]]:
    """All containers by name, without values known only in an update: for policy checks."""
    names = Names(name)
    yield names.engine, filter_container(names, hub, "")
    yield names.setup, setup_container(names, hub, {})
    yield names.proxy, proxy_container(names, hub, name, names.control)
    yield names.process, hub_container(names, hub, name, names.control)


def _shape(hub: Hub, image: Any, image_name: str, **more: Any) -> Container:
    return Container(image=image, image_name=image_name, pool=hub.pool, **more)


def _mark(values: Mapping[str, str]) -> dict[str, str]:
    return {"label": CHECKSUM, "value": checksum(values)}


def _client_secret(hub: Hub) -> str | None:
    secret = hub.login.client_secret
    return f"{SECRETS_OF_HOST}/{secret.secret}/{secret.key}" if secret else None


def _uploads(files: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"file": path, "content": text} for path, text in sorted(files.items())]
