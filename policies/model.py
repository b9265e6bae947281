"""Data types of the rules: workloads, sites and rules. Plain values: no SDK, no Pulumi."""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from fleet.courses import Course, Usage
from fleet.dra_devices import Device
from fleet.labels import NVIDIA_PREFIX
from fleet.machines import Machine
from fleet.nodes import Node
from fleet.pools import PoolGpus
from fleet.quantities import quantity
from fleet.scheduling import Landing
from fleet.unknown import UNKNOWN, Unknown
from imaging.inspection.facts import ImageContents
from imaging.size.estimate import GB, Size
from imaging.spec.compat_cases import Use
from policies.enforcement import Strictness
from policies.finding import Finding
from policies.shapes import some
from policies.visibility import VISIBLE_DEVICES, is_hiding
from policies.vocabulary import KUBERNETES, Vocabulary
from settings.models import ImageLimits


@dataclass(frozen=True, slots=True)
class Daemon:
    """A DaemonSet's namespace and name."""

    namespace: str | Unknown
    name: str | Unknown

    def may_be(self, called: str) -> bool:
        """Whether `namespace/name` may be it."""
        namespace, _, name = called.rpartition("/")
        return self.namespace in {namespace, UNKNOWN} and self.name in {name, UNKNOWN}


@dataclass(frozen=True, slots=True)
class Image:
    """An image as a workload names it; `place` is its place in the user's input, as everywhere below."""

    place: str  # containers[0].image
    text: Any  # its reference
    name: str = ""  # the stack's name for it; empty if unknown
    unread: str = ""  # why the text does not show what runs


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable."""

    name: Any
    value: Any
    is_set_elsewhere: bool = False  # from a Secret or a ConfigMap


@dataclass(frozen=True, slots=True)
class Mount:
    """A mount inside a container: the name of its volume, and its path there."""

    place: str  # containers[0].volumeMounts[0]
    volume: Any
    path: Any
    is_read_only: Any = None


@dataclass(frozen=True, slots=True)
class HostPath:
    """A path of the node that a workload mounts as a volume, or may mount if it is not known yet."""

    place: str  # volumes[0].hostPath; volumes[0] or volumes if not known yet
    path: Any
    volume: Any = None  # name of the volume


@dataclass(frozen=True, slots=True)
class Container:
    """One container, or all of one kind if their list is not known yet. Amounts are Kubernetes quantities by name."""

    place: str  # containers[0]
    image: Image
    is_known: bool = True
    limits: Any = None
    requests: Any = None
    amounts_place: str = ""
    has_claims: bool = False  # for devices, which may be GPUs
    env: tuple[Variable, ...] | Unknown = ()
    env_place: str = ""
    mounts: tuple[Mount, ...] = ()
    privileged: Any = None
    capabilities: tuple[str | Unknown, ...] = ()  # added ones, without CAP_
    spec: Mapping[str, Any] = field(default_factory=dict)  # Kubernetes JSON, for what only a pod can do

    @property
    def asks_for_gpus(self) -> bool | None:
        """None if not known yet."""
        if not self.is_known or self.limits is UNKNOWN:
            return None
        known = (each for each in (self.requests, self.limits) if isinstance(each, Mapping))
        requested = {name: each[name] for each in known for name in each if name.startswith(NVIDIA_PREFIX)}
        if UNKNOWN in requested.values():
            return None
        return True if not all(map(_is_zero, requested.values())) else None if self.has_claims else False

    @property
    def hides_gpus(self) -> bool | None:
        """Whether it hides GPUs from itself; None if not known yet. The last of equal names counts."""
        if isinstance(self.env, Unknown) or any(each.name is UNKNOWN for each in self.env):
            return None
        values = [each.value for each in self.env if each.name == VISIBLE_DEVICES]
        return None if UNKNOWN in values else bool(values) and is_hiding(values[-1])


def _is_zero(amount: Any) -> bool:
    """True for 0, "0.0" and "0m", and a missing amount; P-HOST refuses invalid quantities."""
    try:
        return amount in (None, "") or quantity(amount) == 0
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a workload outside Kubernetes may land, and what it needs of a node there."""

    pools: tuple[Any, ...] | None  # None: any, or not known yet
    amounts: Mapping[str, Any]  # Kubernetes quantities
    places: Mapping[str, str]  # of the amounts
    unknown: tuple[str, ...] = ()  # places of other deciding values that are not known yet
    other_pool: str = ""  # why a node of another pool does not fit; by default, its label


