"""GPU feature discovery, and Node Feature Discovery that puts its labels on nodes, as Kubernetes objects. Pure.

GPU feature discovery writes what it finds on its node into a NodeFeature; nfd-master sets the labels of that object on
the node, and only labels of `nvidia.com/`; nfd-gc deletes the objects of nodes that are gone.
"""

from typing import Any, Final

from fleet import labels

DISCOVERY: Final = "gpu-feature-discovery"
LABELLER: Final = "node-feature-discovery"
COMPONENT: Final = "app.kubernetes.io/component"
OURS: Final = {"app.kubernetes.io/name": "nvidia-runtime"}
"""Label that tells our definitions from those of another Node Feature Discovery."""

_GROUP: Final = "nfd.k8s-sigs.io"
NODE_FEATURES: Final = f"nodefeatures.{_GROUP}"
# nfd-master waits for both kinds. Ours hold labels and nothing else: no features, and no rules that would taint nodes.
_LABELS: Final = {"properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}}}
_KINDS: Final = {
    NODE_FEATURES: ("NodeFeature", "Namespaced", _LABELS),
    f"nodefeaturerules.{_GROUP}": ("NodeFeatureRule", "Cluster", {}),
}
_LIMITED: Final = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "runAsUser": 65534,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def definitions() -> dict[str, dict[str, Any]]:
    """CustomResourceDefinitions by name."""
    return {name: _definition(name, *kind) for name, kind in _KINDS.items()}


def access(namespace: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Accounts and what each may do, as kind, name and manifest.

    A pod on a GPU node may only write NodeFeatures here; the one pod that may change nodes has no GPU.
    """
    everywhere = f"{namespace}-{LABELLER}"
    here = {name: {"metadata": {"name": name, "namespace": namespace}} for name in (DISCOVERY, LABELLER)}
    writes = {"apiGroups": [_GROUP], "resources": ["nodefeatures"], "verbs": ["create", "get", "update"]}
    labels_nodes = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch", "watch"]},
        {"apiGroups": [_GROUP], "resources": ["nodefeatures"], "verbs": ["delete", "list", "watch"]},
        {"apiGroups": [_GROUP], "resources": ["nodefeaturerules"], "verbs": ["list", "watch"]},
    ]
    accounts = {name: {**metadata, "automountServiceAccountToken": False} for name, metadata in here.items()}
    grants = {
        "Role": (DISCOVERY, here[DISCOVERY], [writes]),
        "ClusterRole": (LABELLER, {"metadata": {"name": everywhere}}, labels_nodes),
    }
    found = [("ServiceAccount", name, account) for name, account in accounts.items()]
    for kind, (account, metadata, rules) in grants.items():
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": metadata["metadata"]["name"]}
        subjects = [{"kind": "ServiceAccount", **here[account]["metadata"]}]
        found.append((kind, account, {**metadata, "rules": rules}))
        found.append((f"{kind}Binding", account, {**metadata, "roleRef": role, "subjects": subjects}))
    return found


def discovery_container(image: Any) -> dict[str, Any]:
    """GPU feature discovery, a program of the device plugin's image; it looks again every minute."""
    return {
        "name": DISCOVERY,
        "image": image,
        "command": [DISCOVERY],
        "env": [
            {"name": "GFD_USE_NODE_FEATURE_API", "value": "true"},
            {"name": "GFD_NO_TIMESTAMP", "value": "true"},
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "utility"},
        ],
        "securityContext": _LIMITED,
    }


def labeller_spec(image: Any) -> dict[str, Any]:
    """Deployment that labels nodes. One replica, and never two: without leader election both would write."""
    selector = {**OURS, COMPONENT: LABELLER}
    only_nvidia = ["-deny-label-ns=*", f"-extra-label-ns={labels.NVIDIA_PREFIX.rstrip('/')}"]
    return {
        "replicas": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": selector},
        "template": {
            "metadata": {"labels": selector, "annotations": {labels.IMAGE: LABELLER}},
            "spec": {
                "serviceAccountName": LABELLER,
                "automountServiceAccountToken": True,
                # In many fleets every node has GPUs.
                "tolerations": [
                    {"key": labels.GPU_TAINT.key, "operator": "Exists"},
                    {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
                ],
                "containers": [_program(image, "nfd-master", 8080, *only_nvidia), _program(image, "nfd-gc", 8081)],
            },
        },
    }


def _program(image: Any, name: str, port: int, *options: str) -> dict[str, Any]:
    health = {"httpGet": {"path": "/healthz", "port": port}}
    return {
        "name": name,
        "image": image,
        "command": [name, f"-port={port}", *options],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "readinessProbe": health,
        "livenessProbe": {**health, "initialDelaySeconds": 60},
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": _LIMITED,
    }


def _definition(name: str, kind: str, scope: str, spec: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", **spec}}}
    plural = name.partition(".")[0]
    return {
        "metadata": {"name": name, "labels": OURS},
        "spec": {
            "group": _GROUP,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "scope": scope,
            "versions": [
                {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
            ],
        },
    }
