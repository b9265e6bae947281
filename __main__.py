"""The program: settings → components → exports. No decision is made here."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pulumi

import wiring
from components.gpu_image import GpuImage
from components.own_outputs import own_output, own_output_now
from components.settling import settled
from components.stack_record import StackRecord
from imaging.spec.problems import SpecError
from platforms.aws.registries import EcrRegistry
from settings.cluster import Cluster
from settings.instance_table import instance_pools, quota_lines
from settings.reading import SettingsError, Stack, from_pulumi
from settings.sdks import missing_sdk

if TYPE_CHECKING:
    from components.on_docker.docker_gpu_container_args import DockerGpuContainerArgs

# The engine's language host exits quietly on this code; any other prints a second error line.
ALREADY_SAID = 32


def deploy(stack: Stack) -> None:
    """Register every resource in the stack's settings."""
    StackRecord("stack-file", wiring.record_args(stack))
    account = aws_account(stack.cluster) if stack.cluster else None
    repositories = deploy_repositories(stack, account) if account else {}
    images: dict[str, GpuImage] = {}
    deployed = own_output("image_sizes")
    for name, parent in wiring.images_in_order(stack):
        base = images[parent].ref if parent else None
        pushed_to = pulumi.ResourceOptions(depends_on=[each for each in [repositories.get(name)] if each])
        images[name] = GpuImage(name, wiring.image_args(stack, name, base, deployed), pushed_to)
    refs = {name: image.ref for name, image in images.items()}
    pulumi.export("images", refs)
    pulumi.export("image_sizes", {name: image.sizes for name, image in images.items()})
    made = deploy_instances(stack, stack.cluster, account) if stack.cluster and account else None
    if wiring.partitions(stack):
        deploy_to_slurm(stack, refs)
    elif wiring.hosts(stack):
        deploy_to_hosts(stack, refs)
    elif made or wiring.managed_pools(stack) or stack.hubs or stack.jobs:
        deploy_to_cluster(stack, refs, made)


@dataclass(frozen=True, slots=True)
class Made:
    """A cluster made by this stack and the instance groups that joined it."""

    kubeconfig: pulumi.Output[str]
    groups: list[pulumi.Resource]


def aws_account(cluster: Cluster) -> pulumi.ResourceOptions:
    """AWS credentials and region. Only stacks with an EKS cluster import the AWS SDK."""
    import pulumi_aws as aws  # noqa: PLC0415

    return pulumi.ResourceOptions(providers=[aws.Provider("aws", region=cluster.region)])


def deploy_repositories(stack: Stack, account: pulumi.ResourceOptions) -> dict[str, pulumi.Resource]:
    """One repository per image if the site's registry is ECR, which creates none by itself."""
    from components.on_aws.ecr_repository import EcrRepository  # noqa: PLC0415

    registry = EcrRegistry.read(stack.site.registry)
    names = [name for name, _ in wiring.images_in_order(stack)] if registry else []
    return {
        name: EcrRepository(name, wiring.repository_args(stack, registry, name), account) for name in names if registry
    }


def deploy_instances(stack: Stack, cluster: Cluster, account: pulumi.ResourceOptions) -> Made:
    """An EKS cluster with its instance pools."""
    from components.on_aws.eks_gpu_cluster import EksGpuCluster  # noqa: PLC0415
    from components.on_aws.eks_gpu_node_group import EksGpuNodeGroup  # noqa: PLC0415
    from components.on_aws.existing_eks_cluster import ExistingEksCluster  # noqa: PLC0415
    from components.on_aws.flatcar_gpu_node_group import FlatcarGpuNodeGroup  # noqa: PLC0415
    from components.on_aws.offered_zones import OfferedZones  # noqa: PLC0415

    for line in quota_lines(stack):
        pulumi.log.info(line)  # before anything is created: new accounts often have a quota of 0
    eks = (
        ExistingEksCluster("cluster", wiring.existing_cluster_args(cluster), account)
        if cluster.existing
        else EksGpuCluster("cluster", wiring.cluster_args(stack, cluster), account)
    )
    pools = instance_pools(stack)
    offered = OfferedZones(
        cluster.region, [name for pool in pools for name in pool.instance_types], pulumi.InvokeOptions(parent=eks)
    )
    groups: dict[str, EksGpuNodeGroup | FlatcarGpuNodeGroup] = {}
    for pool in pools:
        subnets = offered.subnets_of(pool.name, pool.instance_types, eks.subnet_ids, eks.zones)
        groups[pool.name] = (
            FlatcarGpuNodeGroup(pool.name, wiring.flatcar_group_args(stack, pool, cluster, eks, subnets), account)
            if pool.flatcar
            else EksGpuNodeGroup(pool.name, wiring.node_group_args(pool, cluster, eks, subnets), account)
        )
    pulumi.export("cluster", eks.cluster_name)
    pulumi.export("kubeconfig", eks.kubeconfig)
    pulumi.export("machine_images", {name: group.chosen_image for name, group in groups.items()})
    return Made(eks.kubeconfig, list(groups.values()))