@dataclass(frozen=True, slots=True)
class Workload:
    """What starts containers: a pod template, a Docker container, a Slurm job, a profile of a hub.

    Values are as given: UNKNOWN if not known yet, and of any type.
    """

    name: str  # display name: Deployment datahub/hub, profile gtx1080ti of hub datahub
    pod: Mapping[str, Any] = field(default_factory=dict)  # pod spec in Kubernetes JSON, for what only a pod can do
    words: Vocabulary = KUBERNETES
    unread: str = ""  # why it could not be read; all else is then empty
    containers: tuple[Container, ...] = ()
    host_paths: tuple[HostPath, ...] = ()
    mounted_images: tuple[Image, ...] = ()  # and those of sidecars that an annotation adds
    placement: Placement | None = None  # None: the Kubernetes scheduler places its pods
    landing_key: str = ""  # workloads with the same key land on the same nodes
    runtime: Any = None  # its name, if not the default one: a runtime class
    sees_processes: Any = None  # of the node
    annotations: Mapping[str, Any] | Unknown = field(default_factory=dict)  # of its pods
    daemon: Daemon | None = None  # for workloads that run on every matching node
    start_timeout_s: float | Unknown | None = None  # for a hub's profile: seconds until its server must answer
    is_pre_pulled: bool = False  # its image is on all nodes before a user requests it
    container_name: str | Unknown = ""  # on a Docker host
    container_inputs: Mapping[str, Any] = field(
        default_factory=dict
    )  # of docker.Container, for what only Docker can do
    job_inputs: Mapping[str, Any] = field(default_factory=dict)  # text, pools, gpus: for what only Slurm can do

    @property
    def images(self) -> tuple[Image, ...]:
        """Those of its containers in order, then others."""
        return (*(each.image for each in self.containers), *self.mounted_images)

    @property
    def asks_for_gpus(self) -> bool | None:
        """Whether any container does; None if not known yet."""
        return some(each.asks_for_gpus for each in self.containers)


@dataclass(frozen=True, slots=True)
class SizeWaiver:
    """A higher limit for one image, in compressed bytes, until the end of a day."""

    compressed: int
    reason: str
    until: dt.date


_LIMITS: Final = ImageLimits()  # the defaults of a stack file


@dataclass(frozen=True, slots=True)
class Limits:
    """Image limits: compressed bytes, and unpacked bytes as a share of a node's disk."""

    warn_compressed: int = round(_LIMITS.warn_compressed_gb * GB)
    refuse_compressed: int = round(_LIMITS.refuse_compressed_gb * GB)
    unpacked_disk_share: float = _LIMITS.unpacked_disk_share
    refuse_unsupported_base: bool = _LIMITS.refuse_unsupported_base
    waivers: Mapping[str, SizeWaiver] = field(default_factory=dict)  # by the image's name


@dataclass(frozen=True, slots=True)
class ClaimedGpus:
    """GPUs per node of a pool that serves claims."""

    device: Device
    each: int


def no_use(_: str) -> tuple[Use, ...]:
    """Used when no specs are available."""
    return ()


@dataclass(frozen=True, slots=True)
class Planned:
    """An own image's spec before the build. `least` is a lower bound of its size, None if unknown."""

    least: Size | None
    base: str  # reference of its base here


def nothing_planned(_: str) -> Planned | None:
    """Used when no spec is available."""
    return None


def nothing_known(_: str) -> ImageContents | None:
    """Used when no facts are available."""
    return None


class Coverage(Enum):
    """Which cluster nodes a site describes. Pods without GPUs may run on others."""

    ALL = "all"
    WITH_GPUS = "with GPUs"  # all of these
    SOME = "some"


