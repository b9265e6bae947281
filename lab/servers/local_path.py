"""The site's storage classes: Rancher's local-path-provisioner as a lab process.

Volumes of the class `local-path` are bound to the node of their first consumer, those of the classes that a stack names
to none, as on a file server. Each is a folder below `data/volumes`, which a short-lived helper pod creates and removes.
On a simulated node kwok ends the helper pod by its annotation, and no folder is created.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lab import files
from lab.accounts import Account
from lab.processes import Server, log_path, tail

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lab.instance import Instance
    from lab.servers import Tools

STORAGE_CLASS = "local-path"
PROVISIONER = "rancher.io/local-path"
_READ = ["get", "list", "watch"]

# Source: deploy/local-path-storage.yaml of v0.0.30.
ACCOUNT = Account(
    namespace="local-path-storage",
    name="local-path-provisioner",
    rules=(
        {
            "apiGroups": [""],
            "resources": ["nodes", "persistentvolumeclaims", "configmaps", "pods", "pods/log"],
            "verbs": _READ,
        },
        {
            "apiGroups": [""],
            "resources": ["persistentvolumes"],
            "verbs": [*_READ, "create", "patch", "update", "delete"],
        },
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
        {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses"], "verbs": _READ},
    ),
    own_rules=({"apiGroups": [""], "resources": ["pods"], "verbs": [*_READ, "create", "patch", "update", "delete"]},),
)

SETUP = '#!/bin/sh\nset -eu\nmkdir -m 0777 -p "$VOL_DIR"\n'
TEARDOWN = '#!/bin/sh\nset -eu\nrm -rf "$VOL_DIR"\n'


def server(instance: Instance, tools: Tools, kubeconfig: Path, helper_image: str, shared: Sequence[str] = ()) -> Server:
    """The provisioner, with the kubeconfig of ACCOUNT. `helper_image` needs sh, mkdir and rm."""
    volumes(instance).mkdir(exist_ok=True)
    folder = instance.config / "local-path"
    paths = [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": [str(volumes(instance))]}]
    classes: dict[str, Any] = {STORAGE_CLASS: {"nodePathMap": paths}}
    classes |= {name: {"sharedFileSystemPath": str(volumes(instance))} for name in shared if name != STORAGE_CLASS}
    config = files.write(folder / "config.json", json.dumps({"storageClassConfigs": classes}, indent=2) + "\n")
    helper = files.write(folder / "helper-pod.yaml", helper_pod(helper_image))
    return Server(
        name="local-path-provisioner",
        argv=[
            str(tools.path("local-path-provisioner")),
            "start",
            f"--config={config}",
            f"--helper-pod-file={helper}",
            f"--helper-image={helper_image}",
            f"--kubeconfig={kubeconfig}",
            f"--namespace={ACCOUNT.namespace}",
            f"--service-account-name={ACCOUNT.name}",
        ],
        ready=lambda: has_started(tail(log_path(instance, "local-path-provisioner"), lines=50)),
        ready_within_s=30,
        env={"NO_PROXY": "*"},
        files=[config, helper, kubeconfig],
    )


def volumes(instance: Instance) -> Path:
    """Users' volumes: data, like etcd and the registry."""
    return instance.data / "volumes"


def has_started(log: str) -> bool:
    """Whether the log's newest start got as far as its controller: the program has no health address."""
    return "Started provisioner controller" in log.rpartition("\n--- ")[2]


def helper_pod(image: str) -> str:
    """The pod that makes or removes a folder; the provisioner adds command, node and volumes."""
    container = {"name": "helper-pod", "image": image, "imagePullPolicy": "IfNotPresent"}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "helper-pod", "annotations": {"gpu-commons.org/simulate": "complete"}},
        "spec": {"automountServiceAccountToken": False, "containers": [container]},
    }
    return json.dumps(body, indent=2) + "\n"


def objects(shared: Sequence[str] = (), *, has_default: bool = False) -> list[tuple[str, dict[str, Any]]]:
    """API path and object of what the provisioner reads, and the storage classes. Needs ACCOUNT's namespace.

    `has_default`: `local-path` is the cluster's default class. Without it there is none, as on many sites.
    """
    scripts = "local-path-config"
    return [
        (
            f"/api/v1/namespaces/{ACCOUNT.namespace}/configmaps/{scripts}",
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": scripts, "namespace": ACCOUNT.namespace},
                "data": {"setup": SETUP, "teardown": TEARDOWN},
            },
        ),
        *(
            _class(name, is_default=has_default and name == STORAGE_CLASS)
            for name in {STORAGE_CLASS: None, **dict.fromkeys(shared)}
        ),
    ]


def _class(name: str, *, is_default: bool) -> tuple[str, dict[str, Any]]:
    annotations = {"storageclass.kubernetes.io/is-default-class": str(is_default).lower()}
    return (
        f"/apis/storage.k8s.io/v1/storageclasses/{name}",
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name, "annotations": annotations},
            "provisioner": PROVISIONER,
            "volumeBindingMode": "WaitForFirstConsumer",
            "reclaimPolicy": "Delete",
        },
    )
