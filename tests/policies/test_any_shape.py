"""No shape of a value ends a rule: what the API server would refuse must not hide what stands beside it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shown import IMAGE, shown

from policies.from_settings import site_of
from policies.model import Site
from settings.reading import load_stack

STACK = Path(__file__).parents[1] / "stacks" / "Pulumi.mixed.yaml"
ODD: tuple[Any, ...] = (7, None, {"a": ["b"]}, [["x"]], [{}], [{"name": {}}])
POD = {
    "schedulerName": "default-scheduler",
    "nodeName": "n01",
    "hostPID": True,
    "runtimeClassName": "nvidia",
    "nodeSelector": {"gpu-commons.org/pool": "gtx1080ti"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    "volumes": [{"name": "d", "hostPath": {"path": "/dev"}}, {"name": "s", "csi": {"volumeAttributes": {"x": "/dev"}}}],
    "containers": [
        {
            "name": "c",
            "image": IMAGE,
            "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
            "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "1"}},
            "securityContext": {"privileged": True, "capabilities": {"add": ["SYS_ADMIN"]}},
            "volumeMounts": [{"name": "d", "mountPath": "/dev", "readOnly": True}],
        }
    ],
}
TEMPLATE = {"metadata": {"annotations": {"cdi.k8s.io/x": "nvidia.com/gpu=0"}}, "spec": POD}
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
RESOURCES: dict[str, dict[str, Any]] = {
    "kubernetes:apps/v1:DaemonSet": {"metadata": {"name": "w", "namespace": "x"}, "spec": {"template": TEMPLATE}},
    "kubernetes:ray.io/v1:RayCluster": {"metadata": {"name": "r"}, "spec": {"headGroupSpec": {"template": TEMPLATE}}},
    "kubernetes:core/v1:NodePatch": {
        "metadata": {"name": "n01", "labels": {"gpu-commons.org/pool": "rtx2080ti"}},
        "spec": {"taints": [TAINT]},
    },
    "kubernetes:core/v1:Binding": {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n01"}},
    "kubernetes:core/v1:PersistentVolume": {"metadata": {"name": "v"}, "spec": {"hostPath": {"path": "/dev"}}},
    "docker:index/container:Container": {
        "name": "c",
        "image": IMAGE,
        "labels": [{"label": "gpu-commons.org/pool", "value": "gtx1080ti"}],
        "gpus": "all",
        "deviceRequests": [{"driver": "cdi", "deviceIds": ["nvidia.com/gpu=0"], "count": 0}],
        "devices": [{"hostPath": "/dev/nvidia0"}],
        "deviceCgroupRules": ["c 195:* rmw"],
        "envs": ["NVIDIA_VISIBLE_DEVICES=all"],
        "mounts": [{"type": "volume", "source": "/dev", "volumeOptions": {"driverOptions": {"device": "/dev"}}}],
        "volumes": [{"hostPath": "/dev", "containerPath": "/d"}],
        "networksAdvanced": [{"name": "host"}],
        "ports": [{"internal": 80, "ip": ""}],
        "capabilities": {"adds": ["SYS_ADMIN"]},
        "securityOpts": ["seccomp=unconfined"],
        "tmpfs": {"/x": ""},
        "runtime": "nvidia",
        "restart": "always",
        "mustRun": False,
        "cpus": "1",
        "memory": 1024,
    },
    "docker:index/remoteImage:RemoteImage": {"name": "x:1"},
    "docker:index/volume:Volume": {"driverOpts": {"device": "/dev"}},
}


@pytest.fixture(scope="module")
def site() -> Site:
    return site_of(load_stack(STACK))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*path, key)
        yield from places(each, (*path, key))


def put(value: dict[str, Any], path: tuple[Any, ...], odd: Any) -> dict[str, Any]:
    changed: Any = copy.deepcopy(value)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = odd
    return dict(changed)


@pytest.mark.slow
@pytest.mark.parametrize("token", RESOURCES)
def test_no_shape_of_a_value_ends_a_rule(token: str, site: Site) -> None:
    inputs = RESOURCES[token]
    assert shown(site, token, inputs), "a resource without findings tries no rule"
    for path in places(inputs):
        for odd in ODD:
            messages = [text for _, text in shown(site, token, put(inputs, path, odd))]
            assert not [text for text in messages if "the rule failed" in text], (path, odd)
