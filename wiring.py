"""Converts settings to component arguments: the only module that knows both. Reads only image specs."""

from __future__ import annotations  # types are not read at run time, so Pulumi is not imported here

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from errors.problems import Problem, SettingsError
from fleet.labels import OWN_PREFIX, gfd_product
from imaging.spec.contents import contents
from imaging.spec.load import load_family
from imaging.spec.plan import Substitute, plan_image
from platforms.aws.instance_group import InstanceGroupKeys
from platforms.aws.registries import EcrRegistry
from platforms.docker.container_model import ContainerKeys
from platforms.docker.gpu_leases import Grant, Request
from platforms.docker.hub_model import hosted
from platforms.slurm.partition_model import PartitionKeys
from settings.cluster import Cluster
from settings.driver_containers import driver_containers
from settings.fleet import landing_pools
from settings.host_pools import HostPool
from settings.instance_pools import InstancePool
from settings.models import Container, Course, Hub, Image, Job, Kernel, Profile
from settings.partition_pools import PartitionPool
from settings.pools import NodePool
from settings.reading import Stack
from settings.record import decisions
from workloads.hub import ClusterHubKeys, HubKeys
from workloads.job import DEFAULT_USER, JobKeys

if TYPE_CHECKING:
    import pulumi

    from components.gpu_image import GpuImageArgs, ImagePool
    from components.on_aws.ecr_repository import EcrRepositoryArgs
    from components.on_aws.eks_gpu_cluster import EksGpuCluster, EksGpuClusterArgs
    from components.on_aws.eks_gpu_node_group_args import EksGpuNodeGroupArgs
    from components.on_aws.existing_eks_cluster import ExistingEksCluster, ExistingEksClusterArgs
    from components.on_aws.flatcar_gpu_node_group_args import FlatcarGpuNodeGroupArgs
    from components.on_docker.docker_host import DockerHostArgs
    from components.on_docker.docker_hub_args import DockerHubArgs
    from components.on_kubernetes.gpu_job_args import GpuJobArgs
    from components.on_kubernetes.gpu_node_pool import GpuNodePoolArgs
    from components.on_kubernetes.notebook_hub_args import NotebookHubArgs
    from components.on_kubernetes.nvidia_runtime import NvidiaRuntimeArgs
    from components.on_kubernetes.pre_puller import PrePullerArgs
    from components.on_slurm.sif_image import SifImageArgs
    from components.on_slurm.slurm_gpu_job_args import SlurmGpuJobArgs
    from components.on_slurm.slurm_hub_args import SlurmHubArgs
    from components.on_slurm.slurm_site import SlurmSiteArgs
    from components.stack_record import StackRecordArgs

    Refs = Mapping[str, pulumi.Output[str]]  # image name → repository@digest

PACK = "PULUMI_OPTION_POLICY_PACK"
NO_PACK = "GPU_COMMONS_WITHOUT_POLICIES"


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


def images_in_order(stack: Stack) -> Iterator[tuple[str, str | None]]:
    """Full names of our images with their parents among them; parents first.

    Raises SettingsError if the stack lacks what their specs need: a parent, or memory.
    """
    names = [image.full_name for image in stack.images]
    specs = {image.full_name: load_family(image.name, target=image.target)[0] for image in stack.images}
    parents = {name: spec.base.image for name, spec in specs.items()}
    problems = [
        Problem(f"images[{index}].name", name, f"stands on our {parents[name]}", f"add {parents[name]} to images")
        for index, name in enumerate(names)
        if parents[name] and parents[name] not in parents
    ]
    asked = {name: spec.runtime.shm_gib for name, spec in specs.items() if spec.runtime}
    problems += _too_little_memory(stack, asked)
    if problems:
        raise SettingsError(problems)
    done: set[str] = set()
    while waiting := [name for name in names if name not in done]:
        ready = [name for name in waiting if parents[name] is None or parents[name] in done]
        for name in ready:
            done.add(name)
            yield name, parents[name]


