"""Random resources as the engine sends them to a pack: unknowns, secrets, wrong types and deep nesting anywhere.

A tree is what the engine marshals: JSON with the SDK's unknown strings and envelopes of secrets. Half of what is drawn
is near to what people write, so that rules get to their decisions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hypothesis import strategies as st
from pulumi_policy import proxy
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY

from policies.evaluate import IMAGE_TOKEN, STACK_TOKEN
from policies.pod_workloads import GROUPS, HUB_TOKEN, POD_PATHS

Path = tuple[str | int, ...]

UNKNOWNS: Final = tuple(value for name, value in vars(proxy).items() if name.startswith("UNKNOWN_"))
PODS: Final = (
    "kubernetes:core/v1:Pod",
    "kubernetes:apps/v1:Deployment",
    "kubernetes:apps/v1:DaemonSet",
    "kubernetes:apps/v1:StatefulSet",
    "kubernetes:apps/v1:ReplicaSet",
    "kubernetes:core/v1:ReplicationController",
    "kubernetes:batch/v1:Job",
    "kubernetes:batch/v1:CronJob",
    "kubernetes:apps/v1:DeploymentPatch",
    "kubernetes:core/v1:PodPatch",
    "kubernetes:core/v1:PodTemplate",
)
assert {token.rpartition(":")[2].removesuffix("Patch") for token in PODS} == set(POD_PATHS)
assert {token.split(":")[1].partition("/")[0] for token in PODS} <= GROUPS
OTHERS: Final = (
    IMAGE_TOKEN,
    STACK_TOKEN,
    "kubernetes:node.k8s.io/v1:RuntimeClass",
    "kubernetes:core/v1:Node",
    "kubernetes:core/v1:ConfigMap",
    "random:index:Password",
)
TOKENS: Final = (*PODS, HUB_TOKEN, *OTHERS)

DIGEST: Final = "sha256:" + "a" * 64
BUILT: Final = f"registry.example.edu/ml@{DIGEST}"  # the site of the tests knows what is in it
DAEMON: Final = f"registry.example.edu/device-plugin@sha256:{'e' * 64}"  # the runtime's own
OLD: Final = f"registry.example.edu/old@sha256:{'b' * 64}"
IMAGES: Final = (
    DAEMON,
    BUILT,
    OLD,
    f"registry.example.edu/new@sha256:{'c' * 64}",
    f"nvidia/cuda:12.4.1-runtime-ubuntu22.04@sha256:{'d' * 64}",
    "docker.io/library/busybox:1",
    "nvcr.io/nvidia/pytorch:24.01-py3",
    "https://user:password@example.edu/x",
    "",
    ":",
    "a" * 300,
    f"registry.example.edu/{'a' * 230}:{'1' * 128}",
)
AMOUNTS: Final = ("1", "2", 1, 0, "0", "500m", "2Gi", "1e3", "1e999999999", "nan", "-1", "many", 10**30, 0.5, "", None)
WORDS: Final = ("gtx1070ti", "rtx2080ti", "nvidia", "ml", "hub", "batch", "Exists", "In", "Equal", "NoSchedule", "x")
ODD: Final = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e300,
    "",
    " ",
    "\x00",
    "🦄",
    "a\nb: c",
    [],
    {},
    [[]],
    [None],
    {"": {}},
)

numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**40), 2**40).map(float)
leaves = st.sampled_from((*ODD, *UNKNOWNS, *WORDS, *IMAGES)) | numbers | st.text(max_size=12)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=6), inner, max_size=3)
    ),
)
amounts = st.sampled_from(AMOUNTS)
words = st.sampled_from(WORDS)
flags = st.booleans()


def some(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping with any of these keys."""
    return st.fixed_dictionaries({}, optional=optional)