def deploy_to_cluster(stack: Stack, refs: dict[str, pulumi.Output[str]], made: Made | None) -> None:
    """Everything on a Kubernetes cluster. The SDK imports slowly: image-only stacks skip it."""
    import pulumi_kubernetes as kubernetes  # noqa: PLC0415

    from components.on_kubernetes.gpu_job import GpuJob  # noqa: PLC0415
    from components.on_kubernetes.gpu_node_pool import GpuNodePool  # noqa: PLC0415
    from components.on_kubernetes.kubernetes_object import KubernetesObject  # noqa: PLC0415
    from components.on_kubernetes.notebook_hub import NotebookHub  # noqa: PLC0415
    from components.on_kubernetes.nvidia_runtime import NvidiaRuntime  # noqa: PLC0415
    from components.on_kubernetes.pre_puller import PrePuller  # noqa: PLC0415

    cluster = kubernetes.Provider(
        "cluster",
        kubeconfig=stack.site.kubeconfig or (made.kubeconfig if made else None),
        context=stack.site.kube_context,
        cluster_identifier=stack.site.name or "cluster",  # otherwise every new certificate would replace everything
    )
    on_cluster = pulumi.ResourceOptions(providers=[cluster])
    pools = {
        pool.name: GpuNodePool(pool.name, wiring.pool_args(pool), on_cluster) for pool in wiring.managed_pools(stack)
    }
    nodes = [*pools.values(), *(made.groups if made else ())]
    on_nodes = pulumi.ResourceOptions(providers=[cluster], depends_on=nodes)
    runtime_args = wiring.runtime_args(stack)
    runtime = [NvidiaRuntime("nvidia", runtime_args, on_nodes)] if runtime_args else []
    on_runtime = pulumi.ResourceOptions(providers=[cluster], depends_on=[*nodes, *runtime])
    hubs = {hub.name: NotebookHub(hub.name, wiring.hub_args(stack, hub, refs), on_runtime) for hub in stack.hubs}
    for hub in stack.hubs:
        pullers = wiring.pre_puller_args(stack, hub, refs, hubs[hub.name].namespace)
        for name, args in pullers.items():
            PrePuller(name, args, on_cluster)
    namespaces = {
        name: KubernetesObject(
            "Namespace", name, {"metadata": {"name": name}}, pulumi.ResourceOptions(provider=cluster)
        )
        for name in sorted({job.namespace for job in stack.jobs})
    }
    for job in stack.jobs:
        GpuJob(job.name, wiring.job_args(stack, job, refs, namespaces[job.namespace].metadata["name"]), on_runtime)
    if pools:
        pulumi.export("gpus", pulumi.Output.all(*[pool.gpus for pool in pools.values()]).apply(sum))
        pulumi.export("nodes", {name: pool.node_names for name, pool in pools.items()})
        pulumi.export("drifted_nodes", {name: pool.drifted_nodes for name, pool in pools.items()})
    pulumi.export("hubs", {name: hub.url for name, hub in hubs.items()})


