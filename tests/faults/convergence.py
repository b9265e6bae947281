"""Whether a stack that was interrupted is whole again, and whether anything in it was made twice."""

from __future__ import annotations

from second_lab import Lab

# Resources of the stack: 1 stack, 1 provider, 1 image with its check and its build, 3 pools with 15 patches, the
# runtime with class, namespace, 2 DaemonSets and 10 for labels, 1 namespace of jobs, the job and its Job. The 15 nodes
# are only read.
RESOURCES = 42
DAEMONS = "/apis/apps/v1/namespaces/gpu-runtime/daemonsets"
JOBS = "/apis/batch/v1/namespaces/batch/jobs"
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
NAMESPACES = "/api/v1/namespaces"


def made(lab: Lab) -> dict[str, dict[str, str]]:
    """Unique ids of all that the stack makes in the cluster, by collection and name."""
    return {path: lab.items(path) for path in (NAMESPACES, CLASSES, DAEMONS, JOBS)}


def is_complete(lab: Lab) -> None:
    """Everything is there once, and the engine knows of all of it."""
    there = made(lab)
    assert set(there[NAMESPACES]) - {"default", "kube-system", "kube-public", "kube-node-lease"} == {
        "batch",
        "gpu-runtime",
    }
    assert set(there[CLASSES]) == {"nvidia"}
    assert set(there[DAEMONS]) == {"device-plugin", "gpu-feature-discovery", "persistence-daemon"}
    assert set(there[JOBS]) == {"gpu-smoke"}
    assert lab.pending() == []
    assert f"{RESOURCES} unchanged" in lab.pulumi("preview", "--expect-no-changes").succeeded()


def keeps(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> None:
    """What was there is still the same object, not another one of the same name."""
    for path, items in before.items():
        assert items.items() <= after[path].items(), path