quantities = st.dictionaries(
    st.sampled_from(("nvidia.com/gpu", "cpu", "memory", "nvidia.com/mig-1g.5gb", "x")), amounts, max_size=3
)
variables = some(
    name=st.sampled_from(("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "HOME")),
    value=st.sampled_from(("all", "0", "void", "none", "", "x")),
    valueFrom=st.just({"secretKeyRef": {"name": "x", "key": "y"}}),
)
containers = some(
    name=words,
    image=st.sampled_from(IMAGES),
    resources=some(limits=quantities, requests=quantities),
    env=st.lists(variables, max_size=3),
    envFrom=st.just([{"secretRef": {"name": "x"}}]),
    securityContext=some(privileged=flags),
    restartPolicy=st.just("Always"),
)
expressions = some(
    key=st.sampled_from(("gpu-commons.org/pool", "x")),
    operator=st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near")),
    values=st.lists(words, max_size=2),
)
terms = st.lists(
    some(matchExpressions=st.lists(expressions, max_size=2), matchFields=st.lists(expressions, max_size=1)), max_size=2
)
affinities = some(
    nodeAffinity=st.fixed_dictionaries(
        {"requiredDuringSchedulingIgnoredDuringExecution": some(nodeSelectorTerms=terms)}
    ),
    podAffinity=st.just({"requiredDuringSchedulingIgnoredDuringExecution": [{}]}),
)
pods = some(
    containers=st.lists(containers, min_size=1, max_size=2),
    initContainers=st.lists(containers, max_size=1),
    ephemeralContainers=st.lists(containers, max_size=1),
    nodeSelector=st.fixed_dictionaries({}, optional={"gpu-commons.org/pool": words, "x": words}),
    nodeName=words,
    tolerations=st.lists(
        some(key=st.sampled_from(("nvidia.com/gpu", "x")), operator=words, effect=words, value=words), max_size=2
    ),
    affinity=affinities,
    runtimeClassName=st.sampled_from(("nvidia", "runc")),
    volumes=st.lists(
        some(name=words, hostPath=some(path=st.sampled_from(("/dev", "/dev/nvidia0", "//", "/home")))), max_size=2
    ),
    hostNetwork=flags,
    overhead=quantities,
    resources=some(limits=quantities, requests=quantities),
    topologySpreadConstraints=st.just([{"whenUnsatisfiable": "DoNotSchedule"}]),
    schedulingGates=st.just([{"name": "x"}]),
)
metadata = some(
    name=words,
    namespace=words,
    annotations=some(**{"gpu-commons.org/image": st.sampled_from(("ml", "ml,new", "new,,", "big"))}),
)
profiles = some(
    name=words,
    image=st.sampled_from(IMAGES),
    image_name=st.sampled_from(("ml", "new")),
    pool=words,
    gpus=st.integers(0, 9),
    node_selector=some(x=words),
    tolerations=st.just([{"key": "nvidia.com/gpu", "operator": "Exists"}]),
    cpu_guarantee=amounts,
    memory_guarantee_gib=amounts,
)
hubs = some(
    profiles=st.lists(profiles, min_size=1, max_size=2),
    core_pool=words,
    runtime_class=words,
    start_timeout_s=st.sampled_from((1, 60, 300, 10**9)),
    images_are_pre_pulled=flags,
)
others = some(
    metadata=metadata,
    image=words,
    target=words,
    handler=words,
    overhead=some(podFixed=quantities),
    scheduling=some(nodeSelector=some(x=words), tolerations=st.lists(some(key=words), max_size=1)),
)


@st.composite
def inputs(draw: st.DrawFn, token: str) -> Any:
    """Inputs of one resource, near to what people write."""
    if token == HUB_TOKEN:
        return draw(hubs)
    if token in OTHERS:
        return draw(others)
    kind = token.rpartition(":")[2].removesuffix("Patch")
    tree: Any = draw(pods)
    *outer, _ = path = POD_PATHS[kind]
    for step in reversed(path):
        tree = {step: tree}
    tree["metadata"] = draw(metadata)
    if outer:  # of the pods
        at(tree, tuple(outer))["metadata"] = draw(metadata)
    return tree


def paths(tree: Any, here: Path = ()) -> Iterator[Path]:
    """Of every value below the root, envelopes counted as what they hold."""
    steps = list(tree.items()) if isinstance(tree, Mapping) else list(enumerate(tree)) if isinstance(tree, list) else []
    for step, inner in steps:
        yield (*here, step)
        if not is_secret(inner):
            yield from paths(inner, (*here, step))


def at(tree: Any, path: Path) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def put(tree: Any, path: Path, value: Any) -> Any:
    """A copy with another value at that path."""
    if not path:
        return value
    step, *rest = path
    copy = dict(tree) if isinstance(tree, Mapping) else list(tree)
    copy[step] = put(tree[step], tuple(rest), value)
    return copy


def secret(value: Any) -> dict[str, Any]:
    """As the engine wraps it."""
    return {SPECIAL_SIG_KEY: SPECIAL_SECRET_SIG, "value": value}


def is_secret(value: Any) -> bool:
    return isinstance(value, Mapping) and SPECIAL_SIG_KEY in value


def deep(value: Any, depth: int) -> Any:
    """In so many lists and mappings. A message of the engine has at most a hundred levels, three for each of these."""
    for level in range(depth):
        value = [value] if level % 2 else {"x": value}
    return value
