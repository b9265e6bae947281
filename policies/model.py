"""Data types of the rules: workloads, sites and rules. Plain values: no SDK, no Pulumi."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from fleet.courses import Course, Usage
from fleet.dra_devices import Device
from fleet.machines import Machine
from fleet.nodes import Node
from fleet.pools import PoolGpus
from fleet.scheduling import Landing, landing, shape
from fleet.unknown import UNKNOWN, Unknown
from imaging.inspection.facts import ImageContents
from imaging.size.estimate import GB, Size
from imaging.spec.compat_cases import Use
from policies.enforcement import Strictness
from policies.finding import Finding
from policies.wording import KUBERNETES, Vocabulary
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
class DockerContainer:
    """Docker-specific data of a container that is read as a pod."""

    name: str | Unknown
    inputs: Mapping[str, Any]  # of docker.Container


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """Slurm-specific data of a job that is read as a pod."""

    inputs: Mapping[str, Any]  # resource inputs: text, pools, gpus


@dataclass(frozen=True, slots=True)
class Workload:
    """A source of pods. `pod` is a pod spec in Kubernetes JSON; UNKNOWN marks unknown values."""

    name: str  # display name: Deployment datahub/hub, profile gtx1080ti of hub datahub
    pod: Mapping[str, Any]
    annotations: Mapping[str, Any] | Unknown = field(default_factory=dict)  # pod annotations
    unread: str = ""  # why its pods could not be read; the pod is then empty
    left_out: Mapping[str, str] = field(default_factory=dict)  # images not named: containers[0].image → reason
    daemon: Daemon | None = None  # for workloads that run on every matching node
    start_timeout_s: float | Unknown | None = None  # for a hub's profile: seconds until its server must answer
    is_pre_pulled: bool = False  # its image is on all nodes before a user requests it
    image_names: tuple[str, ...] = ()  # the stack's names of its images, in container order
    container: DockerContainer | None = None  # if the pod represents a Docker container
    batch: SlurmJob | None = None  # if the pod represents a Slurm job
    words: Vocabulary = KUBERNETES  # vocabulary of the rules
    _shapes: list[str] = field(default_factory=list, compare=False, repr=False)

    @property
    def is_daemon(self) -> bool:
        """True if it runs on every matching node."""
        return self.daemon is not None

    def landing(self, site: Site) -> Landing:
        """Possible nodes of its pods. The site caches it: most rules need it, and most pods land alike."""
        if not self._shapes:
            self._shapes.append(shape(self.pod))
        name = self.pod.get("runtimeClassName")
        runtime_class = site.runtime_classes.get(name) if isinstance(name, str) else None
        key = f"{self.is_daemon} {runtime_class} {self._shapes[0]}"
        nodes, found = site.landings.get(key, ((), None))
        if found is None or nodes is not site.nodes:
            found = landing(self.pod, site.nodes, runtime_classes=site.runtime_classes, is_daemon=self.is_daemon)
            site.landings[key] = site.nodes, found
        return found


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
    engine_users: Mapping[str, frozenset[str]] = field(default_factory=dict)  # containers that may use the engine
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

    def may_use_engine(self, container: DockerContainer | None, image: object) -> bool | None:
        """Whether a Docker container may reach its engine; None if not known yet.

        It is listed with its image, like a daemon.
        """
        named = {name for each, names in self.engine_users.items() if image in (each, UNKNOWN) for name in names}
        if container is None or not named or container.name not in {*named, UNKNOWN}:
            return False
        return None if UNKNOWN in (container.name, image) else True

    def alike(self, pools: Iterable[str]) -> list[str]:
        """GPU nodes of these pools, as names of groups of alike nodes."""
        wanted = set(pools)
        return [name for name, gpus in self.gpus.items() if (gpus.pool or name) in wanted]

    def is_engine_filter(self, container: DockerContainer | None, image: object) -> bool:
        """Whether a container is this stack's hub filter for an engine, with the image built by the stack.

        An image not known yet is assumed correct: the update knows it.
        """
        name = container.name if container else None
        repository = self.engine_filters.get(name) if isinstance(name, str) else None
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