def image_args(
    stack: Stack, name: str, base: pulumi.Output[str] | None, deployed: pulumi.Output[Mapping[str, Any]] | None = None
) -> GpuImageArgs:
    """Arguments of a GpuImage by full name. `base`: its parent's `ref`; `deployed`: the last `sizes`."""
    image = _image(stack, name)
    args: GpuImageArgs = {
        "image": image.name,
        "repository": f"{stack.site.registry}/{name}",
        "lands_on": image_pools(stack, name),
    }
    if image.target:
        args["target"] = image.target
    if deployed is not None:
        args["deployed"] = deployed.apply(lambda sizes: sizes.get(name, {}))
    if base is not None:
        args["base"] = base
    if stack.site.kind in {"docker", "slurm"}:
        args["compression"] = "gzip"  # engines before Docker 23 and old Singularity versions cannot unpack zstd
    if stack.site.builder:
        args["builder"] = stack.site.builder
    if stack.site.ca_bundle:
        args["ca_bundle"] = stack.site.ca_bundle
    if stack.site.substitutes:
        args["substitutes"] = [
            {"reference": each.reference, "with": each.replacement, "reason": each.reason}
            for each in stack.site.substitutes
        ]
    return args


def record_args(stack: Stack) -> StackRecordArgs:
    """Arguments of the StackRecord: decisions that no other resource records."""
    return cast("StackRecordArgs", decisions(stack))


def image_pools(stack: Stack, image: str) -> list[ImagePool]:
    """Pools that start the image, for profiles and jobs, in fleet order."""
    wanted = {name for each in stack.workloads if each.image == image for name in landing_pools(stack, each)}
    return [
        cast(
            "ImagePool",
            {"pool": pool.name, **pool.stated_rates, "rates_are_planned": pool.are_rates_planned},
        )
        for pool in stack.fleet.pools
        if pool.name in wanted
    ]


def managed_pools(stack: Stack) -> tuple[NodePool, ...]:
    """Node pools labelled by this stack; empty if another stack manages the fleet."""
    return () if stack.fleet.managed_by else tuple(each for each in stack.fleet.pools if isinstance(each, NodePool))


def cluster_args(stack: Stack, cluster: Cluster) -> EksGpuClusterArgs:
    """Arguments of the EksGpuCluster."""
    args: dict[str, Any] = {
        "cluster_name": stack.site.name or "cluster",
        "region": cluster.region,
        "kubernetes_version": cluster.kubernetes,
        "network": cluster.network
        and _plain(cluster.network.model_dump(exclude_defaults=True) | {"cidr": cluster.network.cidr}),
        "subnet_ids": list(cluster.subnets) or None,
        "public_access_cidrs": list(cluster.public_access) or None,
        "admins": list(cluster.admins) or None,
        "add_ons": dict(cluster.add_ons) or None,
    }
    return cast("EksGpuClusterArgs", {key: value for key, value in args.items() if value is not None})


def repository_args(stack: Stack, registry: EcrRegistry, image: str) -> EcrRepositoryArgs:
    """Arguments of the EcrRepository of an image."""
    tags = {f"{OWN_PREFIX}cluster": stack.site.name} if stack.site.name else {}
    return {"repository": registry.repository(image), "region": registry.region, "tags": tags}


def existing_cluster_args(cluster: Cluster) -> ExistingEksClusterArgs:
    """Arguments of the ExistingEksCluster."""
    return {
        "cluster_name": cluster.existing or "",
        "region": cluster.region,
        "kubernetes_version": cluster.kubernetes,
        "subnet_ids": list(cluster.subnets),
    }


def node_group_args(
    pool: InstancePool,
    cluster: Cluster,
    eks: EksGpuCluster | ExistingEksCluster,
    subnets: pulumi.Output[list[str]],
) -> EksGpuNodeGroupArgs:
    """Arguments of the EksGpuNodeGroup of a pool."""
    return cast("EksGpuNodeGroupArgs", {"cluster_name": eks.cluster_name, **_group(pool, cluster, eks, subnets)})


