"""Arguments of the components of a stack, as `__main__` makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components import to_args
from components.on_docker import to_args as for_docker
from components.on_kubernetes import to_args as for_kubernetes
from settings import resolve
from settings.host_pools import HostPool
from settings.models import Hub, Job
from settings.pool import Pool
from settings.pools import NodePool
from settings.reading import Stack
from settings.record import decisions

Refs = Mapping[str, Any]


def record_args(stack: Stack) -> Any:
    return to_args.stack_record(decisions(stack))


def image_args(stack: Stack, name: str) -> Any:
    return to_args.gpu_image(name, resolve.image_build(stack, name))


def pool_args(pool: Pool) -> Any:
    assert isinstance(pool, NodePool)
    return for_kubernetes.gpu_node_pool(resolve.declared_nodes(pool))


def runtime_args(stack: Stack) -> Any:
    daemons = resolve.runtime(stack)
    return for_kubernetes.nvidia_runtime(daemons) if daemons else None


def hub_args(stack: Stack, hub: Hub, refs: Refs) -> Any:
    return for_kubernetes.notebook_hub(resolve.resolved_hub(stack, hub), refs, stack.site.core_pool)


def job_args(stack: Stack, job: Job, refs: Refs) -> Any:
    image, products = resolve.used_image(stack, job.image), resolve.claimed_products(stack, job)
    return for_kubernetes.gpu_job(job, image, refs[job.image], job.namespace, products)


def docker_hub_args(stack: Stack, hub: Hub, refs: Refs, host: HostPool, networks: Sequence[Any]) -> Any:
    return for_docker.docker_hub(resolve.resolved_hub(stack, hub), refs, resolve.resolved_host(stack, host), networks)
