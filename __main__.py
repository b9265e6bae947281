"""The program: settings → components → exports. No decision is made here."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from components import to_args
from components.gpu_image import GpuImage
from components.on_aws import to_args as for_aws
from components.on_docker import to_args as for_docker
from components.on_kubernetes import to_args as for_kubernetes
from components.on_slurm import to_args as for_slurm
from components.own_outputs import own_output, own_output_now
from components.settling import settled
from components.stack_record import StackRecord
from errors.problems import Problem
from imaging.spec.problems import SpecError
from platforms.aws.registries import EcrRegistry
from settings import resolve
from settings.instance_table import instance_pools, quota_lines
from settings.models import Cluster
from settings.reading import SettingsError, Stack, from_pulumi
from settings.record import decisions
from settings.sdks import missing_sdk

Outputs = dict[str, pulumi.Output[str]]

PACK = "PULUMI_OPTION_POLICY_PACK"
NO_PACK = "GPU_COMMONS_WITHOUT_POLICIES"
# The engine's language host exits quietly on this code; any other prints a second error line.
ALREADY_SAID = 32


def require_policies(environment: Mapping[str, str] = os.environ) -> str | None:
    """The stated reason for running without the policy pack, or None if a pack is set.

    Raises SettingsError if neither is set: otherwise nobody would notice the missing checks.
    """
    if environment.get(PACK):
        return None
    if reason := environment.get(NO_PACK, "").strip():
        return reason
    raise SettingsError(
        [
            Problem(
                path=PACK,
                value="",
                reason="is not set: nothing would prove that this stack can run",
                fix=f'eval "$(make -s env)" sets it; to go without, give a reason: {NO_PACK}="…"',
            )
        ]
    )


def deploy(stack: Stack) -> None:
    """Register every resource in the stack's settings."""
    StackRecord("stack-file", to_args.stack_record(decisions(stack)))
    account = aws_account(stack.cluster) if stack.cluster else None
    repositories = deploy_repositories(stack, account) if account else {}
    images: dict[str, GpuImage] = {}
    deployed = own_output("image_sizes")
    for name, parent in resolve.images_in_order(stack):
        base = images[parent].ref if parent else None
        args = to_args.gpu_image(name, resolve.image_build(stack, name), base, deployed)
        pushed_to = pulumi.ResourceOptions(depends_on=[each for each in [repositories.get(name)] if each])
        images[name] = GpuImage(name, args, pushed_to)
    refs = {name: image.ref for name, image in images.items()}
    pulumi.export("images", refs)
    pulumi.export("image_sizes", {name: image.sizes for name, image in images.items()})
    made = deploy_instances(stack, stack.cluster, account) if stack.cluster and account else None
    if resolve.partitions(stack):
        deploy_to_slurm(stack, refs)
    elif resolve.hosts(stack):
        deploy_to_hosts(stack, refs)
    elif made or resolve.managed_pools(stack) or stack.hubs or stack.jobs:
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
    names = [name for name, _ in resolve.images_in_order(stack)] if registry else []
    return {
        name: EcrRepository(name, for_aws.ecr_repository(registry, name, stack.site.name), account)
        for name in names
        if registry
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
    name = cluster.existing or stack.site.name or "cluster"
    eks = (
        ExistingEksCluster("cluster", for_aws.existing_eks_cluster(name, cluster), account)
        if cluster.existing
        else EksGpuCluster("cluster", for_aws.eks_gpu_cluster(name, cluster), account)
    )
    joined = for_aws.Joined(name, cluster, eks)
    pools = instance_pools(stack)
    offered = OfferedZones(
        cluster.region, [name for pool in pools for name in pool.instance_types], pulumi.InvokeOptions(parent=eks)
    )
    groups: dict[str, EksGpuNodeGroup | FlatcarGpuNodeGroup] = {}
    for pool in pools:
        subnets = offered.subnets_of(pool.name, pool.instance_types, eks.subnet_ids, eks.zones)
        groups[pool.name] = (
            FlatcarGpuNodeGroup(pool.name, for_aws.flatcar_gpu_node_group(pool.name, pool, joined, subnets), account)
            if pool.flatcar
            else EksGpuNodeGroup(pool.name, for_aws.eks_gpu_node_group(pool.name, pool, joined, subnets), account)
        )
    pulumi.export("cluster", eks.cluster_name)
    pulumi.export("kubeconfig", eks.kubeconfig)
    pulumi.export("machine_images", {name: group.chosen_image for name, group in groups.items()})
    return Made(eks.kubeconfig, list(groups.values()))


def deploy_to_cluster(stack: Stack, refs: Outputs, made: Made | None) -> None:
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
        pool.name: GpuNodePool(pool.name, for_kubernetes.gpu_node_pool(resolve.declared_nodes(pool)), on_cluster)
        for pool in resolve.managed_pools(stack)
    }
    nodes = [*pools.values(), *(made.groups if made else ())]
    on_nodes = pulumi.ResourceOptions(providers=[cluster], depends_on=nodes)
    daemons = resolve.runtime(stack)
    runtime = [NvidiaRuntime("nvidia", for_kubernetes.nvidia_runtime(daemons), on_nodes)] if daemons else []
    on_runtime = pulumi.ResourceOptions(providers=[cluster], depends_on=[*nodes, *runtime])
    hubs: dict[str, NotebookHub] = {}
    for hub in stack.hubs:
        args = for_kubernetes.notebook_hub(resolve.resolved_hub(stack, hub), refs, stack.site.core_pool)
        hubs[hub.name] = NotebookHub(hub.name, args, on_runtime)
    for hub in stack.hubs:
        for pool, images in resolve.pre_pulled(stack, hub).items():
            pulled = {image: refs[image] for image in images}
            namespace = hubs[hub.name].namespace
            PrePuller(f"{hub.name}-{pool}", {"namespace": namespace, "pool": pool, "images": pulled}, on_cluster)
    namespaces = {
        name: KubernetesObject(
            "Namespace", name, {"metadata": {"name": name}}, pulumi.ResourceOptions(provider=cluster)
        )
        for name in sorted({job.namespace for job in stack.jobs})
    }
    for job in stack.jobs:
        image, products = resolve.used_image(stack, job.image), resolve.claimed_products(stack, job)
        namespace = namespaces[job.namespace].metadata["name"]
        GpuJob(job.name, for_kubernetes.gpu_job(job, image, refs[job.image], namespace, products), on_runtime)
    if pools:
        pulumi.export("gpus", pulumi.Output.all(*[pool.gpus for pool in pools.values()]).apply(sum))
        pulumi.export("nodes", {name: pool.node_names for name, pool in pools.items()})
        pulumi.export("drifted_nodes", {name: pool.drifted_nodes for name, pool in pools.items()})
    pulumi.export("hubs", {name: hub.url for name, hub in hubs.items()})