def flatcar_group_args(
    stack: Stack,
    pool: InstancePool,
    cluster: Cluster,
    eks: EksGpuCluster | ExistingEksCluster,
    subnets: pulumi.Output[list[str]],
) -> FlatcarGpuNodeGroupArgs:
    """Arguments of the FlatcarGpuNodeGroup of a pool: its nodes join by themselves, so need cluster data."""
    args = {
        "cluster_name": cluster.existing or stack.site.name or "cluster",
        "endpoint": eks.endpoint,
        "certificate_authority": eks.certificate_authority,
        "dns": eks.dns,
        **_group(pool, cluster, eks, subnets),
    }
    return cast("FlatcarGpuNodeGroupArgs", args)


# With both, the CNI has its own role, and nodes need none of its rights.
_CNI_OF_ITS_OWN = frozenset({"vpc-cni", "eks-pod-identity-agent"})


def _group(
    pool: InstancePool,
    cluster: Cluster,
    eks: EksGpuCluster | ExistingEksCluster,
    subnets: pulumi.Output[list[str]],
) -> dict[str, Any]:
    """Common arguments of both group kinds: stack file keys and location."""
    written = pool.model_dump(include={*InstanceGroupKeys.model_fields}, by_alias=True, exclude_defaults=True)
    return {
        "pool": pool.name,
        "region": cluster.region,
        "subnet_ids": subnets,
        **({"cni_has_role": True} if cluster.add_ons.keys() >= _CNI_OF_ITS_OWN else {}),
        "security_group_ids": [eks.security_group_id],
        **cast("dict[str, Any]", _plain(written)),
    }


def pool_args(pool: NodePool) -> GpuNodePoolArgs:
    """Arguments of the GpuNodePool of a pool."""
    args: GpuNodePoolArgs = {"pool": pool.name, "node_names": list(pool.node_names)}
    gpus = pool.gpus_of_node
    if gpus is not None:
        args["gpu"] = gpus.model.name
        args["gpus_per_node"] = gpus.count
        args["driver_version"] = str(gpus.driver)
        if gpus.container_toolkit:
            args["container_toolkit_version"] = gpus.container_toolkit
    others = [(name, each.gpus) for each in pool.variants() if each.gpus != gpus for name in each.node_names]
    if drivers := {name: str(its.driver) for name, its in others if gpus and its and its.driver != gpus.driver}:
        args["node_drivers"] = drivers
    if toolkits := {
        name: its.container_toolkit
        for name, its in others
        if gpus and its and its.container_toolkit and its.container_toolkit != gpus.container_toolkit
    }:
        args["node_container_toolkits"] = toolkits
    if pool.labels:
        args["labels"] = dict(pool.labels)
    if pool.taints:
        args["taints"] = [{"key": each.key, "value": each.value, "effect": each.effect} for each in pool.taints]
    return args


def runtime_args(stack: Stack) -> NvidiaRuntimeArgs | None:
    """Arguments of the NvidiaRuntime, or None where the site has its own."""
    if stack.runtime is None:
        return None
    args: NvidiaRuntimeArgs = {
        "device_plugin_image": stack.substitute(str(stack.runtime.device_plugin))[0],
    }
    if stack.runtime.persistence_daemon:
        args["persistence_daemon_image"] = stack.substitute(str(stack.runtime.persistence_daemon))[0]
    drivers = driver_containers(stack)
    if drivers:
        args["driver_containers"] = [
            {"pool": each.pool, "image": each.image, "kernel": each.key.kernel} for each in drivers
        ]
    claimed = _by_claims(stack)
    with_gpus = [pool.name for pool in stack.fleet.pools if pool.gpus_of_node and pool.name not in claimed]
    if not with_gpus and claimed:
        return None  # NVIDIA's DRA driver serves the GPUs, and needs neither device plugin nor runtime class
    if drivers or len(with_gpus) < len(stack.fleet.pools):
        args["pools"] = with_gpus
    return args


def hub_args(stack: Stack, hub: Hub, refs: Refs) -> NotebookHubArgs:
    """Arguments of the NotebookHub of a hub."""
    args: dict[str, Any] = {
        **hub.model_dump(include={*ClusterHubKeys.model_fields, "expose"}, exclude_none=True),
        **_of_every_hub(stack, hub, refs),
        "profiles": [_profile(stack, profile, refs) for profile in hub.profiles],
        "images_are_pre_pulled": hub.pre_pull or None,
        "core_pool": stack.site.core_pool,
    }
    return cast("NotebookHubArgs", {key: value for key, value in args.items() if value is not None})


