"""Writes hub.json and jobs.json: site and profiles for the programs of a hub on a Slurm cluster. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from platforms.slurm.batch_script import variables_prefix
from platforms.slurm.hub_model import Hub, Profile, hubs_of
from platforms.slurm.server_script import server_script
from platforms.slurm.site_model import HubsHere, SlurmAccess
from workloads.addresses import LOOPBACK
from workloads.authenticator import Login
from workloads.hub_options import jupyterhub_options, login_sections
from workloads.hub_page import page_of
from workloads.hub_programs import PACKAGE

FOLDER: Final = "hubs"  # in the image store: all hubs of a site and their shared agent
AGENT: Final = "agent.py"
SECRETS: Final = "/etc/gpu-commons/secrets"  # on the login node: site secrets, NAME/KEY


def agent_path(site: SlurmAccess) -> str:
    """Command allowed to the hubs' key."""
    return f"{site.image_store.rstrip('/')}/{FOLDER}/{AGENT}"


def folder_of(site: SlurmAccess, hub: str) -> str:
    """Folder of a hub's programs."""
    return f"{site.image_store.rstrip('/')}/{FOLDER}/{hub}"


def texts(hub: Hub, site: SlurmAccess, sifs: Mapping[str, str]) -> dict[str, str]:
    """Job text of each profile; `sifs`: image files by name. Raises Unwritable."""
    return {each.name: server_script(each, site, sifs[each.image_name], hub.cull) for each in hub.profiles}


def files(
    name: str, hub: Hub, site: SlurmAccess, sifs: Mapping[str, str], programs: Mapping[str, str]
) -> dict[str, str]:
    """All files of a hub by path below the folder of all hubs. Raises Unwritable."""
    return {
        AGENT: programs[AGENT],
        f"{name}/hub.json": _text(hub_document(name, hub, site, sifs)),
        f"{name}/jobs.json": _text(
            {"config": site.config, "profiles": {each.name: _asks(each) for each in hub.profiles}}
        ),
        f"{name}/service.py": programs["service.py"],
        **{f"{name}/profiles/{profile}.sbatch": text for profile, text in texts(hub, site, sifs).items()},
        **{f"{name}/hub_files/{file}": content for file, content in sorted(programs.items())},
    }


def hub_document(name: str, hub: Hub, site: SlurmAccess, sifs: Mapping[str, str]) -> dict[str, Any]:
    """Content of hub.json, without secrets."""
    here, secret = hubs_of(site), hub.login.client_secret
    return {
        "accounts": dict(here.accounts),
        "client_secret": f"{SECRETS}/{secret.secret}/{secret.key}" if secret else None,
        "expose": hub.expose.model_dump(include={"address", "certificate", "key", "port"}),
        "host": hub.expose.host,
        "hub": name,
        "hub_port": hub.expose.hub_port,
        "images": {"hub": sifs[hub.hub_image_name], "proxy": sifs[hub.proxy_image_name]},
        "inside": here.inside,
        "login_ca": hub.login.ca_certificates,
        "options": _options(hub, here),
        "page": page_of(hub, hub.profiles, lambda profile: profile.partitions),
        "prefix": variables_prefix(site),
        "profiles": [_profile(each) for each in hub.profiles],
        "program": site.program,
        "proxy_api_port": hub.expose.proxy_api_port,
        "submit": {
            "address": LOOPBACK,
            "identity": here.identity,
            "known_hosts": here.known_hosts,
            "port": here.port,
        },
        "timeouts": {"start_s": hub.start_timeout_s, "http_s": hub.http_timeout_s},
        "url": hub.url,
    }


def _options(hub: Hub, here: HubsHere) -> dict[str, Any]:
    """JupyterHub's options by section."""
    common = jupyterhub_options(hub.login, hub.public_url, hub.cull)
    own = f"http://{here.inside}:{hub.expose.hub_port}"
    # The whole list: who was an administrator and is none of these loses it with the next start.
    admins = {"name": "admin", "users": sorted(hub.login.admins)}
    return {
        "JupyterHub": {
            **common,
            "db_url": "sqlite:////state/jupyterhub.sqlite",
            "hub_bind_url": own,
            "hub_connect_url": own,
            "load_roles": [*common["load_roles"], admins],
            "spawner_class": f"{PACKAGE}.slurm_spawner.CommonsSlurmSpawner",
        },
        "ConfigurableHTTPProxy": {"api_url": f"http://127.0.0.1:{hub.expose.proxy_api_port}", "should_start": False},
        "Spawner": {"default_url": "/lab", "poll_interval": 60},  # each look is a login and a question to Slurm
        **_who(hub.login, here.accounts),
    }


def _who(login: Login, accounts: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Only users with an account may log in, whoever else can authenticate."""
    sections = login_sections(login)
    closed = {"allow_all": False, "allow_existing_users": False}
    listed = sorted(accounts if login.allow_all else {*accounts} & {*login.allowed_users})
    return {**sections, "Authenticator": {**sections["Authenticator"], **closed, "allowed_users": listed}}


def _asks(profile: Profile) -> dict[str, Any]:
    """What a server of it needs, for the agent to count what is free."""
    return {
        "partitions": [each.model_dump(include={"partition", "gres", "exclusive"}) for each in profile.partitions],
        "gpus": profile.gpus,
        "cpus": math.ceil(profile.cpu),
        "memory_mib": math.ceil(profile.memory_gib * 1024),
    }


def _profile(profile: Profile) -> dict[str, Any]:
    partitions = sorted({each.partition for each in profile.partitions})
    return {"name": profile.name, "title": profile.title, "gpus": profile.gpus, "partitions": partitions}


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
