"""Names, namespace, configuration and services of a notebook hub, as Kubernetes objects. Pure.

Pods are in `hub_pods`, rights and network policies in `hub_access`. One hub fills one namespace, so names are fixed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from platforms.kubernetes.hub_page import PAGE_FILE, render_page
from platforms.kubernetes.user_servers import render_availability, render_options
from workloads.hub import Hub

HUB = "hub"
PROXY = "proxy"
CREDENTIALS = "hub-credentials"
ADMIN_CREDENTIALS = "hub-admin"
CONFIG = "hub-config"
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


def component_labels(component: str) -> dict[str, str]:
    """Labels by which services and policies find the pods of one component. KubeSpawner's pods have them too."""
    return {"app.kubernetes.io/component": component, "app.kubernetes.io/name": "jupyterhub"}


def metadata(hub: Hub, name: str, component: str, **more: Any) -> dict[str, Any]:
    """Metadata of a namespaced object."""
    return {"labels": component_labels(component), "name": name, "namespace": hub.namespace, **more}


def namespace(hub: Hub) -> dict[str, Any]:
    """The namespace, to be applied as a patch: it outlives the stack with the homes and the database in it."""
    return {
        "metadata": {
            # One steady manager: an update that was killed halfway is taken up by the next one.
            "annotations": {"pulumi.com/patchFieldManager": "gpu-commons"},
            "labels": {
                "app.kubernetes.io/name": "jupyterhub",
                # Everything here runs as a plain user; a notebook cannot start what does not.
                "pod-security.kubernetes.io/enforce": "restricted",
            },
            "name": hub.namespace,
        }
    }


def image_table(images: Mapping[str, Any]) -> str:
    """Text of `images.json`: the reference of every image name that a profile uses. Needs the references known."""
    return json.dumps(dict(images), indent=2, sort_keys=True) + "\n"


def config_data(hub: Hub, *, files: Mapping[str, str], images: Any) -> dict[str, Any]:
    """Files of the hub: what is rendered for it, and `files`, those of every hub.

    `images`, the text of `images.json`, is kept apart: a preview that builds cannot know it.
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
    """Short fingerprint of the files: on the pod template it makes a changed configuration restart the hub."""
    return hashlib.sha256(json.dumps(dict(data), sort_keys=True).encode()).hexdigest()[:16]


def config_map(hub: Hub, data: Mapping[str, Any]) -> dict[str, Any]:
    """ConfigMap with the hub's files."""
    return {"metadata": metadata(hub, CONFIG, HUB), "data": dict(data)}


def hub_service(hub: Hub) -> dict[str, Any]:
    """Where servers and the proxy find the hub."""
    return _service(hub, HUB, HUB, {"type": "ClusterIP"}, {"port": HUB_PORT, "targetPort": "http"})


def proxy_api_service(hub: Hub) -> dict[str, Any]:
    """Where the hub writes the proxy's routes."""
    return _service(hub, "proxy-api", PROXY, {"type": "ClusterIP"}, {"port": PROXY_API_PORT, "targetPort": "api"})


def proxy_public_service(hub: Hub) -> dict[str, Any]:
    """Where people come in. TLS ends before it: at the site's load balancer or ingress."""
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "cluster_ip": ("ClusterIP", {"port": hub.expose.port}),
        "load_balancer": ("LoadBalancer", {"port": hub.expose.port}),
        "node_port": ("NodePort", {"port": 80, "nodePort": hub.expose.port}),
    }
    kind, port = kinds[hub.expose.kind]
    return _service(hub, "proxy-public", PROXY, {"type": kind}, {**port, "targetPort": "http"})


def _service(hub: Hub, name: str, component: str, kind: dict[str, Any], port: dict[str, Any]) -> dict[str, Any]:
    ports = [{"name": "http", "protocol": "TCP", **port}]
    return {
        "metadata": metadata(hub, name, component),
        "spec": {**kind, "ports": ports, "selector": component_labels(component)},
    }


def url(hub: Hub, address: str | None = None) -> str:
    """Where people open the hub. `address` is that of a load balancer, once it has one."""
    if hub.public_url:
        return f"{hub.public_url}/"
    if hub.expose.kind == "node_port":
        # Right on the node itself, as in the lab; elsewhere a site says its public_url.
        return f"http://127.0.0.1:{hub.expose.port}/"
    host = address or f"proxy-public.{hub.namespace}.svc"
    return f"http://{host}/" if hub.expose.port == 80 else f"http://{host}:{hub.expose.port}/"
