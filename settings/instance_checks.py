"""Checks of a stack with instance pools: cluster, groups, GPUs by claims. Pure."""

from collections.abc import Iterator
from functools import partial

from errors.agreements import located, of_each, readable
from errors.problems import Fault, Loc
from platforms.aws.kubernetes_versions import minor_of
from platforms.aws.machine_images import MachineImage
from platforms.aws.node_image import FlatcarImage, NodeImage
from platforms.aws.registries import EcrRegistry
from platforms.kubernetes.claims import FIRST_KUBERNETES
from settings.fleet_checks import located_pools
from settings.instance_pools import InstancePool
from settings.models import Job, Profile, Stack
from settings.pools import RUNTIME_IMAGES, NodePool

_ONE_WAY = "name pools that all give GPUs in the same way"


def check_instances(stack: Stack) -> Iterator[Fault]:
    """Disagreements of the cluster and the instance pools."""
    for each in (_kind, _endpoints, _device_plugin):
        yield from readable(each(stack))


def _kind(stack: Stack) -> Iterator[Fault]:
    """Instances belong to an EKS cluster, named nodes to another: two clusters are two stacks."""
    is_eks, pools = stack.site.kind == "eks", located_pools(stack.fleet)
    if is_eks and stack.cluster is None:
        yield Fault(("cluster",), "is missing", "add it: region, kubernetes, and network or subnets")
    if not is_eks and stack.cluster is not None:
        yield Fault(("cluster",), "is given for a site without EKS", "write site.kind: eks, or leave it out")
    of_instances = [loc for loc, pool in pools if isinstance(pool, InstancePool)]
    of_nodes = [loc for loc, pool in pools if isinstance(pool, NodePool)]
    if of_instances and of_nodes:
        reason = "names nodes, and another pool of this fleet names instance types: they cannot join the same cluster"
        fix = "write two stack files: one for the nodes of the site, one of kind eks for the instances"
        yield Fault(of_nodes[0], reason, fix)
    elif is_eks and of_nodes:
        fix = "name instance_types, min and max; or leave out site.kind: eks, which starts instances"
        yield Fault(of_nodes[0], "names nodes on a site of kind eks", fix)
    elif of_instances and not is_eks:
        fix = "write site.kind: eks and the section cluster, or name the nodes"
        yield Fault((*of_instances[0], "instance_types"), "is given on a site without EKS", fix)


def _endpoints(stack: Stack) -> Iterator[Fault]:
    """Nodes without egress pull only from ECR in the same region. A lab has its own registry, and says so."""
    cluster, site, runtime = stack.cluster, stack.site, stack.runtime
    if cluster is None or cluster.network is None or cluster.network.egress != "endpoints" or site.lab:
        return
    daemons = (("runtime", key, getattr(runtime, key, None)) for key in RUNTIME_IMAGES)
    for section, key, reference in (("site", "registry", getattr(site, "registry", None)), *daemons):
        found = EcrRegistry.read(reference) if reference else None
        if reference and (found is None or found.region != cluster.region):
            reason = (
                f"cannot be reached by nodes whose network has only endpoints: it is not in ECR of {cluster.region}"
            )
            fix = f"name one in 123456789012.dkr.ecr.{cluster.region}.amazonaws.com, or use egress: nat"
            yield Fault((section, key), reason, fix, reference)


def _image_of(pool: InstancePool) -> NodeImage | None:
    """Node image; None if nothing fits or the group cannot be read."""
    try:
        found = pool.chosen if pool.kubernetes or pool.flatcar else None
    except (AttributeError, ValueError):
        return None
    return found if isinstance(found, MachineImage | FlatcarImage) else None


def _device_plugin(stack: Stack) -> Iterator[Fault]:
    """Amazon Linux has no device plugin: without one, pods never get a GPU of such a pool."""
    if stack.runtime is not None or stack.fleet.managed_by is not None:
        return
    for _, pool in located_pools(stack.fleet):
        image = _image_of(pool) if isinstance(pool, InstancePool) and not pool.by_claims else None
        if image is not None and image.driver and not image.has_device_plugin:
            fix = "add runtime.device_plugin with its image"
            yield Fault(("runtime",), f"is missing, and {image} has no device plugin: no pod gets a GPU", fix)
            return


# --- GPUs by claims (DRA)


def check_claims(stack: Stack) -> Iterator[Fault]:
    """Disagreements of pools that serve GPUs by claims: cluster, size and users."""
    pools = [(loc, pool) for loc, pool in located_pools(getattr(stack, "fleet", None)) if _by_claims(pool)]
    yield from of_each([((*loc, "gpus_by"), pool) for loc, pool in pools], _version, _whole_gpus, _fixed_size)
    if names := {getattr(pool, "name", "") for _, pool in pools}:
        yield from of_each(located(stack, "jobs"), partial(_claiming_job, stack, names))
        for loc, hub in located(stack, "hubs"):
            yield from of_each(located(hub, "profiles", loc), partial(_claiming_profile, names))


def _by_claims(pool: object) -> bool:
    return isinstance(pool, InstancePool) and getattr(pool, "gpus_by", "") == "claims"


def _version(where: Loc, pool: InstancePool) -> Iterator[Fault]:
    if pool.kubernetes and minor_of(pool.kubernetes) < FIRST_KUBERNETES:
        reason = (
            f"needs Kubernetes 1.{FIRST_KUBERNETES}, from which claims are stable; the nodes have {pool.kubernetes}"
        )
        yield Fault(where, reason, "use a newer version, or device_plugin", "claims")
    if pool.flatcar is not None:
        reason = "is not supported on Flatcar nodes, whose driver offers no CDI devices"
        yield Fault(where, reason, "leave it out", "claims")


def _whole_gpus(where: Loc, pool: InstancePool) -> Iterator[Fault]:
    if pool.shape.gpu is None:
        yield Fault(where, "is given for instances without GPUs", "leave it out", "claims")
    elif pool.shape.gpus < 1:
        reason = "is for whole GPUs: the driver offers no part of a GPU as a device"
        yield Fault(where, reason, "use device_plugin, or instances with whole GPUs", "claims")


def _fixed_size(where: Loc, pool: InstancePool) -> Iterator[Fault]:
    if len({pool.min, pool.scale.desired, pool.max}) > 1:
        reason = "needs a fixed size: an autoscaler cannot know the devices of a node that does not exist yet"
        yield Fault(where, reason, f"write min: {pool.max}, and desired as well or not at all", "claims")


def _claiming_job(stack: Stack, names: set[str], loc: Loc, job: Job) -> Iterator[Fault]:
    if not job.gpus:
        return
    if not job.named_pools:
        others = [pool for pool in stack.fleet.pools if isinstance(pool, InstancePool) and not pool.by_claims]
        if any(pool.shape.gpu for pool in others):
            reason = "is missing: a pool of this fleet gives its GPUs by claims, and others do not"
            yield Fault((*loc, "pools"), reason, _ONE_WAY)
    elif len({name in names for name in job.named_pools}) > 1:
        yield Fault((*loc, "pools"), "mixes pools that give GPUs by claims with others", _ONE_WAY)


def _claiming_profile(names: set[str], loc: Loc, profile: Profile) -> Iterator[Fault]:
    """KubeSpawner 7 cannot add a claim to a container and keep its other requests."""
    if profile.gpus and names.intersection({profile.pool, *(profile.pools or ())}):
        reason = "names a pool that gives its GPUs by claims, which servers of a hub cannot create"
        fix = "name a pool with gpus_by: device_plugin"
        yield Fault((*loc, "pools" if profile.pools else "pool"), reason, fix)
