"""GPUs of nodes, and what drives them: as facts, and as the question that the compatibility engine is asked."""

from __future__ import annotations

from dataclasses import dataclass

from compat import Case
from compat.tables import GpuModel
from compat.versions import DriverVersion


@dataclass(frozen=True, slots=True)
class NodeGpus:
    """The GPUs of one node, and what drives them."""

    model: GpuModel
    count: int
    driver: DriverVersion
    container_toolkit: str


@dataclass(frozen=True, slots=True)
class Variant:
    """Nodes of one pool that are alike in every fact.

    `name` is the pool's; where the nodes differ from the rest of their pool they are part of it: `gtx1080ti (n07)`.
    """

    name: str
    pool: str
    node_names: tuple[str, ...]
    gpus: NodeGpus | None  # None: nodes without GPUs


@dataclass(frozen=True, slots=True)
class PoolGpus:
    """Nodes alike as the compatibility engine takes them.

    Assumed: what of it nobody has looked at, by field of the case. Pool: of which they are a part; empty: they are it.
    """

    case: Case
    assumed: frozenset[str] = frozenset()
    pool: str = ""