def _of_every_hub(stack: Stack, hub: Hub, refs: Refs) -> dict[str, Any]:
    """Common arguments of hubs on clusters and Docker hosts."""
    authenticator = stack.site.authenticator
    if authenticator is None:  # refused by settings
        raise AssertionError(hub.name)
    return {
        "hub_image": refs[hub.hub_image],
        "hub_image_name": hub.hub_image,
        "proxy_image": refs[hub.proxy_image],
        "proxy_image_name": hub.proxy_image,
        "courses": [_course(each) for each in stack.courses if each.hub == hub.name] or None,
        # In the component's form: an empty list means an omitted key.
        "authenticator": {
            key: value for key, value in _plain(authenticator.model_dump(exclude_none=True)).items() if value != []
        },
        "site_name": stack.site.name,
    }


def docker_hub_args(
    stack: Stack, hub: Hub, refs: Refs, host: HostPool, card_networks: Sequence[pulumi.Input[str]]
) -> DockerHubArgs:
    """Arguments of the DockerHub of a hub. `card_networks`: of its host's GPUs by index; none if shared."""
    networks: Sequence[pulumi.Input[str] | None] = card_networks or [None] * len(host.cards)
    args: dict[str, Any] = {
        **hub.model_dump(include={*HubKeys.model_fields, "expose", "kernels_per_user"}, exclude_none=True),
        **_of_every_hub(stack, hub, refs),
        "pool": host.name,
        "profiles": [_hosted_profile(stack, profile, refs) for profile in hub.profiles],
        "access": host.gpu_access if host.cards else None,
        "cards": [hosted(card, network) for card, network in zip(host.cards, networks, strict=True)] or None,
        "engine": stack.engine(host),
        "certificates": host.certificates,
        "engine_socket": host.engine_socket,
    }
    for part, image in (("filter", hub.filter_image), ("gateway", hub.gateway_image)):
        if image:
            args |= {f"{part}_image": refs[image], f"{part}_image_name": image}
    return cast("DockerHubArgs", {key: value for key, value in args.items() if value is not None})


def _hosted_profile(stack: Stack, profile: Profile, refs: Refs) -> dict[str, Any]:
    kernels = [_on_its_image(stack, kernel, refs, {}) for kernel in profile.kernels]
    return _on_its_image(stack, profile, refs, _shown(stack, profile)) | ({"kernels": kernels} if kernels else {})


def _on_its_image(stack: Stack, asked: Profile | Kernel, refs: Refs, more: Mapping[str, Any]) -> dict[str, Any]:
    """With its image's runtime profile, overridden by its own keys."""
    values = asked.model_dump(
        exclude_none=True, exclude={"image", "kernels", *(("pool",) if isinstance(asked, Kernel) else ())}
    )
    written = {**_runtime_profile(stack, asked.image), **_plain(values), **more}
    return {**written, "image": refs[asked.image], "image_name": asked.image}


def _course(course: Course) -> dict[str, Any]:
    values = course.model_dump(mode="json", exclude_none=True, exclude={"hub", "assumptions"})
    share = values["peak_share"]
    return {**values, "peak_share": int(share) if share == 1 else share}


def _profile(stack: Stack, profile: Profile, refs: Refs) -> dict[str, Any]:
    values = profile.model_dump(exclude_none=True, exclude={"image", "kernels"})
    if "shm_gib" not in values and (shm_gib := _shm_gib(stack, profile.image)):
        values["shm_gib"] = shm_gib
    return {**_plain(values), **_shown(stack, profile), "image": refs[profile.image], "image_name": profile.image}


