"""Runs suites one after the other, starts what each needs, and ends with the table of all."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import click

from lab import engine, processes, results, steps
from lab.instance import Instance, LabError
from lab.suites import Needs, Suite, run_suite
from lab.toolchain import Report, Toolchain

INTERRUPTED = 2  # pytest's exit code after Ctrl-C
# Names in the table → what runs beside the suites that need nothing. Missing tools are built during the tests.
CHECKS = {"format, lint, types, contracts": ("make", "--no-print-directory", "static")}
TOOLS = {"tools, built meanwhile": ("nice", "-n", "10", sys.executable, "-m", "lab", "tools", "--for-tests")}


@dataclass(slots=True)
class SuiteRun:
    """One run: which lab it uses, and its results so far. `bring_up` is `make up` of the stack."""

    instance: Instance
    tools: Toolchain
    report: Report
    bring_up: Callable[[], None]
    results: list[results.Result] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    def run(self, suites: Sequence[Suite], beside: Mapping[str, Sequence[str]]) -> int:
        """Run all, whichever fails; a failed step ends the run. Prints the table; returns an exit code."""
        try:
            self._run_all(suites, beside)
        except LabError as error:
            click.secho(f"error: {error}", err=True, fg="red")
            if not any(each.failed for each in self.results):
                self.results.append(results.of_step("what the error names", 0, succeeded=False))
        click.echo("\n" + results.table(self.results, time.monotonic() - self._began))
        return 1 if any(each.failed for each in self.results) else 0

    def _run_all(self, suites: Sequence[Suite], beside: Mapping[str, Sequence[str]]) -> None:
        by_need = {need: [suite for suite in suites if suite.needs is need] for need in Needs}
        with self._beside(beside):
            self._run_suites(by_need[Needs.NOTHING])
            if by_need[Needs.BROWSER]:
                self.tools.ensure_test_packages(self.report)  # on a new machine the tools are still being built
                self._run_suites(by_need[Needs.BROWSER])
        if not by_need[Needs.TOOLS] and not by_need[Needs.STACK]:
            return
        with self._step("tools and plugins"):
            self.tools.ensure(self.report, for_tests=True)
            self.tools.ensure_test_packages(self.report)
            engine.prepare(self.instance, self.tools, self.report)
        with self._images():
            self._run_suites(by_need[Needs.TOOLS])
            if by_need[Needs.STACK]:
                with self._stack():
                    self._run_suites(by_need[Needs.STACK])

    def _run_suites(self, suites: Sequence[Suite]) -> None:
        for suite in suites:
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="gc-") as folder:
                counts = Path(folder) / "counts.xml"
                code = run_suite(self.instance, self.tools, suite, counts)
                result = results.of_suite(suite.name, time.monotonic() - began, code, counts)
            self.results.append(result)
            self.report(f"{suite.name}: {'passed' if code == 0 else 'FAILED'} in {result.seconds / 60:.1f} min")
            if code == INTERRUPTED:
                raise LabError("the run was interrupted")

    @contextlib.contextmanager
    def _beside(self, commands: Mapping[str, Sequence[str]]) -> Iterator[None]:
        """Commands that run meanwhile, and are waited for."""
        with ThreadPoolExecutor(max(1, len(commands))) as pool:
            running: list[Future[results.Result]] = [
                pool.submit(_result_of, name, argv) for name, argv in commands.items()
            ]
            try:
                yield
            finally:
                self.results += [each.result() for each in running]

    @contextlib.contextmanager
    def _images(self) -> Iterator[None]:
        """Registry and BuildKit of the lab, which it lends to the tests' labs (tests/own_lab.py)."""
        before = steps.running(self.instance)
        try:
            steps.start_images(self.instance, self.tools)
            yield
        finally:
            steps.stop_images(self.instance, keep=before)

    @contextlib.contextmanager
    def _stack(self) -> Iterator[None]:
        """The stack on the lab: on one that was up, else on one that is started and ended here."""
        was_up, had_cluster = steps.is_up(self.instance), self.instance.kubeconfig.exists()
        try:
            if not was_up:
                with self._step("make up"):
                    self.bring_up()
            yield
        finally:
            if not was_up:
                steps.stop(self.instance, self.tools, self.report, keep=steps.OF_EVERY_LAB)
                if not had_cluster:  # otherwise a stack of images would start one from now on
                    self.instance.kubeconfig.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _step(self, name: str) -> Iterator[None]:
        began, succeeded = time.monotonic(), False
        try:
            yield
            succeeded = True
        finally:
            self.results.append(results.of_step(name, time.monotonic() - began, succeeded=succeeded))


def _result_of(name: str, argv: Sequence[str]) -> results.Result:
    began = time.monotonic()
    code = processes.call(argv, cwd=engine.PROJECT, env={})
    return results.of_step(name, time.monotonic() - began, succeeded=code == 0)
