"""EC2 instance types, with and without GPUs, and the common properties of a group's types."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from functools import cache
from typing import TypeVar

from compat.evidence.drivers import first_drivers
from compat.evidence.names.gpu_names import find_gpus
from compat.evidence.names.gpus import gpus_of
from compat.facts import csv_files
from compat.facts.rows import GpuModel, Row, read_floor
from compat.values.versions import DriverVersion
from errors.problems import listing
from platforms.aws import tables

Shared = TypeVar("Shared")


class InstanceError(ValueError):
    """An unusable type, or types that form no group. `reason` continues after `text`; `fix` says what to do.

    `suggestions` are the nearest known types, best first.
    """

    def __init__(self, text: str, reason: str, fix: str, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(f"{text} {reason}; {fix}")
        self.text = text
        self.reason = reason
        self.fix = fix
        self.suggestions = suggestions


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One EC2 instance type. None: not in the tables."""

    name: str  # g6.xlarge
    gpu: GpuModel | None  # None: no GPU of NVIDIA's
    gpus: Fraction  # 1/8 of an L4 for g6f.large; 0 for m7i.large
    reported_gpus: int | None  # as EC2 reports it: 0 for a fractional GPU
    gpu_memory_mib: int | None  # of each GPU or GPU fraction
    vcpu: int
    memory_gib: Decimal
    architecture: str  # amd64, arm64
    local_nvme_gb: int
    min_driver: DriverVersion | None
    max_branch: int | None  # None: still supported
    ami_types: tuple[str, ...]  # machine images EKS pairs with it, the default first
    note: str  # note in the table

    @property
    def family(self) -> str:
        """`g6` of `g6.xlarge`."""
        return self.name.partition(".")[0]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class GroupShape:
    """Properties shared by all nodes of a group, whatever their instance type."""

    types: tuple[InstanceType, ...]
    gpu: GpuModel | None  # None: the nodes have no GPU
    gpus: Fraction  # of each node
    architecture: str
    min_driver: DriverVersion | None
    max_branch: int | None
    ami_types: tuple[str, ...]

    @property
    def vcpu(self) -> int:
        """Of the smallest type: guaranteed to pods."""
        return min(each.vcpu for each in self.types)

    @property
    def memory_gib(self) -> Decimal:
        """Of the smallest type."""
        return min(each.memory_gib for each in self.types)

    @property
    def local_nvme_gb(self) -> int:
        """Minimum of its types."""
        return min(each.local_nvme_gb for each in self.types)

    @property
    def schedulable_gpus(self) -> int:
        """`nvidia.com/gpu` of a node: a fractional GPU is one device to the driver."""
        return max(1, int(self.gpus)) if self.gpus else 0

    def takes(self, driver: DriverVersion) -> bool:
        """Does this driver support every type's GPUs?"""
        is_new_enough = self.min_driver is None or driver >= self.min_driver
        return is_new_enough and (self.max_branch is None or driver.branch <= self.max_branch)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.types)

    def __str__(self) -> str:
        return listing(self.names)


def find_instance(text: str) -> InstanceType:
    """The instance type by name; raises InstanceError with the nearest names."""
    name = text.strip().lower()
    known = _known()
    if name in known:
        return known[name]
    family, _, size = name.partition(".")
    sizes = sorted((each for each in known if known[each].family == family), key=lambda each: known[each].vcpu)
    if sizes and not size:
        raise InstanceError(f'"{text}"', "is a family of instance types", f"name a size: {listing(sizes, most=8)}")
    if sizes:
        near = tuple(get_close_matches(name, sizes, n=2))
        fix = f"did you mean {' or '.join(near)}? " if near else ""
        fix += f"known sizes: {listing(sizes, most=12)}"
        raise InstanceError(f'"{text}"', f"is not a size of {family} that the tables know", fix, near)
    near = tuple(get_close_matches(name, known, n=3))
    families = dict.fromkeys(each.family for each in known.values() if each.gpu is not None)
    fix = f"did you mean {' or '.join(near)}? " if near and size else ""
    fix += f"families with NVIDIA GPUs: {listing(tuple(families), most=len(families))}"
    raise InstanceError(f'"{text}"', "is not an EC2 instance type that the tables know", fix, near)


