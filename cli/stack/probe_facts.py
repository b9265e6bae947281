"""Compares files of `gpu-commons probe --json` with the pools of a stack file."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.probe.differences import Compared, compare, compared_data, compared_text, is_fine
from cli.probe.script import Probed
from cli.terminal import InputError
from cli.words import Paint
from compat.evidence.names.gpu_names import UnknownGpu, find_gpu
from errors.problems import listing, nearest
from settings.partition_pools import PartitionPool
from settings.pool import Pool
from settings.reading import Stack


@dataclass(frozen=True, slots=True)
class ProbedPool:
    """One host and its pool. Readings keep their day."""

    pool: str
    probed: Probed
    rows: tuple[Compared, ...]

    @property
    def is_fine(self) -> bool:
        """The host has what the pool states."""
        return is_fine(self.rows)


def probed_pools(stack: Stack, arguments: Sequence[str]) -> tuple[ProbedPool, ...]:
    """Compare each `[POOL=]FILE`. Raises InputError for a file that is no probe's or belongs to no pool."""
    return tuple(_compared(stack, each) for each in arguments)


def probed_text(hosts: Sequence[ProbedPool], paint: Paint) -> str:
    """An empty line, then the comparisons."""
    return (
        "".join(["\n", *(compared_text(each.pool, each.probed, each.rows, paint) for each in hosts)]) if hosts else ""
    )


def probed_data(stack: str, hosts: Sequence[ProbedPool]) -> list[dict[str, Any]]:
    """For programs: as `gpu-commons probe --pool --json` prints it."""
    return [compared_data(stack, each.pool, each.probed, each.rows) for each in hosts]


def _compared(stack: Stack, argument: str) -> ProbedPool:
    name, equals, path = argument.partition("=")
    if not equals:
        name, path = "", argument
    data = _read(Path(path))
    wanted = name or str(data.get("compared_with") or "")
    probed = Probed(data["pool"], data["host"])
    slurm = stack.site.slurm
    try:
        pool = _named(stack, wanted) if wanted else _fitting(stack, probed, path)
        rows = tuple(compare(probed, pool, slurm.program_version if slurm else None))
    except (KeyError, TypeError, IndexError, AttributeError):
        raise InputError(f"{path} lacks facts that this version compares: probe the host again") from None
    return ProbedPool(pool.name, probed, rows)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        data = None
    is_ours = isinstance(data, dict) and all(isinstance(data.get(key), dict) for key in ("pool", "host"))
    if data is None or not is_ours:
        raise InputError(f"{path} is not the output of gpu-commons probe --json: save that in a file")
    return dict(data)


def _named(stack: Stack, name: str) -> Pool:
    pools = {each.name: each for each in stack.fleet.pools}
    if name not in pools:
        raise InputError(f'there is no pool "{name}"; {nearest(name, pools, what="pool")}')
    return pools[name]


def _fitting(stack: Stack, probed: Probed, path: str) -> Pool:
    """The only pool the host can belong to: by its name or its pool label, or by partition and GPU."""
    pools = [*_by_node(stack, probed)] or [*_by_partition(stack, probed)]
    if len(pools) == 1:
        return pools[0]
    which = listing([each.name for each in pools or stack.fleet.pools])
    raise InputError(f"{path}: {probed.name} may belong to pool {which}; say which: --probed POOL={path}")


def _by_node(stack: Stack, probed: Probed) -> Iterator[Pool]:
    cluster = probed.host.get("kubernetes")
    label = cluster.get("pool") if isinstance(cluster, dict) else None
    for pool in stack.fleet.pools:
        if pool.name == label or probed.name in {name.partition(".")[0] for name in pool.node_names}:
            yield pool


def _by_partition(stack: Stack, probed: Probed) -> Iterator[Pool]:
    where = probed.host["slurm"]
    partition = where.get("partition") if isinstance(where, dict) else None
    gpu = probed.pool.get("gpu")
    try:
        model = find_gpu(gpu).name if isinstance(gpu, str) else None
    except UnknownGpu:
        model = None
    for pool in stack.fleet.pools:
        if isinstance(pool, PartitionPool) and pool.partition == partition:
            gpus = pool.gpus_of_node
            if model is None or (gpus and gpus.model.name == model):
                yield pool
