"""The steps of `make up`, in order, and its teardown. Each can run alone and again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from lab import bases, certificates, control_plane, engine, fleet, orphans, processes, site, slurm_stack
from lab.instance import Instance, LabError, check_ports, stored_instance
from lab.machine import builder, docker_host, network, node, sif_runtime, slurm_cluster, stand_in_gpus
from lab.servers import buildkit, docker, moto, registry, slurmctld, slurmd, slurmdbd, sshd
from lab.toolchain import Report, Toolchain
from settings.host_pools import HostPool
from settings.instance_table import instance_pools
from settings.reading import SettingsError, Stack, load_stack
from settings.resolve import driver_containers
from settings.sdks import EXTRAS


class Nodes(Enum):
    """Which machines of the fleet are more than an entry in the API server."""

    ONE_REAL = "one real"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class Context:
    """The inputs of a step."""

    instance: Instance
    tools: Toolchain
    stack_file: Path
    nodes: Nodes
    report: Report
    _read: dict[str, Stack] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # by the overlay's text

    def stack(self) -> Stack:
        """The stack as it will be deployed here; its mistakes are reported before anything starts.

        Read once, and again after a step has changed the overlay: every step sees the same stack.
        """
        overlay = site.path(self.instance)
        text = overlay.read_text(encoding="utf-8") if overlay.exists() else ""
        if text not in self._read:
            self._read[text] = read_stack(self.stack_file, overlay if text else None)
        return self._read[text]

    def has_cluster(self) -> bool:
        """Whether this lab has a cluster or its stack needs one."""
        return needs_cluster(self.stack()) or self.instance.kubeconfig.exists()  # the stack first: it may have mistakes

    def real_node(self) -> node.RealNode | None:
        """The first node of `fleet.carrying_pool`; None if all are simulated."""
        stack = self.stack()
        if self.nodes is Nodes.SIMULATED or not stack.fleet.pools:
            return None
        pool = fleet.carrying_pool(stack)
        has_driver = pool.name in {each.pool for each in driver_containers(stack)}
        name = pool.node_names[0]
        gpus = next(each.gpus for each in pool.variants() if name in each.node_names)
        kept = [hub.storage for hub in stack.hubs]
        classes = {each.storage_class: None for storage in kept for each in (storage.homes, storage.database)}
        return node.RealNode(
            name,
            stand_in_gpus.played(gpus, name) if gpus else None,
            has_driver,
            storage_classes=tuple(filter(None, classes)),
            has_default_class=stack.site.kind == "eks",
            exports=tuple(storage.homes.nfs for storage in kept if storage.homes.nfs),
        )

    def host_gpus(self) -> stand_in_gpus.StandInGpus | None:
        """The GPUs of the one engine for all Docker hosts: those of the host that has the most."""
        hosts = [pool for pool in self.stack().fleet.pools if isinstance(pool, HostPool) and pool.gpus_of_node]
        most = max(hosts, key=lambda pool: pool.gpus_per_node, default=None)
        return (
            stand_in_gpus.played(most.gpus_of_node, most.name, most.gpu_uuids) if most and most.gpus_of_node else None
        )


def read_stack(stack_file: Path, overlay: Path | None = None) -> Stack:
    """The stack. Raises LabError with all mistakes in its file."""
    try:
        return load_stack(stack_file, site=overlay)
    except SettingsError as error:
        raise LabError(str(error)) from error


def needs_cluster(stack: Stack) -> bool:
    """Whether a stack has more than images, and neither a Docker host nor a Slurm to run it."""
    return stack.site.kind not in {"docker", "slurm"} and bool(stack.fleet.pools or stack.hubs or stack.jobs)


def plugins_of(stack: Stack) -> frozenset[str]:
    """Provider plugins of the stack, besides that of images."""
    return (engine.CLUSTER if needs_cluster(stack) else frozenset()) | {*EXTRAS.get(stack.site.kind, ())}


def _registry(context: Context) -> None:
    if not _is_lent(context.instance, "registry"):
        processes.start(context.instance, registry.server(context.instance, context.tools))


def _builder(context: Context) -> None:
    if _is_lent(context.instance, buildkit.NAME):
        buildkit.write_docker_config(context.instance)
    else:
        processes.start(context.instance, buildkit.server(context.instance, context.tools))


def _is_lent(instance: Instance, server: str) -> bool:
    """Whether another lab lends that server. Raises LabError if it does and the server does not run there."""
    lender = stored_instance(instance.lender) if instance.lender else None
    if instance.lender and (lender is None or not processes.is_running(lender, server)):
        raise LabError(
            f"this lab uses the {server} of the lab in {instance.lender}, which does not run: start that first"
        )
    return lender is not None


def _bases(context: Context) -> None:
    stack = context.stack()
    drivers = [each.written for each in driver_containers(stack)] if context.has_cluster() else None
    substitutes = bases.ensure(context.instance, context.tools, context.report, drivers=drivers)
    # Only for instances: a site knows which of its own machines its hub is on.
    moves = bool(context.real_node() and stack.site.core_pool and instance_pools(stack))
    core_pool = fleet.carrying_pool(stack).name if moves else None
    hosts = [pool.name for pool in stack.fleet.pools if isinstance(pool, HostPool)]
    slurm = slurm_stack.access(context.instance, stack) if stack.site.kind == "slurm" else None
    site.write(context.instance, substitutes, core_pool=core_pool, hosts=hosts, slurm=slurm)
    if substitutes:
        context.report(f"{len(substitutes)} images and package sources cannot be reached; substitutes replace them")


def _control_plane(context: Context) -> None:
    real = context.real_node()
    network.claim(context.instance)
    control_plane.start(context.instance, context.tools, real_node=real.name if real else None)


def _aws(context: Context) -> None:
    """Every cluster that a stack creates there has this lab's API server as its endpoint."""
    endpoint = f"https://127.0.0.1:{context.instance.ports['apiserver']}"
    authority = certificates.authority(context.instance)
    processes.start(
        context.instance, moto.server(context.instance, cluster_endpoint=endpoint, cluster_authority=authority)
    )
    stack = context.stack()
    kept = {name for pool in instance_pools(stack) for name in (pool.flatcar.key_parameters if pool.flatcar else ())}
    if stack.cluster:
        moto.keep_keys(context.instance, sorted(kept), stack.cluster.region)