def group_of(types: Sequence[InstanceType]) -> GroupShape:
    """Common properties of instance types, each listed once; raises InstanceError if nodes would differ.

    A group's pods may land on any of its nodes: they share processor architecture, GPU model and
    GPU count.
    """
    if not types:
        raise InstanceError("a group", "has no instance type", "name at least one, such as g6.xlarge")
    for each in types:
        if each.gpu is None and each.gpus:
            raise InstanceError(each.name, "has no NVIDIA GPU", f"use another type; {each.note}".strip("; "))
    for index, each in enumerate(types):
        if each in types[:index]:
            raise InstanceError(each.name, "is named twice", "name it once")
    _alike(types, "processor architectures", lambda each: each.architecture)
    _alike(types, "GPU models", lambda each: each.gpu.name if each.gpu else "none")
    _alike(types, "numbers of GPUs", lambda each: each.gpus)
    first = types[0]
    return GroupShape(
        types=tuple(types),
        gpu=first.gpu,
        gpus=first.gpus,
        architecture=first.architecture,
        min_driver=max((each.min_driver for each in types if each.min_driver), default=None),
        max_branch=min((each.max_branch for each in types if each.max_branch), default=None),
        ami_types=tuple(kind for kind in first.ami_types if all(kind in each.ami_types for each in types)),
    )


def _alike(types: Sequence[InstanceType], what: str, read: Callable[[InstanceType], Shared]) -> None:
    first = types[0]
    for each in types[1:]:
        if read(each) != read(first):
            text = f"{first.name} and {each.name}"
            reason = f"have different {what} ({read(first)} and {read(each)})"
            raise InstanceError(text, reason, "make them two pools")


@cache
def _known() -> dict[str, InstanceType]:
    with_gpus = [_instance(row) for row in csv_files.rows("ec2_gpu_instances")]
    return {each.name: each for each in (*with_gpus, *map(_general, tables.rows("general_instances")))}


def _general(row: Row) -> InstanceType:
    """A type without GPUs, for the pool of hubs and proxies."""
    kind = {"amd64": "x86_64", "arm64": "ARM_64"}[row["host_arch"]]
    return InstanceType(
        name=row["instance_type"],
        gpu=None,
        gpus=Fraction(0),
        reported_gpus=0,
        gpu_memory_mib=None,
        vcpu=int(row["vcpu"]),
        memory_gib=Decimal(row["memory_gib"]),
        architecture=row["host_arch"],
        local_nvme_gb=0,
        min_driver=None,
        max_branch=None,
        ami_types=(f"AL2023_{kind}_STANDARD",),
        note=row["notes"],
    )


def _instance(row: Row) -> InstanceType:
    own = tables.by_first_column("instances")[row["instance_type"]]
    memory = int(own["gpu_memory_mib"]) if own["gpu_memory_mib"] else None
    gpu = _gpu(row, memory)
    return InstanceType(
        name=row["instance_type"],
        gpu=gpu,
        gpus=Fraction(row["gpu_count"]),
        reported_gpus=int(own["gpu_count_api"]) if own["gpu_count_api"] else None,
        gpu_memory_mib=memory,
        vcpu=int(own["vcpu"]),
        memory_gib=Decimal(own["memory_gib"]),
        architecture=row["host_arch"],
        local_nvme_gb=int(own["local_nvme_gb"]),
        min_driver=_min_driver(row, gpu),
        max_branch=int(row["max_driver_branch"]) if row["max_driver_branch"] else None,
        ami_types=tuple(filter(None, row["eks_managed_ami_types"].split("|"))),
        note=row["notes"],
    )


def _gpu(row: Row, memory_mib: int | None) -> GpuModel | None:
    """H100 variants differ in memory: picks the one with the memory EC2 reports."""
    if row["gpu_vendor"] != "nvidia":
        return None
    models = find_gpus(row["gpu_model"])
    return min(models, key=lambda each: abs(each.memory_mib - (memory_mib or each.memory_mib)))


def _min_driver(row: Row, gpu: GpuModel | None) -> DriverVersion | None:
    """The instance's own minimum driver, listed if above its GPU's, else the GPU's."""
    if gpu is None:
        return None
    floors = [min(found) for each in gpus_of((gpu,), gpu.name) if (found := first_drivers(each))]
    floors += [read_floor(row["min_driver"])] if row["min_driver"] else []
    return max(floors, default=None)
