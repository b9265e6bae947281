"""`fleet.scheduling` and the lab's kube-scheduler say the same of each pod on each node.

A scheduler profile for each node (`only-n1`) has that node as an added affinity, so each pod can be tried on each
node without a word about it in the pod. What one pod takes another would miss, so a pod that requests resources has
nodes of its own. All are tried at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pytest

from fleet.nodes import Node
from fleet.quantities import quantity
from fleet.scheduling import Landing, landing
from lab import control_plane
from lab.cluster import SIMULATED_NODE, ApiError, Cluster, wait_until
from lab.instance import Instance
from lab.servers import scheduler
from lab.toolchain import Toolchain
from platforms.kubernetes.hub_files.start_reasons import NoPlace, no_place

pytestmark = pytest.mark.lab

NAMESPACE = "placement"
OWN = "example.edu/case"  # label of the nodes of one case
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
Spec = dict[str, Any]


def gpu_taint(effect: str = "NoSchedule") -> dict[str, str]:
    return {"key": "nvidia.com/gpu", "value": "present", "effect": effect}


def node(name: str, labels: Mapping[str, str], *taints: dict[str, str], has: str = "") -> Node:
    """A node with those amounts: `has` is text such as "cpu=4 gpu=1"."""
    amounts = {"cpu": "8", "memory": "16Gi", "disk": "100Gi", "pods": "110", **dict(re.findall(r"(\w+)=(\S+)", has))}
    allocatable = {RESOURCE.get(key, key): Decimal(str(quantity(amount))) for key, amount in amounts.items()}
    return Node(name, "pool", dict(labels), taints, allocatable)


RESOURCE = {"gpu": "nvidia.com/gpu", "disk": "ephemeral-storage"}


SHARED = (
    node("n1", {"pool": "gtx1080ti", "memory": "11264", "disk": "ssd"}, has="gpu=8"),
    node("n2", {"pool": "rtx2080ti", "memory": "11264"}, gpu_taint(), has="gpu=8"),
    node("n3", {"pool": "gtx1070ti", "memory": "8192"}, gpu_taint(effect="NoExecute"), has="gpu=7"),
    node("n4", {"pool": "gtx1080ti", "memory": "8_192"}, gpu_taint(effect="PreferNoSchedule")),
    replace(node("n5", {"pool": "gtx1080ti", "memory": "0"}, has="gpu=8"), is_cordoned=True),
    node("n6", {"pool": "", "memory": "008192"}, gpu_taint(), {"key": "example.edu/exam", "effect": "NoSchedule"}),
    node("n7", {"disk": "ssd"}, {"key": "example.edu/course", "value": "cs101", "effect": "NoExecute"}),
)
SIZES = (
    node("big", {}, has="cpu=32 memory=192Gi gpu=8 disk=480Gi"),
    node("small", {}, has="cpu=4 memory=8Gi gpu=1 disk=20Gi"),
    node("odd", {}, has="cpu=1500m memory=1G disk=0"),
)
CLASSES: dict[str, Spec] = {
    "plain": {},
    "heavy": {"overhead": {"podFixed": {"cpu": "500m", "memory": "256Mi"}}},
    "on-rtx": {
        "scheduling": {
            "nodeSelector": {"pool": "rtx2080ti"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        }
    },
    "tolerant": {"scheduling": {"tolerations": [{"operator": "Exists"}]}},
}


# --- pods


def affinity(*terms: Spec, **preferred: Any) -> Spec:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}, **preferred}}}


def labels(*expressions: tuple[str, ...]) -> Spec:
    return {"matchExpressions": [expression(*each) for each in expressions]}


def fields(*expressions: tuple[str, ...]) -> Spec:
    return {"matchFields": [expression("metadata.name", *each) for each in expressions]}


def expression(key: str, operator: str, *values: str) -> Spec:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def tolerates(*tolerations: Spec) -> Spec:
    return {"tolerations": list(tolerations)}


def asks(limits: Spec | None = None, *, at_once: Iterable[Spec] = (), before: Iterable[Spec] = (), **more: Any) -> Spec:
    """A pod whose first container has `limits` alone; `at_once` are its other containers' resources."""
    resources = [*([{"limits": limits}] if limits is not None else []), *at_once]
    containers = [{"name": f"c{number}", "resources": each} for number, each in enumerate(resources)]
    inits = [{"name": f"i{number}", **each} for number, each in enumerate(before)]
    return {"containers": containers, **({"initContainers": inits} if inits else {}), **more}