def deploy_to_hosts(stack: Stack, refs: Outputs) -> None:
    """Containers and jobs on Docker hosts. Only such stacks import the Docker SDK."""
    import pulumi_docker as docker  # noqa: PLC0415

    from components.on_docker.docker_gpu_container import DockerGpuContainer  # noqa: PLC0415
    from components.on_docker.docker_host import DockerHost  # noqa: PLC0415
    from components.on_docker.docker_hub import DockerHub  # noqa: PLC0415

    hubs: dict[str, DockerHub] = {}
    found: dict[str, DockerHost] = {}
    logs: dict[str, pulumi.Output[str | None]] = {}
    cards: dict[str, dict[str, list[int]]] = {}
    for pool in resolve.hosts(stack):
        here, workloads = resolve.resolved_host(stack, pool), resolve.on_host(stack, pool)
        engine = docker.Provider(pool.name, host=here.engine, cert_path=pool.certificates)
        on_engine = pulumi.ResourceOptions(providers=[engine])
        host = found[pool.name] = DockerHost(pool.name, for_docker.docker_host(here), on_engine)
        granted = host.grant(resolve.card_requests(stack, pool))
        made: dict[str, DockerGpuContainer] = {}
        cards[pool.name] = {name: [card.index for card in each.cards] for name, each in granted.items()}
        for each in workloads:
            grant, image = granted.get(each.name), resolve.used_image(stack, each.image)
            args = for_docker.docker_gpu_container(each, image, refs[each.image], here, grant)
            args |= {"network": host.network, "card_networks": host.networks_of(grant)}
            first = [made[name] for name in grant.after] if grant else []
            after = pulumi.ResourceOptions(providers=[engine], depends_on=first)
            made[each.name] = DockerGpuContainer(each.name, args, after)
        networks = host.networks_of_cards()
        for hub in resolve.hubs_on(stack, pool):
            hub_args = for_docker.docker_hub(resolve.resolved_hub(stack, hub), refs, here, networks)
            hubs[hub.name] = DockerHub(hub.name, hub_args, on_engine)
        logs |= {each.name: made[each.name].log for each in workloads if resolve.ends(each)}
    pulumi.export("hosts", {name: host.facts for name, host in found.items()})
    pulumi.export("cards", cards)
    pulumi.export("hubs", {name: hub.url for name, hub in hubs.items()})
    pulumi.export("ports", resolve.published(stack))
    pulumi.export("logs", logs)


def deploy_to_slurm(stack: Stack, refs: Outputs) -> None:
    """Jobs and hubs on a Slurm cluster, with their image files."""
    from components.on_slurm.sif_image import SifImage  # noqa: PLC0415
    from components.on_slurm.slurm_gpu_job import SlurmGpuJob  # noqa: PLC0415
    from components.on_slurm.slurm_hub import SlurmHub  # noqa: PLC0415
    from components.on_slurm.slurm_site import SlurmSite  # noqa: PLC0415

    access = stack.site.slurm
    if access is None:  # refused by settings
        raise AssertionError(stack.site.kind)
    site = SlurmSite("slurm", for_slurm.slurm_site(access, resolve.declared_partitions(stack)))
    files = {
        name: SifImage(name, for_slurm.sif_image(access, name, refs[name])) for name in resolve.images_on_slurm(stack)
    }
    paths = {name: file.path for name, file in files.items()}
    place = for_slurm.Place(access, resolve.partitions(stack), refs, paths)
    jobs = {
        job.name: SlurmGpuJob(job.name, for_slurm.slurm_gpu_job(job, job.slurm, job.image, place)) for job in stack.jobs
    }
    made = pulumi.ResourceOptions(depends_on=[*files.values()])
    hubs = {
        hub.name: SlurmHub(hub.name, for_slurm.slurm_hub(resolve.resolved_hub(stack, hub), place), made)
        for hub in stack.hubs
    }
    pulumi.export("slurm", site.facts)
    pulumi.export("hubs", {name: hub.url for name, hub in hubs.items()})
    pulumi.export("image_files", paths)
    pulumi.export("jobs", {name: {"job": job.job_id, "state": job.state} for name, job in jobs.items()})
    pulumi.export("logs", {name: job.log for name, job in jobs.items()})
    pulumi.export("shells", {name: job.shell for name, job in jobs.items()})


if __name__ == "__main__":
    try:
        if reason := require_policies():
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
