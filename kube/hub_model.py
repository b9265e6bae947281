"""What a notebook hub is, read from the arguments of NotebookHub. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleet import labels
from fleet.defaults import DEFAULT_START_TIMEOUT_S
from kube.hub_arguments import Arguments
from kube.hub_authenticator import Authenticator, parse_authenticator
from kube.hub_shown import Shown, parse_shown
from kube.pools import problem

EXPOSE_KINDS = ("cluster_ip", "load_balancer", "node_port")

# Every node of a GPU fleet carries the taint, those that run the hub and notebooks without a GPU too.
GPU_TOLERATION = {"key": labels.GPU_TAINT.key, "operator": "Exists", "effect": labels.GPU_TAINT.effect}

DEFAULT_CPU_GUARANTEE = 0.1
DEFAULT_MEMORY_GUARANTEE_GIB = 1.0


@dataclass(frozen=True, slots=True)
class Profile:
    """One choice on the spawn page. CPU in cores, memory in GiB; the guarantees are what the scheduler sets aside."""

    name: str
    title: str
    description: str
    image: Any
    image_name: str
    pools: Sequence[str]  # it may land on any of them; none: on any node
    gpus: int
    cpu: float
    cpu_guarantee: float
    memory_gib: float
    memory_guarantee_gib: float
    shm_gib: float
    node_selector: Mapping[str, str]
    tolerations: Sequence[Mapping[str, Any]]
    is_default: bool
    shown: Shown


@dataclass(frozen=True, slots=True)
class Expose:
    """How people reach the proxy. `port` is the node's port, or that of the service."""

    kind: str
    port: int


@dataclass(frozen=True, slots=True)
class Cull:
    """When servers and kernels end by themselves, in seconds; a maximum age of 0 is none."""

    idle_s: int
    max_age_s: int
    every_s: int
    kernel_idle_s: int


@dataclass(frozen=True, slots=True)
class Hub:
    """A hub with everything checked. Times in seconds, sizes in GiB."""

    namespace: str
    hub_image: Any
    hub_image_name: str
    proxy_image: Any
    proxy_image_name: str
    profiles: Sequence[Profile]
    expose: Expose
    public_url: str | None
    authenticator: Authenticator
    cull: Cull
    start_timeout_s: int
    http_timeout_s: int
    volume_gib: float
    database_gib: float
    storage_class: str | None
    runtime_class: str
    core_node_selector: Mapping[str, str]
    core_tolerations: Sequence[Mapping[str, Any]]
    site_name: str
    help_url: str | None
    availability: bool
    images: Mapping[str, Any] = field(default_factory=dict)
    """Image of each image name that a profile uses."""


def parse_hub(name: str, args: Mapping[str, Any]) -> Hub:
    """Arguments of NotebookHub as a Hub.

    Raises SettingsError with every problem of the plain arguments. Images may be outputs and are passed through.
    """
    read = Arguments(args, name, f"NotebookHub {name}")
    core_pool = read.name("core_pool") if read.has("core_pool") else None
    profiles = [_profile(each, core_pool) for each in read.each("profiles")]
    hub = Hub(
        namespace=read.name("namespace", name),
        hub_image=read.flowing("hub_image"),
        hub_image_name=read.name("hub_image_name", "hub"),
        proxy_image=read.flowing("proxy_image"),
        proxy_image_name=read.name("proxy_image_name", "proxy"),
        profiles=profiles,
        expose=_expose(read.nested("expose")),
        public_url=read.url("public_url").rstrip("/") if read.has("public_url") else None,
        authenticator=parse_authenticator(read.nested("authenticator")),
        cull=_cull(read.nested("cull")),
        start_timeout_s=read.whole("start_timeout_s", DEFAULT_START_TIMEOUT_S, least=1),
        http_timeout_s=read.whole("http_timeout_s", 120, least=1),
        volume_gib=read.amount("volume_gib", 10),
        database_gib=read.amount("database_gib", 1),
        storage_class=read.text("storage_class") if read.has("storage_class") else None,
        runtime_class=read.text("runtime_class", "nvidia"),
        core_node_selector=_selector(core_pool, read.pairs("core_node_selector")),
        core_tolerations=_tolerations(read, "core_tolerations"),
        site_name=read.text("site_name", "JupyterHub"),
        help_url=read.url("help_url") if read.has("help_url") else None,
        availability=read.claim("availability", default=True),
        images={profile.image_name: profile.image for profile in profiles},
    )
    # Told to policies and to reviewers: nothing of the hub depends on these.
    read.claim("images_are_pre_pulled")
    for course in read.each("courses"):
        _course(course, [profile.name for profile in profiles])
    _check_together(read, hub)
    read.refuse_unknown()
    read.close()
    return hub


def _course(read: Arguments, profiles: Sequence[str]) -> None:
    read.name("name")
    read.text("title")
    read.whole("seats", least=1)
    if read.has("peak_share") and read.amount("peak_share") > 1:
        read.note("peak_share", "is above 1", "write a share of the seats, such as 0.25")
    read.whole("guaranteed_gpus", 0)
    read.whole("borrowable_gpus", 0)
    first, last = read.day("first_day"), read.day("last_day")
    if first and last and last < first:
        read.note("last_day", "is before first_day", "write a day that is not before it")
    for name in read.texts("profiles"):
        if name not in profiles:
            read.note("profiles", f"has {name}, which is not a profile of this hub", f"choose of {', '.join(profiles)}")
    read.refuse_unknown()


