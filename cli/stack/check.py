"""Checks a stack file before any build or deployment: settings, images on pools, policy rules."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from cli.stacks import pools_of
from compat import Image, Matrix, Pool, matrix
from compat.verdict.answer import BY_SPEC
from components import to_args
from components.on_docker import to_args as for_docker
from components.on_kubernetes import to_args as for_kubernetes
from components.on_slurm import to_args as for_slurm
from errors.problems import Problem, SettingsError
from fleet.unknown import UNKNOWN
from imaging.spec.compat_cases import cases_of
from imaging.spec.load import IMAGES, load_family
from imaging.spec.problems import SpecError
from platforms.docker.container import CONTAINER_TOKEN, container_args, parse_container, wire_form
from platforms.docker.gpu_leases import Grant
from platforms.docker.hub_containers import own_containers
from platforms.docker.hub_model import parse_hub as parse_docker_hub
from platforms.kubernetes import claims, hub_availability, hub_core_pods, pre_puller, runtime
from platforms.kubernetes.hub import parse_hub
from platforms.kubernetes.job import job_spec, parse_job
from platforms.slurm.batch_script import Unwritable, batch_script
from platforms.slurm.hub import texts
from platforms.slurm.hub_model import parse_hub as parse_slurm_hub
from platforms.slurm.job_model import parse_slurm_job
from policies.docker_workloads import DOCKER_HUB_TOKEN
from policies.evaluate import IMAGE_TOKEN, STACK_TOKEN, ImageRefusals, Seen, judged, message
from policies.evaluate import findings as results
from policies.finding import Level
from policies.from_settings import site_of
from policies.model import Site, Workload, nothing_known
from policies.pod_workloads import HUB_TOKEN
from policies.report import Message
from policies.rules.index import ALL_RULES
from policies.slurm_workloads import SLURM_HUB_TOKEN, SLURM_JOB_TOKEN
from policies.stacks import consistent
from settings import resolve
from settings.host_pools import HostPool
from settings.models import Job
from settings.reading import Stack, load_stack

Resource = tuple[str, str, Mapping[str, Any]]  # type token, logical name, inputs

_CLAIM: Final = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"
_SET: Final = "kubernetes:apps/v1:DaemonSet"
_DEPLOYMENT: Final = "kubernetes:apps/v1:Deployment"


@dataclass(frozen=True, slots=True)
class Checked:
    """A valid stack and its findings. `left` is what only a preview or an update can prove."""

    stack: Stack
    images: tuple[Image, ...]
    pools: tuple[Pool, ...]  # those with GPUs
    matrix: Matrix
    found: tuple[Message, ...]
    left: tuple[Message, ...]

    @property
    def refused(self) -> tuple[Message, ...]:
        """What the pack would refuse."""
        return tuple(each for each in self.found if each.level is Level.REFUSE)


def check_stack(file: Path, *, site: Path | None = None, images: Path = IMAGES) -> Checked | tuple[Problem, ...]:
    """Check a stack file without a network, a cluster or the engine. Returns its mistakes, if any.

    `site` is an overlay. The policy pack's rules look at the objects that the stack would create, before their images
    are known.
    """
    try:
        stack = load_stack(file, site=site)
        # Ignores the facts about images that this machine knows: the answer must be the same everywhere.
        place = replace(consistent(site_of(stack, images), str(file)), contents_of=nothing_known)
        families = _families(stack, images)
        resources = [*offline_resources(stack)]
    except (SettingsError, SpecError) as error:
        return error.problems
    uses = tuple(Image(name, cases, BY_SPEC) for name, cases in families)
    pools = tuple(nodes for pool in stack.fleet.pools for nodes in pools_of(pool))
    found, left = _judged(resources, place)
    return Checked(stack, uses, pools, matrix(uses, pools), found, left)


def _families(stack: Stack, images: Path) -> list[tuple[str, Any]]:
    """Every image with its cases. Raises one SpecError with the mistakes of all specs."""
    families, problems = [], []
    for image in stack.images:
        try:
            families.append((image.full_name, cases_of(load_family(image.name, images=images, target=image.target))))
        except SpecError as error:
            problems += [problem for problem in error.problems if problem not in problems]
    if problems:
        raise SpecError(problems)
    return families


def offline_resources(stack: Stack) -> Iterator[Resource]:
    """The resources that the program would register, in order, for the rules. Raises SettingsError."""
    yield STACK_TOKEN, "stack", {}
    for name, _ in resolve.images_in_order(stack):
        yield IMAGE_TOKEN, name, {**to_args.gpu_image(name, resolve.image_build(stack, name))}
    yield from _of_runtime(stack)
    unknown: Any = {image.full_name: UNKNOWN for image in stack.images}
    for hub in () if resolve.hosts(stack) or resolve.partitions(stack) else stack.hubs:
        resolved = resolve.resolved_hub(stack, hub)
        inputs = {**for_kubernetes.notebook_hub(resolved, unknown, stack.site.core_pool)}
        yield HUB_TOKEN, hub.name, inputs
        shape = parse_hub(hub.name, inputs)
        yield "kubernetes:batch/v1:Job", f"{hub.name}-credentials", hub_core_pods.credentials_job(shape, script="")
        yield _DEPLOYMENT, f"{hub.name}-proxy", hub_core_pods.proxy_deployment(shape)
        if shape.availability:
            counting = hub_availability.deployment(shape, program="")
            yield _DEPLOYMENT, f"{hub.name}-availability", counting
        yield "kubernetes:apps/v1:StatefulSet", hub.name, hub_core_pods.hub_stateful_set(shape, config_checksum=UNKNOWN)
        for pool, images in resolve.pre_pulled(stack, hub).items():
            name, pulled = f"{hub.name}-{pool}", dict.fromkeys(images, UNKNOWN)
            spec = pre_puller.daemon_set_spec(name, pool, pulled)
            yield _SET, name, {"metadata": {"namespace": hub.name, "name": name}, "spec": spec}
    for host in resolve.hosts(stack):
        yield from _on_host(stack, host, unknown)
    if stack.site.slurm is not None:
        files = {name: f"{stack.site.slurm.image_store}/{name}.sif" for name in unknown}
        place = for_slurm.Place(stack.site.slurm, resolve.partitions(stack), unknown, files)
        yield from _slurm_jobs(stack, place)
        yield from _slurm_hubs(stack, place)
        return
    for job in () if resolve.hosts(stack) else stack.jobs:
        yield from _job(stack, job, UNKNOWN)


def _of_runtime(stack: Stack) -> Iterator[Resource]:
    if daemons := resolve.runtime(stack):
        args = for_kubernetes.nvidia_runtime(daemons)
        for token, made in ((_SET, runtime.daemon_sets(args)), (_DEPLOYMENT, runtime.deployments(args))):
            for name, spec in made.items():
                yield token, name, {"metadata": {"namespace": runtime.NAMESPACE, "name": name}, "spec": spec}


def _job(stack: Stack, job: Job, unknown: Any) -> Iterator[Resource]:
    """A Kubernetes job, after its claim template if it has one."""
    image, products = resolve.used_image(stack, job.image), resolve.claimed_products(stack, job)
    inputs: dict[str, Any] = {**for_kubernetes.gpu_job(job, image, unknown, job.namespace, products)}
    shape_of_job = parse_job(job.name, {key: inputs[key] for key in inputs if key != "namespace"})
    made = job_spec(job.name, shape_of_job)
    metadata = {"namespace": job.namespace, "name": job.name}
    if shape_of_job.is_claiming:
        claim = claims.template_spec(shape_of_job.gpus, shape_of_job.claimed_products or ())
        called = {**metadata, "name": claims.template_name(job.name)}
        yield _CLAIM, f"{job.name}-claim", {"metadata": called, "spec": claim}
    yield "kubernetes:batch/v1:Job", job.name, {"metadata": metadata, "spec": made}


def _slurm_jobs(stack: Stack, place: for_slurm.Place) -> Iterator[Resource]:
    """Images have no location before the build: any file serves to check the text of a job."""
    access = place.site
    for job in stack.jobs:
        inputs = {**for_slurm.slurm_gpu_job(job, job.slurm, job.image, place)}
        shape = parse_slurm_job(job.name, {key: inputs[key] for key in inputs if key not in {"site", "sif"}})
        try:
            text = batch_script(shape, access, f"{access.image_store}/{job.image}.sif", f"{access.image_store}/logs")
        except Unwritable as error:
            reason, _, fix = str(error).rpartition(": ")
            raise SettingsError([Problem(f"job {job.name}", "", reason, fix)]) from None
        pools = [each.pool for each in shape.partitions]
        made = {"image": UNKNOWN, "image_name": job.image, "pools": pools, "gpus": shape.gpus, "text": text}
        yield SLURM_JOB_TOKEN, job.name, made


def _slurm_hubs(stack: Stack, place: for_slurm.Place) -> Iterator[Resource]:
    """The same for the jobs that run users' servers."""
    access, files = place.site, cast("Mapping[str, str]", place.sifs)
    for hub in stack.hubs:
        args = for_slurm.slurm_hub(resolve.resolved_hub(stack, hub), place)
        inputs = {key: value for key, value in args.items() if key != "site"}
        shape = parse_slurm_hub(hub.name, inputs, access)
        try:
            known = texts(shape, access, files)
        except Unwritable as error:
            reason, _, fix = str(error).rpartition(": ")
            raise SettingsError([Problem(f"hub {hub.name}", "", reason, fix)]) from None
        profiles = [
            {
                "name": each.name,
                "image": UNKNOWN,
                "image_name": each.image_name,
                "pools": [one.pool for one in each.partitions],
                "gpus": each.gpus,
                "text": known[each.name],
            }
            for each in shape.profiles
        ]
        yield SLURM_HUB_TOKEN, hub.name, {"hub": hub.name, "profiles": profiles}


