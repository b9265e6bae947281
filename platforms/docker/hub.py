"""Writes hub.json: site, profiles and GPUs for the programs of a hub on a Docker host. Pure."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from platforms.docker.hub_bodies import ENGINE_FOLDER, PROGRAM_FOLDER, gateway_body, kernel_body, server_body
from platforms.docker.hub_model import Hub, Kernel, Profile
from platforms.docker.hub_names import Names
from workloads.hub_options import jupyterhub_options, login_sections
from workloads.hub_page import page_of
from workloads.hub_programs import PACKAGE

HOME: Final = "/home/jovyan"  # in servers and kernels
DATABASE: Final = "/srv/jupyterhub"
HUB_PORT: Final = 8081
PROXY_API: Final = "proxy-api"  # the proxy's name on the network where it takes commands
PROXY_API_PORT: Final = 8001


def hub_document(name: str, hub: Hub) -> dict[str, Any]:
    """Content of hub.json. Image references and network names may be outputs of other resources."""
    names = Names(name)
    return {
        "access": hub.access,
        "cards": [{"index": each.index, "device": each.device, "network": each.network} for each in hub.cards],
        # For kernel gateways.
        "cull": {"every_s": hub.cull.every_s, "kernel_idle_s": hub.cull.kernel_idle_s or hub.cull.idle_s},
        "engine": {
            "hub": f"unix://{ENGINE_FOLDER}/hub.sock",
            "kernels": f"unix://{ENGINE_FOLDER}/kernels.sock",
        },
        "gateway": (
            {"body": gateway_body(names, hub), "max_kernels": hub.kernels_per_user} if hub.has_kernels else None
        ),
        "home": HOME,
        "hub": name,
        "network": name,
        "login_ca": hub.login.ca_certificates,
        "options": _options(names, hub),
        # On one host, profiles of an image differ only in size, but kernels are no matter of size.
        "page": page_of(hub, hub.profiles, lambda profile: profile.kernels),
        "pool": hub.pool,
        "profiles": [_profile(names, hub, each) for each in hub.profiles],
        "timeouts": {"start_s": hub.start_timeout_s, "http_s": hub.http_timeout_s},
        "url": hub.url,
    }


def _options(names: Names, hub: Hub) -> dict[str, Any]:
    """JupyterHub's options by section."""
    common = jupyterhub_options(hub.login, hub.public_url, hub.cull)
    sweeper = {
        "name": "sweeper",
        "command": ["python3", "-m", f"{PACKAGE}.sweeper"],
        "environment": {"PYTHONPATH": PROGRAM_FOLDER},
    }
    role = {"name": "sweeper", "scopes": ["list:users", "read:users:name", "read:servers"], "services": ["sweeper"]}
    return {
        "JupyterHub": {
            **common,
            "db_url": f"sqlite:///{DATABASE}/jupyterhub.sqlite",
            "hub_bind_url": f"http://:{HUB_PORT}",
            "hub_connect_url": f"http://{names.process}:{HUB_PORT}",
            "load_roles": [*common["load_roles"], role],
            "services": [*common["services"], sweeper],
            "spawner_class": f"{PACKAGE}.docker_spawner.CommonsDockerSpawner",
        },
        "ConfigurableHTTPProxy": {"api_url": f"http://{PROXY_API}:{PROXY_API_PORT}", "should_start": False},
        "Spawner": {"default_url": "/lab"},
        **login_sections(hub.login),
    }


def hub_text(document: Mapping[str, Any]) -> str:
    """Text of hub.json, once all values are known."""
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def checksum(files: Mapping[str, str]) -> str:
    """Short fingerprint of all files: as a container label, it restarts the hub when they change."""
    return hashlib.sha256(json.dumps(dict(files), sort_keys=True).encode()).hexdigest()[:16]


def _profile(names: Names, hub: Hub, profile: Profile) -> dict[str, Any]:
    return {
        "body": server_body(names, hub, profile),
        "gpus": profile.gpus,
        "kernels": [_kernel(names, hub, each) for each in profile.kernels],
        "name": profile.name,
        "title": profile.title,
    }


def _kernel(names: Names, hub: Hub, kernel: Kernel) -> dict[str, Any]:
    return {"body": kernel_body(names, hub, kernel), "gpus": kernel.gpus, "name": kernel.name, "title": kernel.title}