def requests(**amounts: str) -> Spec:
    return {"requests": {name.replace("disk", "ephemeral-storage"): amount for name, amount in amounts.items()}}


EVERYTHING = tolerates({"operator": "Exists"})
GPU = {"key": "nvidia.com/gpu"}

PODS: dict[str, Spec] = {
    "nothing asked": {},
    "selector": {"nodeSelector": {"pool": "gtx1080ti"}},
    "selector of two labels": {"nodeSelector": {"pool": "gtx1080ti", "disk": "ssd"}},
    "selector of an empty value": {"nodeSelector": {"pool": ""}, **EVERYTHING},
    "selector that no node has": {"nodeSelector": {"pool": "a100"}, **EVERYTHING},
    "selector beside affinity": {
        "nodeSelector": {"pool": "gtx1080ti"},
        **affinity(labels(("disk", "Exists"))),
        **EVERYTHING,
    },
    "affinity In": {**affinity(labels(("pool", "In", "gtx1070ti", "rtx2080ti"))), **EVERYTHING},
    "affinity NotIn": {**affinity(labels(("pool", "NotIn", "gtx1070ti", "rtx2080ti"))), **EVERYTHING},
    "affinity Exists": {**affinity(labels(("pool", "Exists"))), **EVERYTHING},
    "affinity DoesNotExist": {**affinity(labels(("pool", "DoesNotExist"))), **EVERYTHING},
    "affinity Gt": {**affinity(labels(("memory", "Gt", "8192"))), **EVERYTHING},
    "affinity Lt": {**affinity(labels(("memory", "Lt", "8193"))), **EVERYTHING},
    "affinity Lt with leading noughts": {**affinity(labels(("memory", "Lt", "08193"))), **EVERYTHING},
    "affinity of several labels": {**affinity(labels(("pool", "Exists"), ("disk", "DoesNotExist"))), **EVERYTHING},
    "affinity of several terms": {
        **affinity(labels(("pool", "In", "gtx1070ti")), labels(("disk", "In", "ssd"))),
        **EVERYTHING,
    },
    "affinity to a name": {**affinity(fields(("In", "n2"))), **EVERYTHING},
    "affinity to all other names": {**affinity(fields(("NotIn", "n2"))), **EVERYTHING},
    "affinity to a name and a label": {**affinity({**fields(("NotIn", "n1")), **labels(("disk", "Exists"))})},
    "affinity to two names at once": {**affinity(fields(("In", "n1"), ("In", "n2"))), **EVERYTHING},
    "affinity of an empty term": {**affinity({}), **EVERYTHING},
    "affinity of an empty term beside another": {**affinity({}, labels(("disk", "Exists"))), **EVERYTHING},
    "affinity that is only a preference": {
        "affinity": {
            "nodeAffinity": {PREFERRED: [{"weight": 1, "preference": labels(("pool", "In", "a100"))}]},
        }
    },
    "no term in the affinity": {"affinity": {"nodeAffinity": {}}, **EVERYTHING},
    "toleration of a key": tolerates({**GPU, "operator": "Exists"}),
    "toleration of a key and an effect": tolerates({**GPU, "operator": "Exists", "effect": "NoSchedule"}),
    "toleration of a key and another effect": tolerates({**GPU, "operator": "Exists", "effect": "NoExecute"}),
    "toleration of a value": tolerates({**GPU, "operator": "Equal", "value": "present"}),
    "toleration of a value by default": tolerates({**GPU, "value": "present", "effect": "NoSchedule"}),
    "toleration of another value": tolerates({**GPU, "operator": "Equal", "value": "absent"}),
    "toleration of no value": tolerates({**GPU, "operator": "Equal"}),
    "toleration of a taint without a value": tolerates({"key": "example.edu/exam"}, {**GPU, "operator": "Exists"}),
    "toleration of everything": EVERYTHING,
    "toleration of every NoSchedule": tolerates({"operator": "Exists", "effect": "NoSchedule"}),
    "toleration of every NoExecute": tolerates({"operator": "Exists", "effect": "NoExecute"}),
    "toleration for an hour": tolerates(
        {**GPU, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600},
    ),
    "toleration of an empty effect": tolerates({**GPU, "operator": "Exists", "effect": ""}),
    "toleration of one of two taints": tolerates({"key": "example.edu/exam", "operator": "Exists"}),
    "toleration of a cordon": tolerates(
        {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
    ),
    "toleration of a cordon and nothing of its effect": tolerates(
        {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoExecute"}
    ),
    "bound to a node": {"nodeName": "n1"},
    "bound to a node with a taint": {"nodeName": "n2"},
    "bound to a cordoned node": {"nodeName": "n5"},
    "runtime class": {"runtimeClassName": "plain"},
    "runtime class of some nodes": {"runtimeClassName": "on-rtx"},
    "runtime class beside another selector": {"runtimeClassName": "on-rtx", "nodeSelector": {"disk": "ssd"}},
    "runtime class against the selector": {"runtimeClassName": "on-rtx", "nodeSelector": {"pool": "gtx1080ti"}},
    "runtime class that tolerates everything": {"runtimeClassName": "tolerant"},
    "runtime class beside a toleration": {
        "runtimeClassName": "on-rtx",
        **tolerates({"key": "example.edu/exam", "operator": "Exists"}),
    },
}

RESOURCES: dict[str, Spec] = {
    "one GPU": asks({"nvidia.com/gpu": 1}),
    "all GPUs": asks({"nvidia.com/gpu": "8"}),
    "GPUs of two containers": asks(at_once=[{"limits": {"nvidia.com/gpu": 1}}] * 2),
    "no GPU at all": asks({"nvidia.com/gpu": 0}),
    "a resource that no node has": asks({"example.edu/fpga": 1}),
    "cores in thousandths": asks(at_once=[requests(cpu="1500m")]),
    "a thousandth of a core too much": asks(at_once=[requests(cpu="1501m")]),
    "cores as a fraction": asks(at_once=[requests(cpu="0.5")] * 4),
    "memory in powers of two": asks(at_once=[requests(memory="8Gi")]),
    "memory in powers of ten": asks(at_once=[requests(memory="1G")]),
    "memory with an exponent": asks(at_once=[requests(memory="1e9")]),
    "a byte too much": asks(at_once=[requests(memory="1000000001")]),
    "a limit above the request": asks(at_once=[{**requests(cpu="1"), "limits": {"cpu": "16"}}]),
    "a limit without a request": asks({"cpu": "2", "memory": "64Mi"}),
    "disk": asks(at_once=[requests(disk="21Gi")]),
    "a limit of disk": asks({"ephemeral-storage": "1Gi"}),
    "a big first step": asks(at_once=[requests(cpu="1")], before=[{"resources": requests(cpu="6")}]),
    "two first steps": asks(
        at_once=[requests(cpu="1")],
        before=[{"resources": requests(cpu="3")}, {"resources": requests(cpu="3")}],
    ),
    "a sidecar": asks(
        at_once=[requests(cpu="1")], before=[{"resources": requests(cpu="1"), "restartPolicy": "Always"}]
    ),
    "a sidecar beside a first step": asks(
        at_once=[requests(cpu="1")],
        before=[
            {"resources": requests(cpu="2"), "restartPolicy": "Always"},
            {"resources": requests(cpu="3")},
        ],
    ),
    "a sidecar after a first step": asks(
        at_once=[requests(cpu="1")],
        before=[
            {"resources": requests(cpu="4")},
            {"resources": requests(cpu="2"), "restartPolicy": "Always"},
        ],
    ),
    "a first step with a limit": asks(
        at_once=[requests(cpu="1")], before=[{"resources": {"limits": {"nvidia.com/gpu": "2"}}}]
    ),
    "overhead of the runtime class": asks(at_once=[requests(cpu="1.25")], runtimeClassName="heavy"),
    "just without overhead": asks(at_once=[requests(cpu="3.5")], runtimeClassName="heavy"),
    "resources of the pod": asks(at_once=[requests(cpu="1")], resources=requests(cpu="5")),
    "a limit of the pod": asks(at_once=[{}], resources={"limits": {"cpu": "2", "memory": "2Gi"}}),
    "a limit of the pod above its containers": asks(at_once=[requests(cpu="1")], resources={"limits": {"cpu": "16"}}),
    "resources of the pod beside GPUs": asks({"nvidia.com/gpu": 2}, resources=requests(memory="64Mi")),
    "resources of the pod and overhead": asks(
        at_once=[requests(cpu="1")], resources=requests(cpu="3.75"), runtimeClassName="heavy"
    ),
}

DAEMONS: dict[str, Spec] = {
    "daemon": {},
    "daemon for a pool": {"nodeSelector": {"pool": "gtx1080ti"}},
    "daemon by affinity": affinity(labels(("memory", "Gt", "9000")), labels(("disk", "DoesNotExist"))),
    "daemon that tolerates GPUs": tolerates({**GPU, "operator": "Exists"}),
    "daemon that tolerates everything": EVERYTHING,
    "daemon with GPUs": {**asks({"nvidia.com/gpu": "8"}), **EVERYTHING},
    "daemon of a runtime class": {"runtimeClassName": "on-rtx"},
}

# What other pods decide, which are not part of this test.
OTHERS: dict[str, Spec] = {
    "affinity to pods": {
        "affinity": {"podAffinity": {REQUIRED: [{"labelSelector": {}, "topologyKey": "kubernetes.io/hostname"}]}}
    },
    "aversion to pods": {
        "affinity": {"podAntiAffinity": {REQUIRED: [{"labelSelector": {}, "topologyKey": "pool"}]}},
    },
    "spread over nodes": {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        ]
    },
    "gate": {"schedulingGates": [{"name": "example.edu/quota"}]},
}


# --- the scheduler


@dataclass(frozen=True)
class Case:
    """One pod on its nodes, as the scheduler and as the rule see it."""

    name: str
    spec: Spec
    nodes: tuple[Node, ...]

    @property
    def slug(self) -> str:
        return self.name.lower().replace(" ", "-")


def own_nodes(name: str) -> tuple[Node, ...]:
    slug = name.lower().replace(" ", "-")
    return tuple(
        Node(f"{size.name}-{slug}", size.name, {OWN: f"{size.name}-{slug}"}, (), size.allocatable) for size in SIZES
    )


ON_SHARED = [Case(name, spec, SHARED) for name, spec in (PODS | OTHERS).items()]
ON_OWN = [
    *(Case(name, spec, own_nodes(name)) for name, spec in RESOURCES.items()),
    Case("no room for any pod", {}, (node("full", {OWN: "full"}, has="pods=0"),)),
]
AS_DAEMON = [Case(name, spec, SHARED) for name, spec in DAEMONS.items()]


@pytest.fixture(scope="module")
def cluster(claimed: Instance) -> Iterator[Cluster]:
    """A control plane whose scheduler has a profile for each shared node."""
    plain = scheduler.configuration(claimed)
    profiles = [*plain["profiles"], *(profile_of(each.name) for each in SHARED)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheduler, "configuration", lambda _: {**plain, "profiles": profiles})
        control_plane.start(claimed, Toolchain(), real_node=None)
    with Cluster(claimed) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def scheduled(cluster: Cluster) -> Mapping[str, frozenset[str]]:
    """By pod: the nodes that it was put on, of those that it was tried on."""
    prepare(cluster)
    made = {}
    pinned = [(case, each, {"schedulerName": f"only-{each.name}"}) for case in ON_SHARED for each in case.nodes]
    pinned += [(case, each, {"nodeSelector": dict(each.labels)}) for case in ON_OWN for each in case.nodes]
    for case, each, pin in pinned:
        name = f"{case.slug}.{each.name}"
        if create(cluster, "/api/v1", "Pod", name, {**whole(case.spec), **pin}):
            made[name] = (case.name, each.name)
    for case in AS_DAEMON:
        marks = {"daemon": case.slug}
        shared: Spec = {**case.spec, "nodeSelector": {**case.spec.get("nodeSelector", {}), OWN: "shared"}}
        daemon_set = {
            "selector": {"matchLabels": marks},
            "template": {"metadata": {"labels": marks}, "spec": whole(shared)},
        }
        create(cluster, "/apis/apps/v1", "DaemonSet", case.slug, daemon_set)
    wait_until(lambda: undecided(cluster), within_s=60, what="the scheduler has not decided about")
    found: dict[str, set[str]] = {case.name: set() for case in (*ON_SHARED, *ON_OWN, *AS_DAEMON)}
    daemons = {case.slug: case.name for case in AS_DAEMON}
    for pod in pods(cluster):
        bound = pod["spec"].get("nodeName", "")
        name, only = made.get(
            pod["metadata"]["name"], (daemons.get(pod["metadata"]["labels"].get("daemon", "")), bound)
        )
        if bound and bound == only:
            found[name].add(bound)
    return {name: frozenset(nodes) for name, nodes in found.items()}


def profile_of(name: str) -> Spec:
    args = {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": [fields(("In", name))]}}}
    return {"schedulerName": f"only-{name}", "pluginConfig": [{"name": "NodeAffinity", "args": args}]}


def prepare(cluster: Cluster) -> None:
    """Namespace, runtime classes and nodes; returns when every node is Ready and no taint says otherwise."""
    cluster.apply(f"/api/v1/namespaces/{NAMESPACE}", named("v1", "Namespace", NAMESPACE))
    for name, runtime_class in CLASSES.items():
        group = "node.k8s.io/v1"
        body = {**named(group, "RuntimeClass", name), "handler": "runc", **runtime_class}
        cluster.apply(f"/apis/{group}/runtimeclasses/{name}", body)
    nodes = [*SHARED, *(each for case in ON_OWN for each in case.nodes)]
    for each in nodes:
        body = named("v1", "Node", each.name)
        body["metadata"]["labels"] = {OWN: "shared", **each.labels, SIMULATED_NODE[0]: SIMULATED_NODE[1]}
        body["spec"] = {"taints": list(each.taints), **({"unschedulable": True} if each.is_cordoned else {})}
        amounts = {name: f"{amount}" for name, amount in each.allocatable.items()}
        ready = {"type": "Ready", "status": "True", "reason": "Test", "message": "from the beginning"}
        # A node is the one object whose status can be given with it.
        body["status"] = {"allocatable": amounts, "capacity": amounts, "conditions": [ready]}
        cluster.create("/api/v1/nodes", body)
    cluster.wait_for_nodes({each.name for each in nodes})
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    wait_until(
        lambda: tainted(cluster) | (set() if cluster.get(account) else {"service account"}),
        within_s=30,
        what="not ready",
    )


def tainted(cluster: Cluster) -> set[str]:
    """Nodes that still have the taint of one that is not Ready, or not yet that of a cordoned one."""
    found = set()
    for each in cluster.nodes():
        keys = {taint["key"] for taint in each["spec"].get("taints", [])}
        is_cordoned = each["spec"].get("unschedulable", False)
        if "node.kubernetes.io/not-ready" in keys or is_cordoned != ("node.kubernetes.io/unschedulable" in keys):
            found.add(each["metadata"]["name"])
    return found


def named(version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def whole(spec: Spec) -> Spec:
    """A pod spec that the API server takes: every container has an image, and ours do not matter."""
    made = {"containers": [{"name": "c"}], "automountServiceAccountToken": False, **spec}
    for kind in ("containers", "initContainers"):
        if kind in made:
            made[kind] = [{"image": "registry.k8s.io/pause:3.10.1", **container} for container in made[kind]]
    return made


def create(cluster: Cluster, api: str, kind: str, name: str, spec: Spec) -> bool:
    """Whether the API server takes it: it refuses a pod that its runtime class contradicts."""
    body = named(api.removeprefix("/apis/").removeprefix("/api/"), kind, name)
    body["metadata"]["labels"] = {"asked": "yes"}
    try:
        cluster.create(f"{api}/namespaces/{NAMESPACE}/{kind.lower()}s", {**body, "spec": spec})
    except ApiError as error:
        assert "conflict: runtimeClass.scheduling.nodeSelector" in str(error), error  # noqa: PT017 - any other is a mistake here
        return False
    return True


def pods(cluster: Cluster) -> list[Spec]:
    return cluster.items(f"/api/v1/namespaces/{NAMESPACE}/pods")


def undecided(cluster: Cluster) -> set[str]:
    """Pods that nobody has looked at, and daemons whose pods are not all there."""
    found, count = set(), dict.fromkeys((case.slug for case in AS_DAEMON), 0)
    for pod in pods(cluster):
        conditions = {each["type"]: each.get("reason", "") for each in pod["status"].get("conditions", [])}
        if not pod["spec"].get("nodeName") and "PodScheduled" not in conditions:
            found.add(pod["metadata"]["name"])
        daemon = pod["metadata"]["labels"].get("daemon")
        if daemon:
            count[daemon] += 1
    for each in cluster.items(f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets"):
        called, status = each["metadata"]["name"], each["status"]
        if not status.get("observedGeneration") or status["desiredNumberScheduled"] != count[called]:
            found.add(called)
    return found


# --- the rule


def ruled(case: Case, *, is_daemon: bool = False) -> Landing:
    return landing(whole(case.spec), case.nodes, runtime_classes=CLASSES, is_daemon=is_daemon)


def names(found: Landing) -> set[str]:
    return {each.name for each in found.possible}


@pytest.mark.parametrize("case", [each for each in ON_SHARED if each.name not in OTHERS], ids=lambda each: each.name)
def test_labels_taints_and_names(case: Case, scheduled: Mapping[str, frozenset[str]]) -> None:
    assert names(ruled(case)) == scheduled[case.name]


@pytest.mark.parametrize("case", ON_OWN, ids=lambda each: each.name)
def test_resources(case: Case, scheduled: Mapping[str, frozenset[str]]) -> None:
    assert names(ruled(case)) == scheduled[case.name]


@pytest.mark.parametrize("case", AS_DAEMON, ids=lambda each: each.name)
def test_pods_of_a_daemon_set(case: Case, scheduled: Mapping[str, frozenset[str]]) -> None:
    assert names(ruled(case, is_daemon=True)) == scheduled[case.name]


@pytest.mark.parametrize("case", [each for each in ON_SHARED if each.name in OTHERS], ids=lambda each: each.name)
def test_what_other_pods_decide_is_undecided_and_refuses_nothing(
    case: Case, scheduled: Mapping[str, frozenset[str]]
) -> None:
    found = ruled(case)
    assert len(found.undecided) == 1
    assert names(found) >= scheduled[case.name]


def test_every_node_is_possible_for_some_pod_and_impossible_for_another(
    scheduled: Mapping[str, frozenset[str]],
) -> None:
    for each in SHARED:
        assert {each.name in scheduled[case.name] for case in ON_SHARED} == {True, False}
    for index, size in enumerate(SIZES):
        own = [case.nodes[index].name in scheduled[case.name] for case in ON_OWN if len(case.nodes) > index]
        assert set(own) == {True, False}, size.name
    assert sum(len(case.nodes) for case in (*ON_SHARED, *ON_OWN, *AS_DAEMON)) >= 400


# --- what the scheduler says, for the pages of a hub

HOME: Spec = {"volumes": [{"name": "home", "persistentVolumeClaim": {"claimName": "home-elsewhere"}}]}
UNBOUND: Spec = {"volumes": [{"name": "home", "persistentVolumeClaim": {"claimName": "home-of-nobody"}}]}
NO_PLACES: dict[NoPlace, Spec] = {
    NoPlace.GPUS: {**asks({"nvidia.com/gpu": "9"}), **EVERYTHING},
    NoPlace.CPU: {**asks({"cpu": "9"}), "nodeSelector": {"disk": "ssd", "pool": "gtx1080ti"}},
    NoPlace.MEMORY: {**asks({"memory": "17Gi"}), "nodeSelector": {"disk": "ssd", "pool": "gtx1080ti"}},
    NoPlace.DISK: {**asks({"ephemeral-storage": "101Gi"}), "nodeSelector": {"disk": "ssd", "pool": "gtx1080ti"}},
    NoPlace.SERVERS: {"nodeSelector": {OWN: "full"}},
    NoPlace.HOME: UNBOUND,
    NoPlace.ELSEWHERE: {**HOME, "nodeSelector": {"pool": "rtx2080ti"}, **EVERYTHING},
    NoPlace.NOT_READY: {"nodeSelector": {"memory": "0"}},
    # Without a toleration a cordoned node would be named first, wherever it belongs.
    NoPlace.NONE: {"nodeSelector": {"pool": "a100"}, **EVERYTHING},
}


def test_a_hub_understands_why_the_scheduler_finds_no_place(
    cluster: Cluster, scheduled: Mapping[str, frozenset[str]]
) -> None:
    assert scheduled  # the nodes are there
    home = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    on_n3 = {"required": {"nodeSelectorTerms": [labels(("pool", "In", "gtx1070ti"))]}}
    claim = {"namespace": NAMESPACE, "name": "home-elsewhere"}
    volume = {**home, "capacity": {"storage": "1Gi"}, "nodeAffinity": on_n3, "claimRef": claim}
    cluster.create(
        "/api/v1/persistentvolumes",
        {**named("v1", "PersistentVolume", "home"), "spec": {**volume, "hostPath": {"path": "/x"}}},
    )
    asked = {**home, "resources": {"requests": {"storage": "1Gi"}}}
    create(cluster, "/api/v1", "PersistentVolumeClaim", "home-elsewhere", {**asked, "volumeName": "home"})
    create(cluster, "/api/v1", "PersistentVolumeClaim", "home-of-nobody", asked)
    path = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims/home-elsewhere"
    wait_until(
        lambda: set() if (cluster.get(path) or {})["status"].get("phase") == "Bound" else {"home"},
        within_s=60,
        what="not bound",
    )
    for reason, spec in NO_PLACES.items():
        create(cluster, "/api/v1", "Pod", f"said-{reason.name.lower().replace('_', '-')}", whole(spec))
    wait_until(lambda: undecided(cluster), within_s=60, what="the scheduler has not decided about")
    said = {
        pod["metadata"]["name"]: next(
            each.get("message", "") for each in pod["status"]["conditions"] if each["type"] == "PodScheduled"
        )
        for pod in pods(cluster)
        if pod["metadata"]["name"].startswith("said-")
    }
    understood = {name: no_place(message) for name, message in said.items()}
    assert understood == {f"said-{each.name.lower().replace('_', '-')}": each for each in NO_PLACES}, said