def _shown(stack: Stack, profile: Profile) -> dict[str, Any]:
    """Profile texts about GPU and image; only known facts."""
    shown: dict[str, Any] = {"contents": _contents(stack, profile.image)}
    pools = [stack.fleet.pool(name) for name in stack.profile_pools(profile)] if profile.gpus else []
    if gpus := list(dict.fromkeys(pool.gpu for pool in pools if pool.gpu)):
        shown["gpu"] = " or ".join(gpu.name for gpu in gpus)
        sizes = {gpu.memory_mib for gpu in gpus}
        if len(sizes) == 1 and gpus[0].memory_mib:
            shown["gpu_memory_gb"] = gpus[0].memory_mib / 1024  # vendors say GB but count in GiB
    return shown


def _contents(stack: Stack, name: str) -> dict[str, Any]:
    image = _image(stack, name)
    family = load_family(image.name, target=image.target)
    replaced = [Substitute(each.reference, each.replacement, each.reason) for each in stack.site.substitutes]
    found = contents(family, plan_image(family, substitutes=replaced)).model_dump()
    return {key: _plain(value) for key, value in found.items() if value}


def pre_puller_args(stack: Stack, hub: Hub, refs: Refs, namespace: pulumi.Input[str]) -> dict[str, PrePullerArgs]:
    """Arguments of a hub's PrePullers by name, one per pool of its profiles."""
    pools: dict[str, dict[str, pulumi.Input[str]]] = {}
    for profile in hub.profiles if hub.pre_pull else ():
        for pool in stack.profile_pools(profile):
            pools.setdefault(pool, {})[profile.image] = refs[profile.image]
    return {
        f"{hub.name}-{pool}": {"namespace": namespace, "pool": pool, "images": images} for pool, images in pools.items()
    }


def _image(stack: Stack, name: str) -> Image:
    return {image.full_name: image for image in stack.images}[name]


def _runtime_profile(stack: Stack, name: str) -> dict[str, Any]:
    """Engine settings that an image's programs need, by component argument name."""
    image = _image(stack, name)
    runtime = load_family(image.name, target=image.target)[0].runtime
    return runtime.model_dump(mode="json", exclude_none=True) if runtime else {}


def _shm_gib(stack: Stack, name: str) -> float | None:
    """Shared memory requested by an image, for workloads that do not set it."""
    return _runtime_profile(stack, name).get("shm_gib")


def _user(stack: Stack, name: str) -> int | None:
    """The ID of an image's own user, unless it is a default of all workloads."""
    image = _image(stack, name)
    users = [spec.user.uid for spec in load_family(image.name, target=image.target) if spec.user]
    return users[0] if users and users[0] != DEFAULT_USER else None


def _too_little_memory(stack: Stack, asked: Mapping[str, float | None]) -> Iterator[Problem]:
    """Profiles and jobs with too little memory for their image's shared memory."""
    workloads: dict[str, Profile | Kernel | Container | Job] = {
        f"hubs[{hub_index}].profiles[{index}]": profile
        for hub_index, hub in enumerate(stack.hubs)
        for index, profile in enumerate(hub.profiles)
    }
    workloads |= {
        f"{path}.kernels[{index}]": kernel
        for path, profile in tuple(workloads.items())
        if isinstance(profile, Profile)
        for index, kernel in enumerate(profile.kernels)
    }
    workloads |= {f"containers[{index}]": each for index, each in enumerate(stack.containers)}
    workloads |= {f"jobs[{index}]": job for index, job in enumerate(stack.jobs)}
    for path, workload in workloads.items():
        needed = asked.get(workload.image) if workload.shm_gib is None else None
        if needed is not None and needed > workload.memory_gib:
            reason = f"is below the {needed:g} GiB of shared memory of image {workload.image}"
            fix = f"write {needed:g} or more, or a shm_gib of its own: shared memory is part of the memory"
            yield Problem(f"{path}.memory_gib", f"{workload.memory_gib:g}", reason, fix)


def _by_claims(stack: Stack) -> dict[str, InstancePool]:
    """Pools that serve GPUs by claims."""
    return {pool.name: pool for pool in stack.fleet.pools if isinstance(pool, InstancePool) and pool.by_claims}


