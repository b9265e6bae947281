"""`gpu-commons top`: who has which GPUs now, and since when."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import click

from cli.entry import USAGE
from cli.kubectl import Cluster, ClusterUnreachable, listed
from cli.stacks import read_stack, site_option, site_overlay, stack_name
from cli.terminal import InputError, as_json, json_text, painter
from cli.top.holdings import Holding, of_cluster, of_host
from cli.top.report import top_data, top_text
from settings.host_pools import HostPool
from settings.reading import Stack
from settings.sdks import missing_sdk


@click.command(epilog="Exit codes: 0 fine, 2 usage, or a host or cluster that did not answer.")
@click.option(
    "--stack", required=True, metavar="NAME|PATH",
    help="Stack file, or its name: perceptron is stacks/Pulumi.perceptron.yaml.",
)  # fmt: skip
@site_option()
@as_json
@click.pass_context
def top(ctx: click.Context, /, stack: str, site: Path | None, *, is_json: bool) -> None:
    """Who has which GPUs of a stack's fleet now, and since when; nothing is changed.

    On Docker hosts, the engine reports which container holds which GPU; containers that were started without the
    networks of the GPUs are not counted. On clusters, kubectl reports how many GPUs each pod holds on a node, and which
    pods wait for some. Users and hubs are shown for servers and kernels of a hub.

    \b
    Examples:
      gpu-commons top --stack perceptron
      gpu-commons top --stack dsmlp-fall --json
      watch -n 10 gpu-commons top --stack perceptron
    """
    settings = read_stack(stack, site=site or site_overlay())
    name = stack_name(stack)
    holdings, problems = find_holdings(name, settings)
    now = datetime.now(UTC)
    if is_json:
        click.echo(json_text(top_data(name, holdings, problems, now)))
    elif holdings or not problems:
        click.echo(top_text(name, holdings, now=now, paint=painter()), nl=False)
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    ctx.exit(USAGE if problems else 0)


_AT_ONCE = 8
_ALIVE = "status.phase!=Succeeded,status.phase!=Failed"


def find_holdings(name: str, stack: Stack) -> tuple[list[Holding], list[str]]:
    """Holdings in the order of the stack file, and each host or cluster that did not answer, with the reason."""
    hosts = [pool for pool in stack.fleet.pools if isinstance(pool, HostPool) and pool.gpus_per_node]
    if stack.site.kind == "docker":
        return _hosts(name, stack, hosts)
    pools = {pool.name: pool.node_names for pool in stack.fleet.pools if pool.gpus}
    cluster = Cluster(stack.site.kubeconfig, stack.site.kube_context)
    try:
        nodes = listed(cluster, "/api/v1/nodes") if pools else []
        pods = listed(cluster, "/api/v1/pods", fieldSelector=_ALIVE) if pools else []
    except ClusterUnreachable as error:
        return [], [f"cluster of stack {name}: {error}"]
    return [*of_cluster(pools, nodes, pods)], []


def _hosts(name: str, stack: Stack, hosts: Sequence[HostPool]) -> tuple[list[Holding], list[str]]:
    try:
        from components.on_docker.engine import EngineUnreachable, read_engine  # noqa: PLC0415 - an SDK of an extra
    except ModuleNotFoundError as error:
        if problem := missing_sdk(error, name):
            raise InputError(str(problem)) from None
        raise

    def ask(pool: HostPool) -> list[Holding] | str:
        try:
            state = read_engine(stack.engine(pool), pool.certificates)
        except EngineUnreachable as error:
            return f"host {pool.name}: {error}"
        return [*of_host(pool.name, pool.gpus_per_node, state.holders, are_shared=pool.shared_gpus)]

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        answers = [*threads.map(ask, hosts)]
    return (
        [holding for each in answers if not isinstance(each, str) for holding in each],
        [each for each in answers if isinstance(each, str)],
    )
