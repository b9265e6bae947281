"""Asks a stack's engines or cluster who has which GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from cli.kubectl import Cluster, ClusterUnreachable, listed
from cli.terminal import InputError
from cli.top.holdings import Holding, of_cluster, of_host
from settings.host_pools import HostPool
from settings.reading import Stack
from settings.sdks import missing_sdk

_AT_ONCE = 8
_ALIVE = "status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True)
class HoldingsFound:
    """The holdings, and the hosts or clusters that did not answer, with the reason."""

    holdings: tuple[Holding, ...]
    problems: tuple[str, ...] = ()


def find_holdings(name: str, stack: Stack) -> HoldingsFound:
    """Holdings in the order of the stack file."""
    hosts = [pool for pool in stack.fleet.pools if isinstance(pool, HostPool) and pool.gpus_per_node]
    if stack.site.kind == "docker":
        return _hosts(name, stack, hosts)
    pools = {pool.name: pool.node_names for pool in stack.fleet.pools if pool.gpus}
    cluster = Cluster(stack.site.kubeconfig, stack.site.kube_context)
    try:
        nodes = listed(cluster, "/api/v1/nodes") if pools else []
        pods = listed(cluster, "/api/v1/pods", fieldSelector=_ALIVE) if pools else []
    except ClusterUnreachable as error:
        return HoldingsFound((), (f"cluster of stack {name}: {error}",))
    return HoldingsFound(tuple(of_cluster(pools, nodes, pods)))


def _hosts(name: str, stack: Stack, hosts: Sequence[HostPool]) -> HoldingsFound:
    try:
        from components.on_docker.engine import EngineUnreachable, read_engine  # noqa: PLC0415 - an SDK of an extra
    except ModuleNotFoundError as error:
        if problem := missing_sdk(error, name):
            raise InputError(str(problem)) from None
        raise

    def ask(pool: HostPool) -> list[Holding] | str:
        try:
            state = read_engine(stack.engine(pool), pool.certificates)
        except EngineUnreachable as error:
            return f"host {pool.name}: {error}"
        return [*of_host(pool.name, pool.gpus_per_node, state.holders, are_shared=pool.shared_gpus)]

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        answers = [*threads.map(ask, hosts)]
    return HoldingsFound(
        tuple(holding for each in answers if not isinstance(each, str) for holding in each),
        tuple(each for each in answers if isinstance(each, str)),
    )