def _claimed_products(stack: Stack, job: Job) -> list[str]:
    """GPU product names of its pools; empty without claims."""
    pools = [_by_claims(stack).get(name) for name in landing_pools(stack, job)] if job.gpus else []
    named = [gfd_product(pool.gpu, pool.driver) for pool in pools if pool and pool.gpu and pool.driver]
    return list(dict.fromkeys(named))


def job_args(stack: Stack, job: Job, refs: Refs, namespace: pulumi.Input[str]) -> GpuJobArgs:
    """Arguments of the GpuJob of a job."""
    args: dict[str, Any] = {
        "namespace": namespace,
        "image": refs[job.image],
        "image_name": job.image,
        "shm_gib": _shm_gib(stack, job.image),
        "user": _user(stack, job.image),
        "claimed_products": _claimed_products(stack, job) or None,
        **_plain(job.model_dump(include={*JobKeys.model_fields}, exclude_none=True)),
    }
    return cast("GpuJobArgs", {key: value for key, value in args.items() if value is not None})


def hosts(stack: Stack) -> tuple[HostPool, ...]:
    """Machines with a Docker engine."""
    return tuple(each for each in stack.fleet.pools if isinstance(each, HostPool))


def host_args(stack: Stack, pool: HostPool) -> DockerHostArgs:
    """Arguments of the DockerHost of a pool."""
    args: dict[str, Any] = {
        "pool": pool.name,
        "engine": stack.engine(pool),
        "is_stand_in": stack.site.lab or None,
        "certificates": pool.certificates,
        "cpu": pool.cpu,
        "memory_gib": pool.memory_gib,
        "gpu": pool.gpu and pool.gpu.name,
        "gpus_per_node": pool.gpus_per_node or None,
        "driver_version": pool.driver and str(pool.driver),
        "container_toolkit_version": pool.container_toolkit,
        "gpu_uuids": list(pool.gpu_uuids) or None,
        "gpu_access": pool.gpu_access if pool.gpus_per_node else None,
        "shared_gpus": pool.shared_gpus or None,
        "card_network": str(pool.card_network) if pool.gpus_per_node else None,
    }
    return cast("DockerHostArgs", {key: value for key, value in args.items() if value is not None})


def on_host(stack: Stack, host: HostPool) -> tuple[Container | Job, ...]:
    """Workloads of a host: services, then jobs, in stack file order."""
    return (
        *(each for each in stack.containers if each.pool == host.name),
        *(each for each in stack.jobs if each.pool == host.name),
    )


def hubs_on(stack: Stack, host: HostPool) -> tuple[Hub, ...]:
    """JupyterHubs of a host."""
    return tuple(each for each in stack.hubs if each.pool == host.name)


def ends(workload: Container | Job) -> bool:
    """Whether it is a batch run."""
    return isinstance(workload, Job) or workload.runs_to_end


def card_requests(stack: Stack, host: HostPool) -> tuple[Request, ...]:
    """GPU requests of a host's containers and jobs."""
    return tuple(
        Request(each.name, each.gpus, each.cards if isinstance(each, Container) else (), ends=ends(each))
        for each in on_host(stack, host)
    )


def container_args(
    stack: Stack, workload: Container | Job, refs: Refs, host: HostPool, grant: Grant | None
) -> dict[str, Any]:
    """Arguments of the DockerGpuContainer of a container or a job, except networks."""
    written = _plain(workload.model_dump(mode="json", exclude_none=True))
    keys = ContainerKeys.model_fields.keys() - {"pools", "cards"}
    args = {
        **_runtime_profile(stack, workload.image),
        **{key: value for key, value in written.items() if key in keys and value not in ([], False, 0)},
        "pool": host.name,
        "image": refs[workload.image],
        "image_name": workload.image,
    }
    if isinstance(workload, Job):
        args["runs_to_end"] = True
    if grant:
        args |= {"devices": [card.device for card in grant.cards], "access": host.gpu_access}
    return args


def partitions(stack: Stack) -> tuple[PartitionPool, ...]:
    """Pools of a Slurm site."""
    return tuple(each for each in stack.fleet.pools if isinstance(each, PartitionPool))