def _on_host(stack: Stack, host: HostPool, unknown: Any) -> Iterator[Resource]:
    """Its containers and jobs. Only the engine knows which GPUs are free now: any serve to check the rest."""
    here = resolve.resolved_host(stack, host)
    for each in resolve.on_host(stack, host):
        granted, image = Grant(here.cards[: each.gpus]) if each.gpus else None, resolve.used_image(stack, each.image)
        inputs: dict[str, Any] = {**for_docker.docker_gpu_container(each, image, unknown[each.image], here, granted)}
        if granted and not host.shared_gpus:
            inputs["card_networks"] = [card.network for card in granted.cards]
        made = container_args(each.name, parse_container(each.name, inputs), network="")
        yield CONTAINER_TOKEN, each.name, wire_form(made)
    for hub in resolve.hubs_on(stack, host):
        networks = [] if host.shared_gpus else [card.network for card in here.cards]
        inputs = {**for_docker.docker_hub(resolve.resolved_hub(stack, hub), unknown, here, networks)}
        yield DOCKER_HUB_TOKEN, hub.name, inputs
        for name, args in own_containers(hub.name, parse_docker_hub(hub.name, inputs)):
            yield CONTAINER_TOKEN, name, wire_form(args)


def _judged(resources: Sequence[Resource], site: Site) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """The findings, and those left to a preview or an update; findings about the stack itself never are."""
    refusals = ImageRefusals()
    workloads: list[Workload] = []
    found: list[Message] = []
    left: list[Message] = []
    for token, name, inputs in resources:
        seen: Seen = judged(token, name, inputs, site, refusals)
        workloads += seen.workloads
        for each in seen.messages:
            is_left = each.level is Level.UNPROVED and token not in {IMAGE_TOKEN, STACK_TOKEN}
            (left if is_left else found).append(each)
    for rule in ALL_RULES:
        for finding in results(lambda rule=rule: rule.check_together(workloads, site)) if rule.check_together else ():  # type: ignore[misc]
            (left if finding.level is Level.UNPROVED else found).append(
                message(rule, finding.subject or "stack", finding)
            )
    return tuple(dict.fromkeys(found)), tuple(dict.fromkeys(left))
