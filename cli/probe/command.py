"""`gpu-commons probe`: prints a GPU host as a pool of a stack file, or compares it with its pool."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.entry import FINDINGS
from cli.stacks import read_stack, site_option, site_overlay, stack_name
from cli.terminal import StatusLine, as_json, json_text, painter, print_error

if TYPE_CHECKING:  # pydantic alone costs a quarter of a second at start
    from cli.probe.script import Probed
    from platforms.slurm.site_model import SshAccess
    from settings.pool import Pool
    from settings.reading import Stack

LOGIN_NODE = 3


@click.command(
    epilog="Exit codes: 0 fine, 1 the host differs from its pool or could not be compared, 2 usage, or a host, Slurm "
    "or a cluster that did not answer, 3 a login node, where nothing is probed."
)
@click.option(
    "--via-slurm", "partition", metavar="PARTITION",
    help="Submit a job with one GPU to this partition, wait for it, and print what it found.",
)  # fmt: skip
@click.option(
    "--ssh", metavar="USER@HOST", help="Probe this host over ssh: it needs Python 3.6, and nothing is installed on it."
)
@click.option(
    "--kubernetes", "node", metavar="NODE|POOL",
    help="Have a Job with one GPU probe this node, or one of this pool, wait for it, print what it found, delete it.",
)  # fmt: skip
@click.option(
    "--image", metavar="IMAGE",
    help="Image of that Job, which needs python3 and glibc: python:3.13-slim, or one of your own.",
)  # fmt: skip
@click.option("--namespace", metavar="NAME", help="Namespace of that Job. Default: the kubeconfig's.")
@click.option(
    "--stack", metavar="NAME|PATH",
    help="Stack whose pool is compared; with --via-slurm its login node is used, with --kubernetes its kubeconfig.",
)  # fmt: skip
@click.option("--pool", metavar="NAME", help="Pool of the stack that the host belongs to.")
@site_option()
@click.option(
    "--within-s", type=click.IntRange(10), default=900, show_default=True, metavar="SECONDS",
    help="How long a Slurm job or a Kubernetes Job may wait and run before it is cancelled.",
)  # fmt: skip
@as_json
@click.pass_context
def probe(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    /,
    *,
    partition: str | None,
    ssh: str | None,
    node: str | None,
    image: str | None,
    namespace: str | None,
    stack: str | None,
    pool: str | None,
    site: Path | None,
    within_s: int,
    is_json: bool,
) -> None:
    """Print what this GPU host is: driver, GPUs, CUDA level, kernel module, container toolkit, glibc, disks.

    The first part of the YAML has the keys of a pool in a stack file; what cannot be read is unknown, with the reason.
    Nothing on the host is changed. A Slurm login node is never probed: --via-slurm submits a five-minute job in the
    current folder, which login and compute nodes must share; SBATCH_ACCOUNT and SBATCH_QOS are respected. On
    Kubernetes a Job without any rights probes the node (--kubernetes), through kubectl. With --stack and --pool, the
    differences from the pool are printed instead of the facts.

    \b
    Examples:
      gpu-commons probe
      gpu-commons probe --ssh ops@workstation.example.edu
      gpu-commons probe --via-slurm gpu-shared
      gpu-commons probe --stack comet --pool shared-p100 --via-slurm gpu-shared
      gpu-commons probe --kubernetes n18 --image python:3.13-slim
    """
    from cli.probe.transport import OnLoginNode  # noqa: PLC0415 - the list of commands needs no pydantic
    from platforms.docker.probe import as_yaml  # noqa: PLC0415

    _check(ssh, partition, node, image, namespace)
    if stack is None and (pool or site):
        raise click.UsageError(f"{'--pool' if pool else '--site'} needs --stack")
    if stack and not (pool or partition or node):
        raise click.UsageError("--stack needs --pool, the pool to compare with")
    settings = read_stack(stack, site=site or site_overlay()) if stack else None
    chosen = _pool(settings, pool, partition) if settings and pool else None
    try:
        if node and image:
            probed = _of_cluster(settings, chosen, node, image, namespace, within_s)
        else:
            probed = _of_host(settings, chosen, partition, ssh, within_s)
    except OnLoginNode as error:
        print_error(error)
        ctx.exit(LOGIN_NODE)
    if stack is None or chosen is None:
        text = json_text({"pool": probed.pool, "host": probed.host}) if is_json else as_yaml(probed.pool, probed.host)
        click.echo(text, nl=is_json)
        return
    slurm = settings.site.slurm if settings else None
    version = slurm.program_version if slurm else None
    _compare(ctx, stack_name(stack), chosen, probed, program_version=version, is_json=is_json)


def _check(ssh: str | None, partition: str | None, node: str | None, image: str | None, namespace: str | None) -> None:
    """Check that the options fit together. Raises UsageError."""
    if ssh and partition:
        raise click.UsageError("--ssh and --via-slurm cannot be combined: --via-slurm uses the login node of --stack")
    if node and (ssh or partition):
        raise click.UsageError(f"--kubernetes and {'--ssh' if ssh else '--via-slurm'} cannot be combined")
    if (image or namespace) and not node:
        raise click.UsageError(f"{'--image' if image else '--namespace'} needs --kubernetes")
    if node and not image:
        raise click.UsageError("--kubernetes needs --image: one with python3 and glibc that the nodes can pull")


def _of_cluster(  # noqa: PLR0913, PLR0917 - which cluster, which node, and how
    settings: Stack | None, chosen: Pool | None, node: str, image: str, namespace: str | None, within_s: int
) -> Probed:
    from cli.kubectl import Cluster  # noqa: PLC0415 - see above
    from cli.probe.kubernetes import ProbeRequest, by_kubernetes  # noqa: PLC0415
    from imaging.references import ImageReference  # noqa: PLC0415

    site = settings.site if settings else None
    if site and site.kind in {"docker", "slurm"}:
        raise click.UsageError(f"--kubernetes: the site of this stack is of kind {site.kind}")
    try:
        ImageReference.parse(image)
    except ValueError as error:
        raise click.BadParameter(f'"{image}" {error}', param_hint="--image") from None
    names = {pool.name: pool.node_names for pool in settings.fleet.pools} if settings else {}
    if chosen and node not in {chosen.name, *chosen.node_names} and chosen.node_names:
        raise click.BadParameter(
            f"{node} is neither pool {chosen.name} nor one of its nodes", param_hint="--kubernetes"
        )
    cluster = Cluster(site.kubeconfig if site else None, site.kube_context if site else None)
    line = StatusLine()
    try:
        request = ProbeRequest(cluster, node, image, secrets.token_hex(4), namespace, names.get(node, ()))
        return by_kubernetes(request, within_s=within_s, show=line.show)
    finally:
        line.clear()


def _of_host(
    settings: Stack | None, chosen: Pool | None, partition: str | None, ssh: str | None, within_s: int
) -> Probed:
    from cli.probe.script import Job  # noqa: PLC0415
    from cli.probe.transport import by_slurm, by_ssh, here  # noqa: PLC0415 - see above
    from platforms.slurm.site_model import LocalAccess  # noqa: PLC0415

    site = settings.site.slurm if settings else None
    if ssh:
        return by_ssh(_ssh(ssh))
    if not partition:
        return here(site.program if site else "")
    if settings and site is None:
        raise click.UsageError("--via-slurm: the site of this stack has no Slurm")
    account, program = (site.account, site.program) if site else (None, "")
    job = Job(partition, secrets.token_hex(4), getattr(chosen, "gres", None), account)
    line = StatusLine()
    line.show(f"waiting for job {job.name} in partition {partition}")
    try:
        return by_slurm(
            site.access if site else LocalAccess(kind="local"),
            {"SLURM_CONF": site.config} if site and site.config else {},
            job,
            program=program,
            within_s=within_s,
        )
    finally:
        line.clear()


def _pool(settings: Stack, name: str, partition: str | None) -> Pool:
    from errors.problems import nearest  # noqa: PLC0415 - for a mistake alone

    pools = {each.name: each for each in settings.fleet.pools}
    if name not in pools:
        raise click.BadParameter(f'there is no pool "{name}"; {nearest(name, pools, what="pool")}', param_hint="--pool")
    declared = getattr(pools[name], "partition", None)
    if partition and declared != partition:
        where = f"is in partition {declared}" if declared else "is not a partition of Slurm"
        raise click.BadParameter(f"pool {name} {where}", param_hint="--via-slurm")
    return pools[name]


def _ssh(address: str) -> SshAccess:
    from pydantic import ValidationError  # noqa: PLC0415 - see above

    from platforms.slurm.site_model import SshAccess  # noqa: PLC0415

    try:
        return SshAccess.model_validate({"kind": "ssh", "address": address})
    except ValidationError:
        raise click.BadParameter(
            f'"{address}" is not an address: write user@host, or host', param_hint="--ssh"
        ) from None


def _compare(  # noqa: PLR0913 - a stack's name and its parts
    ctx: click.Context, stack: str, pool: Pool, probed: Probed, *, program_version: str | None, is_json: bool
) -> None:
    from cli.probe.differences import compare, compared_data, compared_text, is_fine  # noqa: PLC0415 - see above

    rows = compare(probed, pool, program_version)
    if is_json:
        click.echo(json_text(compared_data(stack, pool.name, probed, rows)))
    else:
        click.echo(compared_text(pool.name, probed, rows, painter()), nl=False)
    ctx.exit(0 if is_fine(rows) else FINDINGS)
