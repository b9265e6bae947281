"""Writes hub.json and jobs.json: site and profiles for the programs of a hub on a Slurm cluster. Pure.

The job of a user server is one text for sbatch for each profile, for all its users. The hub's agent submits it as the
user; its first argument is the file with this server's own variables. It contains no token: a site may store all job
texts.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from platforms.slurm.batch_script import prepared, program_options, quoted, variables_prefix, whole
from platforms.slurm.hub_model import Hub, Profile, hubs_of
from platforms.slurm.job_model import SlurmJob
from platforms.slurm.site_model import HubsHere, SlurmAccess
from workloads.addresses import LOOPBACK
from workloads.authenticator import Login
from workloads.hub import Cull
from workloads.hub_options import jupyterhub_options, kernel_culling, login_sections
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


COMMAND = ("batchspawner-singleuser", "jupyterhub-singleuser")


def server_script(profile: Profile, site: SlurmAccess, sif: str, cull: Cull) -> str:
    """The script. `sif` is a file shared by login and compute nodes. Raises Unwritable."""
    job = server_job(profile)
    return whole(job, site, _commands(job, site, sif, kernel_culling(cull)), {})


def server_job(profile: Profile) -> SlurmJob:
    """A server as a job."""
    return SlurmJob(
        name=profile.name,
        image=profile.image,
        image_name=profile.image_name,
        gpus=profile.gpus,
        cpu=profile.cpu,
        memory_gib=profile.memory_gib,
        deadline_s=60 * profile.time_min,
        partitions=profile.partitions,
        command=COMMAND,
    )


def _commands(job: SlurmJob, site: SlurmAccess, sif: str, arguments: Sequence[str]) -> Iterator[str]:
    prefix = variables_prefix(site)
    yield from prepared(job, site)
    yield "while IFS= read -r -d '' pair; do"
    yield "  [[ $pair =~ ^(JUPYTERHUB_[A-Z0-9_]+|JPY_API_TOKEN)= ]] || continue"
    yield f'  export "{prefix}$pair"'
    yield 'done < "$1" || exit 1'
    yield 'rm -f "$1"'
    # Packages installed below a home are for another Python.
    yield f"export {prefix}PYTHONNOUSERSITE=1"
    yield 'home=$(getent passwd "$(id -u)" | cut -d: -f6)'
    # The node's address for Slurm and the hub.
    yield "address=$(scontrol show node --oneliner \"$SLURMD_NODENAME\" | sed -n 's/.* NodeAddr=\\([^ ]*\\).*/\\1/p')"
    # Kernels have their own sessions: in a PID namespace they end with their server, whatever Slurm tracks.
    program = [quoted(site.program), "exec", "--pid", *program_options(site, gpus=job.gpus)]
    places = ['--workdir "$scratch"', '--home "$home"', '--pwd "$home"', quoted(sif)]
    yield "code=0"
    yield f'{" ".join([*program, *places, *job.command, *map(quoted, arguments)])} --ip="$address" || code=$?'
    yield 'exit "$code"'