@dataclass(frozen=True, slots=True)
class Site:
    """Site facts for the rules: fleet nodes, allowed registries, image limits."""

    nodes: tuple[Node, ...]
    allowed_registries: tuple[str, ...]
    coverage: Coverage = Coverage.ALL
    runtime_daemons: Mapping[str, frozenset[str]] = field(default_factory=dict)  # GPU daemons: namespace/name, by image
    runtime_daemons_key: str = ""  # key to list others; empty: none
    engine_filters: Mapping[str, str] = field(default_factory=dict)  # this stack's hub filters; value: its repository
    shared_hosts: frozenset[str] = frozenset()  # pools whose GPUs are shared
    scratch: tuple[str, ...] = ()  # purged folders of a Slurm site
    whole_nodes: Mapping[str, int] = field(default_factory=dict)  # GPUs per node, for pools that allocate whole nodes
    longest_min: Mapping[str, int] = field(default_factory=dict)  # maximum job minutes, by Slurm pool
    own_registry: str | None = None  # this stack's push registry: facts of its images can always be read
    machines: Mapping[str, Machine] = field(default_factory=dict)  # by pool
    limits: Limits = field(default_factory=Limits)
    contents_of: Callable[[str], ImageContents | None] = nothing_known  # facts read earlier, by repository@digest
    own_images: frozenset[str] = frozenset()  # names of images built by this stack
    planned_of: Callable[[str], Planned | None] = nothing_planned  # from the spec of such an image
    gpus: Mapping[str, PoolGpus] = field(default_factory=dict)  # by group of alike nodes: a pool, or a part of one
    claimed: Mapping[str, ClaimedGpus] = field(default_factory=dict)  # GPUs of pools that serve claims
    unlisted: Mapping[str, str] = field(default_factory=dict)  # pools whose region may lack their instances: why
    room: Mapping[str, int] = field(default_factory=dict)  # GPUs by pool
    courses: tuple[Course, ...] = ()
    usages: tuple[Usage, ...] = ()  # GPU users of this stack
    uses_of: Callable[[str], tuple[Use, ...]] = no_use  # GPU uses of an own image by name, from its spec
    strictness: Strictness = field(default_factory=Strictness)
    runtime_classes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # Kubernetes objects by name
    landings: dict[str, tuple[tuple[Node, ...], Landing]] = field(default_factory=dict, compare=False, repr=False)
    default_runtimes: Mapping[str, str] = field(default_factory=dict)  # by pool: nvidia, runc; others: not stated
    today: dt.date = dt.date.max
    notes: tuple[str, ...] = ()  # notes about this site's source, reported in each run

    def is_runtime_daemon(self, daemon: Daemon | None, image: object) -> bool | None:
        """Whether this DaemonSet may see every GPU with that image; None if its name or image is not known yet.

        An image counts only for the DaemonSets listed with it. A namespace unknown in a preview is
        assumed correct: the update knows it.
        """
        named = [name for each, names in self.runtime_daemons.items() if image in (each, UNKNOWN) for name in names]
        if daemon is None or not any(map(daemon.may_be, named)):
            return False
        return None if UNKNOWN in (daemon.name, image) else True

    def alike(self, pools: Iterable[str]) -> list[str]:
        """GPU nodes of these pools, as names of groups of alike nodes."""
        wanted = set(pools)
        return [name for name, gpus in self.gpus.items() if (gpus.pool or name) in wanted]

    def is_engine_filter(self, container: str | Unknown, image: object) -> bool:
        """Whether a container is this stack's hub filter for an engine, with the image built by the stack.

        An image not known yet is assumed correct: the update knows it.
        """
        repository = self.engine_filters.get(container) if isinstance(container, str) else None
        return repository is not None and (image is UNKNOWN or str(image).partition("@")[0] == repository)


def _nothing(_: Workload, __: Site) -> Iterator[Finding]:
    yield from ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `says` states it in a sentence, `remedy` the fix for a finding, which may differ by site."""

    id: str
    says: str
    remedy: str | Callable[[Vocabulary], str]
    check: Callable[[Workload, Site], Iterator[Finding]] = _nothing
    check_image: Callable[[str, Site], Iterator[Finding]] | None = None  # for a stack image, by name
    check_stack: Callable[[Site], Iterator[Finding]] | None = None  # for the whole stack file, first
    check_together: Callable[[Sequence[Workload], Site], Iterator[Finding]] | None = (
        None  # for all workloads, at the end
    )

    def remedy_in(self, words: Vocabulary = KUBERNETES) -> str:
        """The remedy in the site's vocabulary."""
        return self.remedy if isinstance(self.remedy, str) else self.remedy(words)

    @property
    def looks_at_workloads(self) -> bool:
        """One by one."""
        return self.check is not _nothing
