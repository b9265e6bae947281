"""Consistency checks of a stack with instance pools: cluster, groups, machine images. Pure."""

from collections.abc import Iterator

from errors.clock import today
from errors.problems import Fault
from platforms.aws.instance_agreements import image_of, of_group, shape_of
from platforms.aws.kubernetes_versions import is_version
from platforms.aws.machine_image_errors import by_version
from platforms.aws.registries import EcrRegistry
from workloads.raw import Raw, is_count, items, mapping


def is_of_instances(pool: Raw) -> bool:
    """Whether a pool has instance types instead of nodes."""
    return "instance_types" in pool


def check_instances(raw: Raw) -> Iterator[Fault]:
    """Inconsistencies of the cluster and the instance pools."""
    yield from _kind(raw)
    yield from _cluster(raw)
    for loc, pool in items(raw, "fleet", "pools"):
        if is_of_instances(pool):
            yield from of_group(loc, pool, _version(raw, pool))
    yield from _device_plugin(raw)
    yield from _persistence(raw)


def outline_of(pool: Raw) -> tuple[int | None, tuple[str, ...] | None]:
    """GPUs per node and node names of an instance pool, as far as readable."""
    shape, most, name = shape_of(pool), pool.get("max"), pool.get("name")
    names = tuple(f"{name}-{number}" for number in range(1, most + 1)) if is_count(most) and 0 < most < 10_000 else None
    return (shape.schedulable_gpus if shape else None), names


def with_cluster_version(raw: Raw) -> dict[str, object]:
    """The sections with the cluster's Kubernetes version in each instance pool without one."""
    version, fleet = mapping(raw, "cluster").get("kubernetes"), mapping(raw, "fleet")
    pools = fleet.get("pools")
    if not isinstance(version, str) or not isinstance(pools, list):
        return dict(raw)
    filled = [
        {"kubernetes": version, **pool} if isinstance(pool, dict) and is_of_instances(pool) else pool for pool in pools
    ]
    return {**raw, "fleet": {**fleet, "pools": filled}}


def _kind(raw: Raw) -> Iterator[Fault]:
    """Instances belong to an EKS cluster, named nodes to another: two clusters are two stacks."""
    is_eks = mapping(raw, "site").get("kind") == "eks"
    pools = items(raw, "fleet", "pools")
    if is_eks and not isinstance(raw.get("cluster"), dict):
        yield Fault(("cluster",), "is missing", "add it: region, kubernetes, and network or subnets")
    if not is_eks and raw.get("cluster") is not None:
        yield Fault(("cluster",), "is given for a site without EKS", "write site.kind: eks, or leave it out")
    of_instances = [loc for loc, pool in pools if is_of_instances(pool)]
    of_nodes = [loc for loc, pool in pools if not is_of_instances(pool) and not {"engine", "partition"} & pool.keys()]
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


def _cluster(raw: Raw) -> Iterator[Fault]:
    cluster = mapping(raw, "cluster")
    if not cluster:
        return
    version = cluster.get("kubernetes")
    if isinstance(version, str) and is_version(version) and (refused := by_version(version, today())):
        yield Fault(("cluster", "kubernetes"), f"cannot be used on EKS: {refused.reason}", refused.fix, version)
    yield from _existing(cluster)
    network, subnets, region = cluster.get("network"), cluster.get("subnets"), cluster.get("region")
    if network is None and not subnets and cluster.get("existing") is not None:
        yield Fault(("cluster", "subnets"), "is missing", "name the private subnets of the cluster's nodes")
    elif network is None and not subnets:
        fix = "add network: {zones: […]} for a VPC of the stack's own, or subnets: [subnet-…] that exist"
        yield Fault(("cluster", "network"), "is missing", fix)
    elif network is not None and subnets:
        yield Fault(("cluster", "subnets"), "is given beside network", "keep one: existing subnets or a VPC of its own")
    elif isinstance(subnets, list) and len(set(map(str, subnets))) < 2:
        yield Fault(
            ("cluster", "subnets"), "has only one subnet", "name two or more in different zones, as EKS requires"
        )
    if mapping(cluster, "network").get("egress") == "endpoints":
        yield from _inside(raw, region)
    for zone in mapping(cluster, "network").get("zones") or ():
        if isinstance(zone, str) and isinstance(region, str) and not zone.startswith(region):
            fix = f"write a zone of {region}: {region}a"
            yield Fault(("cluster", "network", "zones"), f"is not in region {region}", fix, zone)


def _inside(raw: Raw, region: object) -> Iterator[Fault]:
    """Nodes without egress pull only from ECR in the same region. A lab has its own registry, and says so."""
    if isinstance(region, str) and region.startswith("cn-"):
        fix = "use nat: services have other names in China, and no table has them"
        yield Fault(("cluster", "network", "egress"), "is not known in this region", fix, "endpoints")
    site, runtime = mapping(raw, "site"), mapping(raw, "runtime")
    if site.get("lab") is True or not isinstance(region, str):
        return
    for loc, reference in (
        (("site", "registry"), site.get("registry")),
        *((("runtime", key), runtime.get(key)) for key in ("device_plugin", "persistence_daemon")),
    ):
        found = EcrRegistry.read(reference) if isinstance(reference, str) else None
        if isinstance(reference, str) and (found is None or found.region != region):
            reason = f"cannot be reached by nodes whose network has only endpoints: it is not in ECR of {region}"
            fix = f"name one in 123456789012.dkr.ecr.{region}.amazonaws.com, or use egress: nat"
            yield Fault(loc, reason, fix, reference)


def _existing(cluster: Raw) -> Iterator[Fault]:
    """An existing cluster belongs to others, as do its network, entries and add-ons."""
    reason = "is given beside existing, but the stack never changes an existing cluster"
    for key in ("network", "public_access", "admins", "add_ons"):
        if cluster.get("existing") is not None and cluster.get(key):
            yield Fault(("cluster", key), reason, "leave it out")


def _device_plugin(raw: Raw) -> Iterator[Fault]:
    """Amazon Linux has no device plugin: without one, pods never get a GPU of such a pool."""
    if raw.get("runtime") is not None or mapping(raw, "fleet").get("managed_by") is not None:
        return
    for _, pool in items(raw, "fleet", "pools"):
        needs_plugin = is_of_instances(pool) and pool.get("gpus_by") != "claims"
        image = image_of(pool, _version(raw, pool)) if needs_plugin else None
        if image is not None and image.driver and not image.has_device_plugin:
            fix = "add runtime.device_plugin with its image"
            yield Fault(("runtime",), f"is missing, and {image} has no device plugin: no pod gets a GPU", fix)
            return


def _persistence(raw: Raw) -> Iterator[Fault]:
    """Without the daemon, the first program on a GPU waits for the driver to load: someone must run it."""
    runtime = raw.get("runtime")
    if not isinstance(runtime, dict) or runtime.get("persistence_daemon") is not None:
        return
    pools = [pool for _, pool in items(raw, "fleet", "pools")]
    images = [image_of(pool, _version(raw, pool)) for pool in pools if is_of_instances(pool)]
    is_of_nodes = not pools or len(images) < len(pools)
    if is_of_nodes or any(image is not None and image.driver and not image.has_persistence_daemon for image in images):
        fix = "add persistence_daemon: Image with a shell and chroot; the daemon comes from the host's driver"
        yield Fault(("runtime", "persistence_daemon"), "is missing", fix)


def _version(raw: Raw, pool: Raw) -> object:
    return pool.get("kubernetes") or mapping(raw, "cluster").get("kubernetes")
