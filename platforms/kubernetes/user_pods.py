"""KubeSpawner options for users' servers, and options of the hub and the culler. Pure.

Section and option names are those of traitlets: jupyterhub 5.5, kubespawner 7.1, idle culler 2.0. `hub_options` has
those common to all hubs.
"""

import html
import json
from typing import Any

from fleet import labels
from platforms.kubernetes import homes
from platforms.kubernetes.pools import one_of, required
from workloads.hub import Hub, Profile
from workloads.hub_options import jupyterhub_options, kernel_culling, login_sections
from workloads.hub_page import page_of

AVAILABILITY = "availability"
AVAILABILITY_PORT = 8082
AVAILABILITY_URL = f"http://{AVAILABILITY}:{AVAILABILITY_PORT}/counts"

SHM_VOLUME = "shm"
_IN_ITS_POD = {
    "concurrent_spawn_limit": 64,
    "db_url": "sqlite:////srv/jupyterhub/jupyterhub.sqlite",
    "hub_bind_url": "http://:8081",
    "hub_connect_url": "http://hub:8081",
    "spawner_class": "hub_files.spawner.CommonsSpawner",
}


def render_options(hub: Hub) -> str:
    """Text of `options.json`: all hub options except images and secrets."""
    sections = {
        "JupyterHub": {**jupyterhub_options(hub.login, hub.address, hub.cull), **_IN_ITS_POD},
        "ConfigurableHTTPProxy": {"api_url": "http://proxy-api:8001", "should_start": False},
        **login_sections(hub.login),
        "KubeSpawner": _kubespawner(hub),
    }
    return json.dumps(sections, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def render_page(hub: Hub) -> str:
    """Text of `page.json`."""
    page = page_of(hub, hub.profiles, lambda profile: _nodes(hub, profile))
    page["availability_url"] = AVAILABILITY_URL if hub.availability else None
    return json.dumps(page, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _nodes(hub: Hub, profile: Profile) -> object:
    """Equal for profiles that may land on the same nodes."""
    tolerations = json.dumps([each.manifest() for each in profile.tolerations], sort_keys=True)
    return hub.pools_of(profile), tuple(sorted(hub.selector_of(profile).items())), tolerations


def render_availability(hub: Hub) -> str:
    """Text of `availability.json`: a server's scheduler reservations and its possible nodes."""
    profiles = {profile.name: _counted(hub, profile) for profile in hub.profiles}
    return json.dumps({"profiles": profiles}, indent=2, sort_keys=True) + "\n"


def _counted(hub: Hub, profile: Profile) -> dict[str, Any]:
    pools = hub.pools_of(profile)
    cpu, memory_gib = profile.guaranteed
    return {
        **({"affinity": required(one_of(pools))} if len(pools) > 1 else {}),
        "nodeSelector": hub.selector_of(profile),
        "requests": {
            "cpu": cpu,
            "memory": round(memory_gib * 2**30),
            labels.GPU_RESOURCE: profile.gpus,
        },
        "tolerations": [each.manifest() for each in profile.tolerations],
    }


def _kubespawner(hub: Hub) -> dict[str, Any]:
    return {
        "allow_privilege_escalation": False,
        # Idle kernels end; a GPU is released when its server ends.
        "args": kernel_culling(hub.cull),
        "automount_service_account_token": False,
        "cmd": ["jupyterhub-singleuser"],
        "container_security_context": homes.CONTAINER_SECURITY,
        "default_url": "/lab",
        # Homes outlive servers, accounts and the stack.
        "delete_pvc": False,
        "extra_labels": {"hub.jupyter.org/network-access-hub": "true"},
        "fs_gid": homes.USER_GROUP,
        "http_timeout": hub.http_timeout_s,
        "image_pull_policy": "IfNotPresent",
        "namespace": hub.namespace,
        # Large homes: do not walk every file at each start.
        "pod_security_context": {"fsGroupChangePolicy": "OnRootMismatch"},
        "profile_list": [_profile(hub, profile) for profile in hub.profiles],
        "start_timeout": hub.start_timeout_s,
        **homes.spawner_options(hub),
        "uid": homes.USER_UID,
        "working_dir": homes.HOME,
    }


def _profile(hub: Hub, profile: Profile) -> dict[str, Any]:
    pools = hub.pools_of(profile)
    cpu_guarantee, memory_guarantee_gib = profile.guaranteed
    override: dict[str, Any] = {
        "cpu_guarantee": cpu_guarantee,
        "cpu_limit": profile.cpu,
        "extra_annotations": {labels.IMAGE: profile.image_name},
        # Image name; jupyterhub_config.py replaces it by the reference in images.json.
        "image": profile.image_name,
        # KubeSpawner's G is a GiB.
        "mem_guarantee": f"{memory_guarantee_gib:g}G",
        "mem_limit": f"{profile.memory_gib:g}G",
        "node_selector": hub.selector_of(profile),
        "tolerations": [each.manifest() for each in profile.tolerations],
        **homes.profile_options(hub, profile),
    }
    if len(pools) > 1:
        override["node_affinity_required"] = [one_of(pools)]
    if profile.gpus:
        amount = {labels.GPU_RESOURCE: str(profile.gpus)}
        override["extra_pod_config"] = {"runtimeClassName": hub.runtime_class}
        override["extra_resource_guarantees"] = amount
        override["extra_resource_limits"] = amount
    else:
        # CUDA images set "all": without this value they would see every GPU of the node.
        override["environment"] = {"NVIDIA_VISIBLE_DEVICES": "void"}
    if shm_gib := profile.shared_memory_gib:
        size = f"{round(shm_gib * 1024)}Mi"
        override["volumes"] = {SHM_VOLUME: {"emptyDir": {"medium": "Memory", "sizeLimit": size}, "name": SHM_VOLUME}}
        override["volume_mounts"] = {SHM_VOLUME: {"mountPath": "/dev/shm", "name": SHM_VOLUME}}  # noqa: S108
    return {
        # KubeSpawner's form inserts both texts into the page unescaped.
        "description": html.escape(profile.second_line),
        "display_name": html.escape(profile.title),
        "kubespawner_override": override,
        "slug": profile.name,
        **({"default": True} if profile.is_default else {}),
    }
