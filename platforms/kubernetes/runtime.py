"""Daemons that make node GPUs available to pods, as Kubernetes objects. Pure."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fleet import labels
from platforms.kubernetes import feature_discovery
from platforms.kubernetes.pools import one_of, required

NAMESPACE = "gpu-runtime"  # default for the daemons
# Plus one `driver-POOL` for each pool with a driver container.
DAEMONS = ("device-plugin", "persistence-daemon", feature_discovery.DISCOVERY)
RUNTIME_CLASS = "nvidia"

# The driver's own daemon runs from the host, so versions always match. It keeps GPUs initialised while idle. A second
# one ends with 1 on the lock of the PID file, so one that a service of the node has started is used; if it ends, this
# pod ends too, and the next one starts its own unless the service has come back.
PERSISTENCE_SCRIPT = Path(__file__).with_name("persistence.sh").read_text(encoding="utf-8")


def daemon_sets(args: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """DaemonSet specs by name, for the arguments of NvidiaRuntime.

    Driver containers start the persistence daemon themselves, so that daemon skips their pools.
    """
    pools, drivers = args.get("pools"), args.get("driver_containers") or ()
    found = {
        driver_daemon(each["pool"]): driver_set_spec(
            each["pool"], driver_pod(each["image"], each["kernel"], each["pool"])
        )
        for each in drivers
    }
    found["device-plugin"] = daemon_set_spec("device-plugin", device_plugin_pod(args["device_plugin_image"], pools))
    brought = {each["pool"] for each in drivers}
    others = None if pools is None else [pool for pool in pools if pool not in brought]
    if (image := args.get("persistence_daemon_image")) and others != []:
        found["persistence-daemon"] = daemon_set_spec("persistence-daemon", persistence_pod(image, others))
    if args.get("node_feature_discovery_image"):
        pod = discovery_pod(args["device_plugin_image"], pools)
        found[feature_discovery.DISCOVERY] = daemon_set_spec(feature_discovery.DISCOVERY, pod)
    return found


def deployments(args: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The same for Deployments."""
    image = args.get("node_feature_discovery_image")
    return {feature_discovery.LABELLER: feature_discovery.labeller_spec(image)} if image else {}


def device_plugin_pod(image: Any, pools: Sequence[str] | None = None) -> dict[str, Any]:
    """Pod spec of the device plugin: it reports `nvidia.com/gpu` to the kubelet and assigns GPUs to pods."""
    return {
        **_daemon_pod(pools),
        "runtimeClassName": RUNTIME_CLASS,
        "containers": [
            {
                "name": "device-plugin",
                "image": image,
                "env": [
                    {"name": "FAIL_ON_INIT_ERROR", "value": "true"},
                    {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                    {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
                    {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "utility"},
                ],
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                "resources": _small(),
                "volumeMounts": [{"name": "device-plugins", "mountPath": "/var/lib/kubelet/device-plugins"}],
            }
        ],
        "volumes": [{"name": "device-plugins", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}],
    }


def discovery_pod(image: Any, pools: Sequence[str] | None = None) -> dict[str, Any]:
    """Pod spec of GPU feature discovery, which the device plugin's image also has."""
    return {
        **_daemon_pod(pools),
        "runtimeClassName": RUNTIME_CLASS,
        "serviceAccountName": feature_discovery.DISCOVERY,
        "automountServiceAccountToken": True,
        "containers": [{**feature_discovery.discovery_container(image), "resources": _small()}],
    }


def persistence_pod(image: Any, pools: Sequence[str] | None = None) -> dict[str, Any]:
    """Pod spec of the persistence daemon. Privileged: it opens every GPU device of the host.

    It sees the host's processes, to find a daemon that runs there.
    """
    return {
        **_daemon_pod(pools),
        "hostPID": True,
        "containers": [
            {
                "name": "persistence-daemon",
                "image": image,
                "command": ["/bin/sh", "-c", PERSISTENCE_SCRIPT],
                "securityContext": {"privileged": True},
                "resources": _small(),
                "volumeMounts": [{"name": "host", "mountPath": "/host"}],
            }
        ],
        "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
    }


def driver_daemon(pool: str) -> str:
    """Name of a pool's driver DaemonSet."""
    return f"driver-{pool}"


def driver_pod(image: Any, kernel: str, pool: str) -> dict[str, Any]:
    """Pod spec of a driver container, for a pool whose OS has no driver. Privileged: it loads kernel modules.

    First, without any rights, the image checks that its modules are for `kernel` and the node runs it: on another
    kernel nothing privileged starts. Then it reads the kernel modules that its own depend on, and exposes its
    libraries to the node in /run/nvidia/driver, where the container runtime looks for them: so its mounts there
    must propagate to the node. The image is built from a spec with `modules`; its entry point has both commands.
    """
    modules = {"name": "modules", "mountPath": "/lib/modules", "readOnly": True}
    shown = {"name": "shown", "mountPath": "/run/nvidia", "mountPropagation": "Bidirectional"}
    return {
        **_daemon_pod([pool]),
        "initContainers": [
            {
                "name": "same-kernel",
                "image": image,
                "args": ["check", kernel],
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                "resources": _small(),
            }
        ],
        "containers": [
            {
                "name": "driver",
                "image": image,
                "args": ["stay"],
                "securityContext": {"privileged": True},
                "resources": _small(),
                "volumeMounts": [modules, shown],
            }
        ],
        "volumes": [
            {"name": "modules", "hostPath": {"path": "/lib/modules", "type": "Directory"}},
            {"name": "shown", "hostPath": {"path": "/run/nvidia", "type": "DirectoryOrCreate"}},
        ],
    }


def driver_set_spec(pool: str, pod: dict[str, Any]) -> dict[str, Any]:
    """DaemonSet of a driver container's pod spec.

    Loaded modules cannot be replaced by another driver's, and a node of an older release runs another kernel:
    such nodes keep their pod until they are replaced.
    """
    spec = daemon_set_spec("driver", pod, **{labels.POOL: pool})
    return {**spec, "updateStrategy": {"type": "OnDelete"}}


def daemon_set_spec(component: str, pod: dict[str, Any], **more: str) -> dict[str, Any]:
    """DaemonSet of a pod spec. `component` names it and its image; `more` are further selector labels."""
    selector = {**feature_discovery.OURS, feature_discovery.COMPONENT: component, **more}
    return {
        "selector": {"matchLabels": selector},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%"}},
        "template": {
            "metadata": {"labels": selector, "annotations": {labels.IMAGE: component}},
            "spec": pod,
        },
    }


def _daemon_pod(pools: Sequence[str] | None) -> dict[str, Any]:
    """A pod for all nodes of these pools, None: of any pool, tolerating all taints."""
    in_a_pool = {"matchExpressions": [{"key": labels.POOL, "operator": "Exists"}]}
    return {
        "priorityClassName": "system-node-critical",
        "automountServiceAccountToken": False,
        "affinity": required(in_a_pool if pools is None else one_of(pools)),
        "tolerations": [{"operator": "Exists"}],
    }


def _small() -> dict[str, Any]:
    return {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}}