def _docker(context: Context) -> None:
    docker_host.start(context.instance, context.tools, context.report, context.host_gpus())


def _slurm(context: Context) -> None:
    context.tools.ensure_one(sif_runtime.NAME, context.report)
    slurm_cluster.start(context.instance, context.tools, slurm_stack.cluster(context.stack()), context.report)


def _real_node(context: Context) -> None:
    if real := context.real_node():
        node.start(context.instance, context.tools, real, context.report)


def _fleet(context: Context) -> None:
    stack, real = context.stack(), context.real_node()
    if stack.fleet.pools:
        fleet.join(context.instance, stack.fleet, real.name if real else None)
    if real:
        node.settle(context.instance, real.name)


STEPS: dict[str, tuple[str, Callable[[Context], None]]] = {
    "registry": ("image registry", _registry),
    "builder": ("BuildKit", _builder),
    "control-plane": ("Kubernetes control plane", _control_plane),
    "aws": ("AWS, played by moto", _aws),
    "docker": ("Docker engine", _docker),
    "slurm": ("Slurm", _slurm),
    "bases": ("lab base images", _bases),
    "real-node": ("the real node", _real_node),
    "fleet": ("the fleet's machines", _fleet),
}
NAMES = tuple(STEPS)
OF_CLUSTERS = ("control-plane", "aws", "real-node", "fleet")
OF_SITES = {"aws": "eks", "docker": "docker", "slurm": "slurm"}  # step → the only kind of site that needs it
OF_EVERY_LAB = frozenset({"registry", buildkit.NAME})
OF_NO_CLUSTER = OF_EVERY_LAB | {moto.NAME, docker.NAME} | slurm_cluster.NAMES
PORTS_OF_SLURM = frozenset({slurmctld.NAME, slurmdbd.NAME, sshd.NAME})


