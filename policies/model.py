"""What rules look at, the site that they know, and what a rule is. Plain values: no SDK, no Pulumi."""

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
    """Namespace and name of a DaemonSet."""

    namespace: str | Unknown
    name: str | Unknown

    def may_be(self, called: str) -> bool:
        """Whether `namespace/name` may be this one."""
        namespace, _, name = called.rpartition("/")
        return self.namespace in {namespace, UNKNOWN} and self.name in {name, UNKNOWN}


@dataclass(frozen=True, slots=True)
class DockerContainer:
    """What a container on a Docker host is beside the pod that it is read as."""

    name: str | Unknown
    inputs: Mapping[str, Any]  # of docker.Container


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """What a job of Slurm is beside the pod that it is read as."""

    inputs: Mapping[str, Any]  # of the resource: text, pools, gpus


@dataclass(frozen=True, slots=True)
class Workload:
    """Pods that something makes. `pod` is a pod spec in Kubernetes JSON; UNKNOWN marks unknown values."""

    name: str  # as a person knows it: Deployment datahub/hub, profile gtx1080ti of hub datahub
    pod: Mapping[str, Any]
    annotations: Mapping[str, Any] | Unknown = field(default_factory=dict)  # of the pod
    unread: str = ""  # why none of its pods could be looked at; the pod is then empty
    left_out: Mapping[str, str] = field(default_factory=dict)  # images that it does not name: containers[0].image → why
    daemon: Daemon | None = None  # of what runs on every node that takes it
    start_timeout_s: float | Unknown | None = None  # of a hub's profile: seconds in which its server must answer
    is_pre_pulled: bool = False  # something brings its image to all nodes before a user requests it
    image_names: tuple[str, ...] = ()  # what the stack calls its images, in the order of its containers
    container: DockerContainer | None = None  # where the pod stands for a container on a Docker host
    batch: SlurmJob | None = None  # where the pod stands for a job of Slurm
    words: Vocabulary = KUBERNETES  # in which rules speak of it
    _shapes: list[str] = field(default_factory=list, compare=False, repr=False)

    @property
    def is_daemon(self) -> bool:
        """True where it runs on every node that takes it."""
        return self.daemon is not None

    def landing(self, site: Site) -> Landing:
        """Where its pods may land. The site caches it: most rules need it, and most pods of a stack land alike."""
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
    """A bigger limit for one image, in compressed bytes, until the end of a day."""

    compressed: int
    reason: str
    until: dt.date


_LIMITS: Final = ImageLimits()  # the defaults of a stack file


@dataclass(frozen=True, slots=True)
class Limits:
    """How big an image may be: compressed bytes, and unpacked bytes as a share of a node's disk."""

    warn_compressed: int = round(_LIMITS.warn_compressed_gb * GB)
    refuse_compressed: int = round(_LIMITS.refuse_compressed_gb * GB)
    unpacked_disk_share: float = _LIMITS.unpacked_disk_share
    refuse_unsupported_base: bool = _LIMITS.refuse_unsupported_base
    waivers: Mapping[str, SizeWaiver] = field(default_factory=dict)  # by the image's name


@dataclass(frozen=True, slots=True)
class ClaimedGpus:
    """GPUs of each node of a pool that gives them by claims."""

    device: Device
    each: int


def no_use(_: str) -> tuple[Use, ...]:
    """Of every image, where no specs are at hand."""
    return ()


@dataclass(frozen=True, slots=True)
class Planned:
    """The spec of an image of ours before it is built. `least` is a lower bound of its size, None if none is known."""

    least: Size | None
    base: str  # reference of what it stands on here


def nothing_planned(_: str) -> Planned | None:
    """The spec of every image, where none is at hand."""
    return None


def nothing_known(_: str) -> ImageContents | None:
    """The contents of every image, where no facts are at hand."""
    return None


class Coverage(Enum):
    """Which nodes a site knows of the cluster that its workloads run in. Pods without GPUs may run on the others."""

    ALL = "all"
    WITH_GPUS = "with GPUs"  # all of these
    SOME = "some"


