"""`python -m lab`: brings a stack up on one machine, and takes the lab down again."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from cli.entry import Guarded, run
from lab import engine, forgotten, health, migration, operations, sdks, steps, suite_runs, suites, summary
from lab.instance import DEFAULT_STACK, Instance, LabError, find_instance, forget_instance, open_instance
from lab.machine import sif_runtime, slurm_cluster
from lab.one_at_a_time import alone
from lab.toolchain import Toolchain
from settings.reading import load_stack

STARTED = time.monotonic()


def report(text: str) -> None:
    """Print progress to stderr, with seconds since the command began."""
    click.echo(f"[{time.monotonic() - STARTED:6.1f} s] {text}", err=True)


def _plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except LabError as error:
            click.secho(f"error: {error}", err=True, fg="red")
            sys.exit(1)

    return wrapped


def _detail(_context: click.Context, _parameter: click.Parameter, given: bool) -> operations.Detail:  # noqa: FBT001 - click's
    return operations.Detail.EVERYTHING if given else operations.Detail.CHANGES


VERBOSE = click.option(
    "-v",
    "--verbose",
    "detail",
    is_flag=True,
    callback=_detail,
    help="Show everything that the engine shows: unchanged resources, reads, each line of a build.",
)


@click.group(cls=Guarded, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--instance", "name", default="default", show_default=True, help="Which lab: each has its own folder.")
@click.pass_context
def main(context: click.Context, name: str) -> None:
    """One-machine lab: registry, BuildKit, a Kubernetes cluster, and `pulumi up` on it.

    Example: python -m lab up --stack dsmlp-fall
    """
    context.obj = name


@main.command()
@click.option("--stack", default=DEFAULT_STACK, show_default=True, help="Stack to bring up.")
@click.option("--without-stack", is_flag=True, help="Start the servers and join the machines, but run no `pulumi up`.")
@click.option("--simulated", is_flag=True, help="No real node: every machine of the fleet is simulated.")
@VERBOSE
@click.pass_obj
@_plain_errors
def up(name: str, stack: str, without_stack: bool, simulated: bool, detail: operations.Detail) -> None:  # noqa: FBT001 - click's flags
    """Tools, servers, the fleet's machines, the engine's plugins, then `pulumi up`."""
    instance, tools = open_instance(name), Toolchain()
    with alone(instance, "make up"):
        sdks.ensure(_stack_file(stack), report)
        nodes = steps.Nodes.SIMULATED if simulated else steps.Nodes.ONE_REAL
        steps.start(instance, tools, _stack_file(stack), nodes, report)
        engine.prepare(instance, tools, report, plugins=steps.plugins_of(steps.read_stack(_stack_file(stack))))
        if without_stack:
            report(f"checked: {health.check(instance)}")
            return
        click.echo(_deploy(instance, tools, stack, detail))


def _deploy(instance: Instance, tools: Toolchain, stack: str, detail: operations.Detail) -> str:
    """Run `pulumi up` and check the result; returns the summary."""
    engine.select_stack(instance, tools, stack)
    engine.settle(instance, tools, stack, report)  # a lock that was left would refuse what follows
    migration.adopt(instance, tools, stack, report)
    forgotten.refresh(instance, tools, stack, report)
    report(f"pulumi up --stack {stack}")
    verdict, notices = operations.up(instance, tools, stack, detail)
    outputs = engine.outputs(instance, tools, stack)
    report("servers and hubs answer …")
    hubs = outputs.get("hubs") or {}
    by_port = load_stack(_stack_file(stack)).site.kind in {"docker", "slurm"}
    checked = health.check(instance, on_hosts=hubs) if by_port else health.check(instance, hubs)
    return summary.text(instance, summary.Deployed(stack, _stack_file(stack), outputs, verdict, checked, notices))


@main.command()
@click.option("--stack", default=DEFAULT_STACK, show_default=True)
@click.option(
    "--events",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the events for `gpu-commons comment` to this file.",
)
@VERBOSE
@click.pass_obj
@_plain_errors
def preview(name: str, stack: str, events: Path | None, detail: operations.Detail) -> None:
    """What `up` would change; the servers must run. The stack need not have been deployed."""
    sdks.ensure(_stack_file(stack), report)
    instance, tools = find_instance(name), Toolchain()
    engine.prepare(instance, tools, report, plugins=steps.plugins_of(steps.read_stack(_stack_file(stack))))
    engine.select_stack(instance, tools, stack)
    migration.adopt(instance, tools, stack, report)
    ended = operations.preview(instance, tools, stack, detail, events)
    for line in summary.notices(ended.notices):
        click.echo(line)
    sys.exit(ended.code)


@main.command()
@click.pass_obj
@_plain_errors
def down(name: str) -> None:
    """End everything that `up` started; data stays."""
    steps.stop(open_instance(name), Toolchain(), report)


@main.command()
@click.pass_obj
@_plain_errors
def clean(name: str) -> None:
    """End everything and remove the instance: cluster, registry, state and user volumes."""
    instance = open_instance(name)
    steps.stop(instance, Toolchain(), report)
    slurm_cluster.forget(instance)
    forget_instance(instance)
    report(f"removed {instance.home}")


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
@_plain_errors
def status(name: str, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """What runs, since when, on which port, and which plugins are stand-ins; 1 unless all that was started runs."""
    instance = find_instance(name)
    click.echo(summary.status_json(instance) if as_json else summary.status_text(instance))
    sys.exit(0 if summary.is_up(summary.status_rows(instance)) else 1)


@main.command()
@click.pass_obj
@_plain_errors
def env(name: str) -> None:
    """Variables that a bare `pulumi` needs, for `eval`."""
    click.echo(engine.shell_exports(engine.environment(find_instance(name), Toolchain())))


@main.command()
@click.option("--stack", default=DEFAULT_STACK, show_default=True, help="Stack to install the tools for.")
@click.option("--for-tests", is_flag=True, help="Install all tools, with those that only tests need.")
@_plain_errors
def tools(stack: str, for_tests: bool) -> None:  # noqa: FBT001 - click's flag
    """Install the tools that the stack needs, nothing else."""
    toolchain = Toolchain()
    if for_tests:
        toolchain.ensure_test_packages(report)  # first: pages are tested while tools are built
        toolchain.ensure(report, for_tests=True)
        return
    read = steps.read_stack(_stack_file(stack))
    has_cluster, kind, also = steps.needs_cluster(read), read.site.kind, engine.to_build(None, steps.plugins_of(read))
    toolchain.ensure(
        report, for_clusters=has_cluster, for_docker=kind == "docker", for_slurm=kind == "slurm", also=also
    )
    if kind == "slurm":
        toolchain.ensure_one(sif_runtime.NAME, report)


@main.command()
@click.argument("step", type=click.Choice(steps.NAMES))
@click.option("--stack", default=DEFAULT_STACK, show_default=True)
@click.pass_obj
@_plain_errors
def step(name: str, step: str, stack: str) -> None:
    """Run one step of `up` alone; the steps before it must have run."""
    steps.one(open_instance(name), Toolchain(), _stack_file(stack), step, report)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
@_plain_errors
def test(name: str, args: tuple[str, ...]) -> None:
    """What `make test` runs (CONTRIBUTING.md), with a table at the end; with arguments these tests, by pytest."""
    instance, toolchain = open_instance(name), Toolchain()
    if not args:
        sys.exit(_run(instance, toolchain, suites.TEST, {**suite_runs.CHECKS, **suite_runs.TOOLS}))
    toolchain.ensure(report, for_tests=True)
    toolchain.ensure_test_packages(report)
    engine.prepare(instance, toolchain, report)
    sys.exit(suites.run_tests(instance, toolchain, ["-m", suites.EVERYTHING, *args]))


@main.command()
@click.argument("part", required=False, type=click.Choice([*suites.SOAK]))
@click.pass_obj
@_plain_errors
def soak(name: str, part: str | None) -> None:
    """A part of what takes too long for `make test`, or all parts, with a table at the end."""
    chosen = [suites.SOAK[part]] if part else [*suites.SOAK.values()]
    sys.exit(_run(open_instance(name), Toolchain(), chosen, {}))


def _run(
    instance: Instance, tools: Toolchain, chosen: Sequence[suites.Suite], beside: Mapping[str, Sequence[str]]
) -> int:
    def bring_up() -> None:
        steps.start(instance, tools, _stack_file(DEFAULT_STACK), steps.Nodes.ONE_REAL, report)
        _deploy(instance, tools, DEFAULT_STACK, operations.Detail.CHANGES)

    return suite_runs.SuiteRun(instance, tools, report, bring_up).run(chosen, beside)


def _stack_file(stack: str) -> Path:
    path = engine.PROJECT / "stacks" / f"Pulumi.{stack}.yaml"
    if not path.exists():
        known = ", ".join(sorted(found.name[7:-5] for found in path.parent.glob("Pulumi.*.yaml")))
        raise LabError(f'there is no stack "{stack}" in {path.parent}; there are: {known}')
    return path


if __name__ == "__main__":
    run(main, "python -m lab", failure=1)
