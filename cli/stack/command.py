"""`gpu-commons stack`: a stack file as a whole."""

from __future__ import annotations

import os
from pathlib import Path

import click

from cli.entry import FINDINGS, USAGE
from cli.stacks import site_option, stack_file, stack_name
from cli.terminal import as_json, json_text, painter, width


@click.group()
def stack() -> None:
    """Check stack files before anything is built or deployed.

    \b
    Example:
      gpu-commons stack check dsmlp-fall
      gpu-commons stack check --json stacks/Pulumi.dsmlp-fall.yaml
    """


@stack.command(
    short_help="Check a stack file; without --cluster, without a network or the engine.",
    epilog="Exit codes: 0 nothing is refused, 1 something is refused, a probed host is not what its pool says or the "
    "cluster lacks something, 2 usage or mistakes in the file or a spec.",
)
@click.argument("file", metavar="NAME|FILE")
@site_option(", as in GPU_COMMONS_SITE. Default: none.")
@click.option(
    "--probed", multiple=True, metavar="[POOL=]FILE",
    help="Facts of a host, as probe --json printed them, to compare with its pool. May be given several times.",
)  # fmt: skip
@click.option(
    "--cluster", "with_cluster", is_flag=True,
    help="Also ask the API server, through kubectl, for what the stack needs there. Reads only.",
)  # fmt: skip
@as_json
@click.pass_context
def check(  # noqa: PLR0913 - one for each option
    ctx: click.Context, /, file: str, site: Path | None, probed: tuple[str, ...], *, with_cluster: bool, is_json: bool
) -> None:
    """Check a stack file offline: settings, specs of its images, images on pools, placement, promises to courses.

    The rules are those of the policy pack. Rules that need a built image (its size, its content) are listed at the end;
    a preview or an update proves them. Facts that a probe has read (--probed) are compared with what the pools say,
    and keep the day on which they were read.

    With --cluster, the cluster of the site is asked for storage and ingress classes, Secrets of certificates and
    logins, issuers of cert-manager, another Node Feature Discovery, and, where the site or the GPU operator brings the
    runtime, for nodes that offer GPUs.

    \b
    Examples:
      gpu-commons stack check dsmlp-fall
      gpu-commons stack check --json stacks/Pulumi.dsmlp-fall.yaml
      gpu-commons stack check comet --probed shared-p100=probes/comet-30-03.json
      gpu-commons stack check dsmlp-fall --cluster
    """
    from cli.stack.check import Checked, check_stack  # noqa: PLC0415 - the list of commands needs no pydantic
    from cli.stack.cluster import check_cluster, cluster_data, cluster_text  # noqa: PLC0415
    from cli.stack.probe_facts import probed_data, probed_pools, probed_text  # noqa: PLC0415
    from cli.stack.report import problems_data, problems_text, stack_data, stack_text  # noqa: PLC0415

    path = stack_file(file, option="")
    shown = Path(os.path.relpath(path)) if path.is_relative_to(Path.cwd()) else path
    result = check_stack(path, site=site)
    if not isinstance(result, Checked):
        if is_json:
            click.echo(json_text(problems_data(shown, result)))
        click.echo(f"Error: {problems_text(result)}", err=True)
        ctx.exit(USAGE)
    hosts = probed_pools(result.stack, probed)
    cluster = check_cluster(result.stack) if with_cluster else None
    if is_json:
        more: dict[str, object] = {"probed": probed_data(stack_name(file), hosts)} if probed else {}
        more |= {"cluster": cluster_data(cluster)} if cluster else {}
        click.echo(json_text({**stack_data(shown, result), **more}))
    else:
        text = stack_text(shown, result, width=width(), paint=painter()) + probed_text(hosts, painter())
        click.echo(text + (cluster_text(cluster, painter()) if cluster else ""), nl=False)
    lacks = cluster is not None and bool(cluster.problems)
    ctx.exit(FINDINGS if result.refused or lacks or not all(each.is_fine for each in hosts) else 0)


@stack.command(
    short_help="How few images the pools of a stack need, and why.",
    epilog="Exit codes: 0 every pool is served, 1 a pool has no driver that is known, or none that runs, 2 usage.",
)
@click.argument("name", metavar="NAME|FILE")
@as_json
@click.pass_context
def groups(ctx: click.Context, /, name: str, *, is_json: bool) -> None:
    """Group pools by what one image can serve: a CUDA line that all their drivers run, and code for all their GPUs.

    Each group needs one image, and there are as few groups as possible. The output names what limits each group.

    \b
    Examples:
      gpu-commons stack groups comet
      gpu-commons stack groups --json dsmlp-fall
    """
    from cli.stack.groups import groups_data, groups_text  # noqa: PLC0415 - see above
    from cli.stacks import pools_of, read_stack  # noqa: PLC0415
    from compat.verdict.image_groups import image_groups  # noqa: PLC0415

    settings = read_stack(name)
    pools = [nodes for pool in settings.fleet.pools for nodes in pools_of(pool)]
    result = image_groups(pools)
    shown = stack_name(name)
    click.echo(json_text(groups_data(shown, result)) if is_json else groups_text(shown, result, pools), nl=is_json)
    ctx.exit(FINDINGS if result.undecided or result.without else 0)
