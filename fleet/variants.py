"""Nodes of a pool with the same facts. Who asks what a pool's nodes have gets it from `Pool.variants` alone."""

from __future__ import annotations

from dataclasses import dataclass

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