def slurm_access(stack: Stack) -> dict[str, Any]:
    """Access to the stack's Slurm; empty without Slurm."""
    site = stack.site.slurm
    return _plain(site.model_dump(mode="json", exclude_none=True)) if site else {}


def slurm_site_args(stack: Stack) -> SlurmSiteArgs:
    """Arguments of the SlurmSite of a stack."""
    pools = [
        {"pool": pool.name, **_partition_keys(pool), "nodes": pool.nodes, "gpus_per_node": pool.gpus_per_node}
        for pool in partitions(stack)
    ]
    return cast("SlurmSiteArgs", {"site": slurm_access(stack), "pools": pools})


def images_on_slurm(stack: Stack) -> tuple[str, ...]:
    """Images of jobs, servers and hubs, each once."""
    of_hubs = [name for hub in stack.hubs for name in (hub.hub_image, hub.proxy_image)]
    of_servers = [profile.image for hub in stack.hubs for profile in hub.profiles]
    return tuple(dict.fromkeys([*(job.image for job in stack.jobs), *of_hubs, *of_servers]))


def sif_args(stack: Stack, image: str, refs: Refs) -> SifImageArgs:
    """Arguments of the SifImage of an image."""
    return {"image": refs[image], "image_name": image, "site": slurm_access(stack)}


def slurm_job_args(stack: Stack, job: Job, refs: Refs, sif: pulumi.Input[str]) -> SlurmGpuJobArgs:
    """Arguments of the SlurmGpuJob of a job."""
    pools = {pool.name: pool for pool in partitions(stack)}
    keys = JobKeys.model_fields.keys() - {"pool", "pools", "shm_gib"}
    written = _plain(job.model_dump(mode="json", exclude_none=True))
    args = {
        **{key: value for key, value in written.items() if key in keys},
        "site": slurm_access(stack),
        "sif": sif,
        "image": refs[job.image],
        "image_name": job.image,
        "partitions": [{"pool": name, **_partition_keys(pools[name])} for name in job.named_pools],
        "slurm": _plain(job.slurm.model_dump(mode="json", exclude_none=True)) if job.slurm else None,
    }
    return cast("SlurmGpuJobArgs", {key: value for key, value in args.items() if value is not None})


def slurm_hub_args(stack: Stack, hub: Hub, refs: Refs, sifs: Mapping[str, pulumi.Input[str]]) -> SlurmHubArgs:
    """Arguments of the SlurmHub of a hub. `sifs`: image files by image name."""
    args: dict[str, Any] = {
        **hub.model_dump(include={*HubKeys.model_fields, "expose"}, exclude_none=True),
        **_of_every_hub(stack, hub, refs),
        "site": slurm_access(stack),
        "hub_sif": sifs[hub.hub_image],
        "proxy_sif": sifs[hub.proxy_image],
        "profiles": [_slurm_profile(stack, profile, refs, sifs) for profile in hub.profiles],
    }
    return cast("SlurmHubArgs", {key: value for key, value in args.items() if value is not None})


def _slurm_profile(stack: Stack, profile: Profile, refs: Refs, sifs: Mapping[str, pulumi.Input[str]]) -> dict[str, Any]:
    pools = {pool.name: pool for pool in partitions(stack)}
    values = profile.model_dump(exclude_none=True, exclude={"image", "kernels", "pool", "pools", "shm_gib"})
    return {
        **_plain(values),
        **_shown(stack, profile),
        "image": refs[profile.image],
        "image_name": profile.image,
        "sif": sifs[profile.image],
        "partitions": [{"pool": name, **_partition_keys(pools[name])} for name in profile.named_pools],
    }


def _partition_keys(pool: PartitionPool) -> dict[str, Any]:
    return pool.model_dump(mode="json", include={*PartitionKeys.model_fields}, exclude_none=True)


def published(stack: Stack) -> dict[str, str]:
    """Published address of each named container port, by container/port."""
    return {
        f"{each.name}/{port.name}": f"{port.address}:{port.host}" for each in stack.containers for port in each.ports
    }


def _plain(value: Any) -> Any:
    """Tuples as lists: the engine has no tuples."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