def deploy_to_hosts(stack: Stack, refs: dict[str, pulumi.Output[str]]) -> None:
    """Containers and jobs on Docker hosts. Only such stacks import the Docker SDK."""
    import pulumi_docker as docker  # noqa: PLC0415

    from components.on_docker.docker_gpu_container import DockerGpuContainer  # noqa: PLC0415
    from components.on_docker.docker_host import DockerHost  # noqa: PLC0415
    from components.on_docker.docker_hub import DockerHub  # noqa: PLC0415

    hubs: dict[str, DockerHub] = {}
    found: dict[str, DockerHost] = {}
    logs: dict[str, pulumi.Output[str | None]] = {}
    cards: dict[str, dict[str, list[int]]] = {}
    for pool in wiring.hosts(stack):
        engine = docker.Provider(pool.name, host=stack.engine(pool), cert_path=pool.certificates)
        on_engine = pulumi.ResourceOptions(providers=[engine])
        host = found[pool.name] = DockerHost(pool.name, wiring.host_args(stack, pool), on_engine)
        granted = host.grant(wiring.card_requests(stack, pool))
        made: dict[str, DockerGpuContainer] = {}
        cards[pool.name] = {name: [card.index for card in each.cards] for name, each in granted.items()}
        for workload in wiring.on_host(stack, pool):
            grant = granted.get(workload.name)
            args = wiring.container_args(stack, workload, refs, pool, grant)
            args |= {"network": host.network, "card_networks": host.networks_of(grant)}
            first = [made[name] for name in grant.after] if grant else []
            after = pulumi.ResourceOptions(providers=[engine], depends_on=first)
            made[workload.name] = DockerGpuContainer(workload.name, cast("DockerGpuContainerArgs", args), after)
        networks = host.networks_of_cards()
        for hub in wiring.hubs_on(stack, pool):
            hubs[hub.name] = DockerHub(hub.name, wiring.docker_hub_args(stack, hub, refs, pool, networks), on_engine)
        logs |= {each.name: made[each.name].log for each in wiring.on_host(stack, pool) if wiring.ends(each)}
    pulumi.export("hosts", {name: host.facts for name, host in found.items()})
    pulumi.export("cards", cards)
    pulumi.export("hubs", {name: hub.url for name, hub in hubs.items()})
    pulumi.export("ports", wiring.published(stack))
    pulumi.export("logs", logs)


def deploy_to_slurm(stack: Stack, refs: dict[str, pulumi.Output[str]]) -> None:
    """Jobs and hubs on a Slurm cluster, with their image files."""
    from components.on_slurm.sif_image import SifImage  # noqa: PLC0415
    from components.on_slurm.slurm_gpu_job import SlurmGpuJob  # noqa: PLC0415
    from components.on_slurm.slurm_hub import SlurmHub  # noqa: PLC0415
    from components.on_slurm.slurm_site import SlurmSite  # noqa: PLC0415

    site = SlurmSite("slurm", wiring.slurm_site_args(stack))
    files = {name: SifImage(name, wiring.sif_args(stack, name, refs)) for name in wiring.images_on_slurm(stack)}
    jobs = {
        job.name: SlurmGpuJob(job.name, wiring.slurm_job_args(stack, job, refs, files[job.image].path))
        for job in stack.jobs
    }
    paths = {name: file.path for name, file in files.items()}
    made = pulumi.ResourceOptions(depends_on=[*files.values()])
    hubs = {hub.name: SlurmHub(hub.name, wiring.slurm_hub_args(stack, hub, refs, paths), made) for hub in stack.hubs}
    pulumi.export("slurm", site.facts)
    pulumi.export("hubs", {name: hub.url for name, hub in hubs.items()})
    pulumi.export("image_files", {name: file.path for name, file in files.items()})
    pulumi.export("jobs", {name: {"job": job.job_id, "state": job.state} for name, job in jobs.items()})
    pulumi.export("logs", {name: job.log for name, job in jobs.items()})
    pulumi.export("shells", {name: job.shell for name, job in jobs.items()})


if __name__ == "__main__":
    try:
        if reason := wiring.require_policies():
            pulumi.log.warn(f"no policy pack proves this stack: {reason}")
        deploy(from_pulumi(lambda: own_output_now("nodes")))
        pulumi.run(settled)
    except (SettingsError, SpecError) as error:
        # The message already states the problem and its fix: a traceback would only hide it.
        pulumi.log.error(str(error))
        sys.exit(ALREADY_SAID)
    except ModuleNotFoundError as error:
        if not (problem := missing_sdk(error, pulumi.get_stack())):
            raise
        pulumi.log.error(str(problem))
        sys.exit(ALREADY_SAID)
