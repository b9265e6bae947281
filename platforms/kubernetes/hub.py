"""Names, namespace, configuration and services of a notebook hub, as Kubernetes objects. Pure.

`hub_core_pods` has the pods, `hub_access` rights and network policies, `hub_entry` the way in. A hub fills its
namespace: names are fixed.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from platforms.kubernetes.user_pods import render_availability, render_options, render_page
from workloads.arguments import plain, read
from workloads.authenticator import with_user_list
from workloads.hub import Hub

HUB = "hub"
PROXY = "proxy"
CREDENTIALS = "hub-credentials"
ADMIN_CREDENTIALS = "hub-admin"
CONFIG = "hub-config"
DATABASE_CLAIM = "database-hub-0"
USER_COMPONENT = "singleuser-server"  # KubeSpawner's word

HUB_PORT = 8081
PROXY_API_PORT = 8001
PROXY_PORT = 8000
NOTEBOOK_PORT = 8888

CONFIG_FILE = "jupyterhub_config.py"
LOGIN_CA_FILE = "login-ca.pem"
OPTIONS_FILE = "options.json"
IMAGES_FILE = "images.json"
AVAILABILITY_FILE = "availability.json"
PAGE_FILE = "page.json"


def parse_hub(name: str, args: Mapping[str, Any]) -> Hub:
    """Arguments of NotebookHub as a Hub.

    Raises SettingsError with every problem of the plain arguments. Images may be outputs and are passed through.
    """
    return read(Hub, f"NotebookHub {name}", name, with_user_list({"namespace": name, **plain(args)}))


def component_labels(component: str) -> dict[str, str]:
    """Labels of one component's pods, for services and policies. KubeSpawner's pods have them too."""
    return {"app.kubernetes.io/component": component, "app.kubernetes.io/name": "jupyterhub"}


def metadata(hub: Hub, name: str, component: str, **more: Any) -> dict[str, Any]:
    """Metadata of a namespaced object."""
    return {"labels": component_labels(component), "name": name, "namespace": hub.namespace, **more}


def namespace(hub: Hub) -> dict[str, Any]:
    """The namespace, applied as a patch: it outlives the stack with its homes and database."""
    return {
        "metadata": {
            # One fixed manager: the next update takes over from a killed one.
            "annotations": {"pulumi.com/patchFieldManager": "gpu-commons"},
            "labels": {
                "app.kubernetes.io/name": "jupyterhub",
                # All pods here are unprivileged; a notebook cannot start others.
                "pod-security.kubernetes.io/enforce": "restricted",
            },
            "name": hub.namespace,
        }
    }


def image_table(images: Mapping[str, Any]) -> str:
    """Text of `images.json`: image reference by image name, for all profiles. References must be known."""
    return json.dumps(dict(images), indent=2, sort_keys=True) + "\n"


def config_data(hub: Hub, *, files: Mapping[str, str], images: Any) -> dict[str, Any]:
    """Files of the hub: those rendered for it, and `files`, those of every hub.

    `images`, the text of `images.json`, is separate: a preview that builds cannot know it.
    """
    trusted = hub.login.ca_certificates
    return {
        **files,
        AVAILABILITY_FILE: render_availability(hub),
        IMAGES_FILE: images,
        **({LOGIN_CA_FILE: trusted} if trusted else {}),
        OPTIONS_FILE: render_options(hub),
        PAGE_FILE: render_page(hub),
    }


def checksum(data: Mapping[str, str]) -> str:
    """Short fingerprint of the files: on the pod template, a changed one restarts the hub."""
    return hashlib.sha256(json.dumps(dict(data), sort_keys=True).encode()).hexdigest()[:16]


def config_map(hub: Hub, data: Mapping[str, Any]) -> dict[str, Any]:
    """ConfigMap with the hub's files."""
    return {"metadata": metadata(hub, CONFIG, HUB), "data": dict(data)}


def hub_service(hub: Hub) -> dict[str, Any]:
    """Hub address for servers and proxy."""
    return service(hub, HUB, HUB, {"type": "ClusterIP"}, {"port": HUB_PORT, "targetPort": "http"})


def proxy_api_service(hub: Hub) -> dict[str, Any]:
    """Proxy API for the hub's routes."""
    return service(hub, "proxy-api", PROXY, {"type": "ClusterIP"}, {"port": PROXY_API_PORT, "targetPort": "api"})


def service(hub: Hub, name: str, component: str, kind: dict[str, Any], *ports: dict[str, Any]) -> dict[str, Any]:
    """A service for one component's pods; a port without a name is `http`."""
    named = [{"name": "http", "protocol": "TCP", **port} for port in ports]
    return {
        "metadata": metadata(hub, name, component),
        "spec": {**kind, "ports": named, "selector": component_labels(component)},
    }