@dataclass(frozen=True, slots=True)
class Site:
    """What the rules know of the place: nodes of the fleet, registries that may be pulled from, limits of images."""

    nodes: tuple[Node, ...]
    allowed_registries: tuple[str, ...]
    coverage: Coverage = Coverage.ALL
    runtime_daemons: Mapping[str, frozenset[str]] = field(default_factory=dict)  # namespace/name, by image: GPU daemons
    runtime_daemons_key: str = ""  # where others are named; empty: nowhere
    engine_users: Mapping[str, frozenset[str]] = field(default_factory=dict)  # containers that may start others
    engine_filters: Mapping[str, str] = field(default_factory=dict)  # those of this stack's hubs; value: its repository
    shared_hosts: frozenset[str] = frozenset()  # pools whose GPUs several containers may use at a time
    scratch: tuple[str, ...] = ()  # folders of a site with Slurm that are purged
    whole_nodes: Mapping[str, int] = field(default_factory=dict)  # GPUs of each node, by pools that give whole nodes
    longest_min: Mapping[str, int] = field(default_factory=dict)  # minutes that a job may take, by pools of Slurm
    own_registry: str | None = None  # where this stack pushes: facts of these images can always be read
    machines: Mapping[str, Machine] = field(default_factory=dict)  # by pool
    limits: Limits = field(default_factory=Limits)
    contents_of: Callable[[str], ImageContents | None] = nothing_known  # of repository@digest, as it was read before
    own_images: frozenset[str] = frozenset()  # names of the images that this stack builds
    planned_of: Callable[[str], Planned | None] = nothing_planned  # of one of them, by its spec
    gpus: Mapping[str, PoolGpus] = field(default_factory=dict)  # by nodes that are alike: a pool, or a part of one
    claimed: Mapping[str, ClaimedGpus] = field(default_factory=dict)  # GPUs of pools that give them by claims
    unlisted: Mapping[str, str] = field(default_factory=dict)  # pools whose instances their region may lack: why
    room: Mapping[str, int] = field(default_factory=dict)  # GPUs by pool
    courses: tuple[Course, ...] = ()
    usages: tuple[Usage, ...] = ()  # what of this stack runs with GPUs
    uses_of: Callable[[str], tuple[Use, ...]] = no_use  # what of an own image uses a GPU, by its name, from its spec
    strictness: Strictness = field(default_factory=Strictness)
    runtime_classes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # objects of Kubernetes, by name
    landings: dict[str, tuple[tuple[Node, ...], Landing]] = field(default_factory=dict, compare=False, repr=False)
    default_runtimes: Mapping[str, str] = field(default_factory=dict)  # by pool: nvidia, runc; others: not stated
    today: dt.date = dt.date.max
    notes: tuple[str, ...] = ()  # about the source of this site, reported in each run

    def is_runtime_daemon(self, daemon: Daemon | None, image: object) -> bool | None:
        """Whether this DaemonSet may see every GPU with that image; None where its name or image is not known yet.

        An image is for the DaemonSets that are named with it, and for no other. A namespace that a preview does not
        know is taken for the right one: the update knows it.
        """
        named = [name for each, names in self.runtime_daemons.items() if image in (each, UNKNOWN) for name in names]
        if daemon is None or not any(map(daemon.may_be, named)):
            return False
        return None if UNKNOWN in (daemon.name, image) else True

    def may_use_engine(self, container: DockerContainer | None, image: object) -> bool | None:
        """Whether a container on a Docker host may reach its engine; None where that is not known yet.

        It is named with its image, as a daemon is.
        """
        named = {name for each, names in self.engine_users.items() if image in (each, UNKNOWN) for name in names}
        if container is None or not named or container.name not in {*named, UNKNOWN}:
            return False
        return None if UNKNOWN in (container.name, image) else True

    def alike(self, pools: Iterable[str]) -> list[str]:
        """Nodes with GPUs of these pools, each group of alike ones by name."""
        wanted = set(pools)
        return [name for name, gpus in self.gpus.items() if (gpus.pool or name) in wanted]

    def is_engine_filter(self, container: DockerContainer | None, image: object) -> bool:
        """Whether a container is what this stack's hub puts before an engine, with the image that the stack builds.

        An image that is not known yet is taken for the right one: the update knows it.
        """
        name = container.name if container else None
        repository = self.engine_filters.get(name) if isinstance(name, str) else None
        return repository is not None and (image is UNKNOWN or str(image).partition("@")[0] == repository)


def _nothing(_: Workload, __: Site) -> Iterator[Finding]:
    yield from ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `says` is the rule in a sentence, `remedy` what to do about a finding, which may differ by site."""

    id: str
    says: str
    remedy: str | Callable[[Vocabulary], str]
    check: Callable[[Workload, Site], Iterator[Finding]] = _nothing
    check_image: Callable[[str, Site], Iterator[Finding]] | None = None  # of an image of the stack, by its name
    check_stack: Callable[[Site], Iterator[Finding]] | None = None  # of the whole stack file, before the rest
    check_together: Callable[[Sequence[Workload], Site], Iterator[Finding]] | None = (
        None  # of all workloads, at the end
    )

    def remedy_in(self, words: Vocabulary = KUBERNETES) -> str:
        """What to do about a finding, in the words of a site."""
        return self.remedy if isinstance(self.remedy, str) else self.remedy(words)

    @property
    def looks_at_workloads(self) -> bool:
        """One by one."""
        return self.check is not _nothing