def start(instance: Instance, tools: Toolchain, stack_file: Path, nodes: Nodes, report: Report) -> None:
    """Install the tools and run every step; cluster steps only if the stack has something for one.

    Raises LabError with the command that repeats the failed step at its end.
    """
    site.forget_stack(instance)
    context = Context(instance, tools, stack_file, nodes, report)
    has_cluster = context.has_cluster()  # a mistake in the stack file shows before anything is installed or started
    if has_cluster and context.real_node():
        node.refuse_second(instance)  # before tools are built and servers started
    kind = context.stack().site.kind
    is_on_aws = kind == "eks"
    needless = {name for name, of_kind in OF_SITES.items() if kind != of_kind}
    also = engine.to_build(instance, plugins_of(context.stack()))
    tools.ensure(report, for_clusters=has_cluster, for_docker=kind == "docker", for_slurm=kind == "slurm", also=also)
    started = running(instance)
    taken = ports_to_take(started, instance.ports, has_cluster=has_cluster, is_on_aws=is_on_aws, kind=kind)
    check_ports(instance, [name for name in taken if name != "registry" or not instance.lender])
    for name in STEPS:
        if (has_cluster or name not in OF_CLUSTERS) and name not in needless:
            _run(context, name)


def start_images(instance: Instance, tools: Toolchain) -> None:
    """Only registry and BuildKit: what a lab lends to others."""
    if not processes.is_running(instance, "registry"):
        check_ports(instance, ["registry"])
    processes.start(instance, registry.server(instance, tools))
    processes.start(instance, buildkit.server(instance, tools))


def stop_images(instance: Instance, *, keep: Collection[str] = ()) -> None:
    """End both, except those to `keep`."""
    if buildkit.NAME not in keep:
        builder.end(instance)
    if "registry" not in keep:
        processes.stop(instance, "registry")


def running(instance: Instance) -> frozenset[str]:
    """Servers of the lab that were started and not stopped, including any that have died."""
    return frozenset(record.name for record in processes.records(instance))


def ports_to_take(
    running: Collection[str],
    ports: Iterable[str],
    *,
    has_cluster: bool,
    is_on_aws: bool = False,
    kind: str = "kubernetes",
) -> tuple[str, ...]:
    """Ports of servers that a start will start: a running server has its own."""
    alone = {"registry"} | ({moto.NAME} if is_on_aws else set())  # one port for one server
    alone |= PORTS_OF_SLURM if kind == "slurm" else set()
    has_its_cluster = any(name not in OF_NO_CLUSTER and not name.startswith(slurmd.PREFIX) for name in running)
    of_cluster = {*ports} - {"registry", moto.NAME} - PORTS_OF_SLURM
    taken = alone - {*running} | (set() if has_its_cluster or not has_cluster else of_cluster)
    return tuple(name for name in ports if name in taken)


def one(instance: Instance, tools: Toolchain, stack_file: Path, name: str, report: Report) -> None:
    """Run one step alone."""
    _run(Context(instance, tools, stack_file, Nodes.ONE_REAL, report), name)


def _run(context: Context, name: str) -> None:
    what, step = STEPS[name]
    context.report(f"{what} …")
    try:
        step(context)
    except LabError as error:
        again = f"python -m lab --instance {context.instance.name} step {name} --stack {_stack_name(context)}"
        raise LabError(f"{what}: {error}\nlogs: {context.instance.logs}\nthis step alone: {again}") from error


def _stack_name(context: Context) -> str:
    return context.stack_file.name.removeprefix("Pulumi.").removesuffix(".yaml")


def stop(instance: Instance, tools: Toolchain, report: Report, *, keep: Collection[str] = ()) -> None:
    """End everything that `start` started, in reverse, but servers to `keep`; safe to repeat, also after a crash."""
    orphans.end(instance)
    report("the real node …")
    docker_host.end(instance)
    slurm_cluster.end(instance)
    node.stop(instance, tools)
    report("servers …")
    control_plane.stop(instance)
    stop_images(instance, keep=keep)
    for record in processes.records(instance):  # servers of an older version of the lab
        if record.name not in keep:
            processes.stop(instance, record.name)
    network.release(instance)
    report(f"everything has stopped but {', '.join(sorted(keep))}" if keep else "everything has stopped")


def is_up(instance: Instance) -> bool:
    """Whether the servers that every stack needs run."""
    return all(processes.is_running(instance, name) for name in ("registry", buildkit.NAME, *control_plane.SERVERS))