def _check_together(read: Arguments, hub: Hub) -> None:
    if not hub.profiles:
        read.note("profiles", "leaves nothing to start", "give at least one profile")
    for field_name, one in (("name", "profile"), ("title", "profile as people see it")):
        seen: set[str] = set()
        for index, profile in enumerate(hub.profiles):
            value = getattr(profile, field_name)
            if value in seen:
                Arguments({field_name: value}, f"{read.path}.profiles[{index}]", read.owner, read.problems).note(
                    field_name, f"is there twice, and names one {one}", "give each its own"
                )
            seen.add(value)
    defaults = [profile.name for profile in hub.profiles if profile.is_default]
    if len(defaults) > 1:
        read.note("profiles", f"has several defaults ({', '.join(defaults)})", "keep is_default: true on one of them")
    for index, profile in enumerate(hub.profiles):
        if hub.images[profile.image_name] is not profile.image and _differ(
            hub.images[profile.image_name], profile.image
        ):
            Arguments(
                {"image_name": profile.image_name}, f"{read.path}.profiles[{index}]", read.owner, read.problems
            ).note("image_name", "names two different images", "give each image its own name")


def _differ(one: object, other: object) -> bool:
    # Outputs cannot be compared before they are known; two outputs of one name are taken for the same image.
    return isinstance(one, str) and isinstance(other, str) and one != other


def _profile(read: Arguments, core_pool: str | None) -> Profile:
    gpus = read.whole("gpus", 0)
    cpu = read.amount("cpu")
    memory_gib = read.amount("memory_gib")
    pools = _pools(read, core_pool)
    # Data loaders pass batches through /dev/shm; the 64 MiB of a container's default end them with a bus error.
    shm_gib = read.amount("shm_gib", memory_gib / 4 if gpus else 0, none_is_fine=True)
    profile = Profile(
        name=read.name("name"),
        title=read.text("title"),
        description=read.text("description", size_words(gpus, cpu, memory_gib)),
        image=read.flowing("image"),
        image_name=read.name("image_name"),
        pools=pools,
        gpus=gpus,
        cpu=cpu,
        cpu_guarantee=read.amount("cpu_guarantee", min(cpu, DEFAULT_CPU_GUARANTEE)),
        memory_gib=memory_gib,
        memory_guarantee_gib=read.amount("memory_guarantee_gib", min(memory_gib, DEFAULT_MEMORY_GUARANTEE_GIB)),
        shm_gib=shm_gib,
        node_selector=_selector(pools[0] if len(pools) == 1 else None, read.pairs("node_selector")),
        tolerations=_tolerations(read, "tolerations"),
        is_default=read.claim("is_default"),
        shown=parse_shown(read),
    )
    if profile.cpu_guarantee > cpu:
        read.note("cpu_guarantee", f"is above cpu: {cpu:g}", "lower it")
    if profile.memory_guarantee_gib > memory_gib:
        read.note("memory_guarantee_gib", f"is above memory_gib: {memory_gib:g}", "lower it")
    if shm_gib > memory_gib:
        read.note("shm_gib", f"is above memory_gib: {memory_gib:g}", "shared memory is part of the memory: lower it")
    read.refuse_unknown()
    return profile


def size_words(gpus: int, cpu: float, memory_gib: float) -> str:
    """What people read of a server's size: 1 GPU, 4 CPU cores, 16 GiB memory."""
    cards = "No GPU" if not gpus else f"{gpus} GPU{'s' if gpus > 1 else ''}"
    return ", ".join([cards, f"{cpu:g} CPU core{'' if cpu == 1 else 's'}", f"{memory_gib:g} GiB memory"])


def _pools(read: Arguments, core_pool: str | None) -> tuple[str, ...]:
    """Where a profile lands: what it names, else the hub's core pool, else (none) on any node."""
    pool = read.name("pool") if read.has("pool") else None
    if wrong := problem(pool, read.values.get("pools")):
        read.note("pools", *wrong)
        return ()
    return read.texts("pools") or tuple(filter(None, [pool or core_pool]))


def _expose(read: Arguments) -> Expose:
    kind = read.choice("kind", EXPOSE_KINDS)
    if kind == "node_port":
        # Kubernetes' default range; a server with another one answers with its own error.
        port = read.whole("port", least=30000, most=32767)
    else:
        port = read.whole("port", 80, least=1, most=65535)
    read.refuse_unknown()
    return Expose(kind, port)


def _cull(read: Arguments) -> Cull:
    idle_s = read.whole("idle_s", 3600, least=60)
    cull = Cull(
        idle_s=idle_s,
        max_age_s=read.whole("max_age_s", 0),
        every_s=read.whole("every_s", 600, least=10),
        kernel_idle_s=read.whole("kernel_idle_s", idle_s, least=60),
    )
    if 0 < cull.max_age_s < idle_s:
        read.note("max_age_s", f"is below idle_s: {idle_s}", "raise it, or use 0 for no maximum age")
    read.refuse_unknown()
    return cull


def _selector(pool: str | None, given: Mapping[str, str]) -> dict[str, str]:
    return {**({labels.POOL: pool} if pool else {}), **given}


def _tolerations(read: Arguments, key: str) -> list[dict[str, Any]]:
    if not read.has(key):
        return [dict(GPU_TOLERATION)]
    return [_toleration(each) for each in read.each(key)]


def _toleration(read: Arguments) -> dict[str, Any]:
    operator = read.choice("operator", ("Equal", "Exists"), "Equal")
    found: dict[str, Any] = {"operator": operator}
    if operator == "Equal" or read.has("key"):
        found["key"] = read.text("key")
    if operator == "Equal":
        found["value"] = read.text("value")
    if read.has("effect"):
        found["effect"] = read.choice("effect", ("NoExecute", "NoSchedule", "PreferNoSchedule"))
    if read.has("toleration_seconds"):
        found["tolerationSeconds"] = read.whole("toleration_seconds")
    read.refuse_unknown()
    return found
