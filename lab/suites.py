"""The circles of tests (CONTRIBUTING.md): suites of `make test`, parts of `make soak`.

A test belongs to `make test` unless its marker `soak` names a part. In tests/lab and tests/faults the folder decides.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from lab import engine, processes
from lab.cluster import SIMULATED_NODE
from lab.instance import Instance
from lab.toolchain import Toolchain

FOLDERS = ("tests",)


class Needs(IntEnum):
    """What a suite needs before it begins. Suites run in this order."""

    NOTHING = 0  # except Python
    BROWSER = 1  # from Debian
    TOOLS = 2  # of labs, which its tests start themselves
    STACK = 3  # the lab with dsmlp-fall on it


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests in one call of pytest. Each file runs on one of its workers, unless a conftest says otherwise.

    If tests wait more than they compute, a third worker fills the two cores.
    """

    name: str
    marked: str
    places: tuple[str, ...] = FOLDERS
    needs: Needs = Needs.TOOLS
    workers: int = 2
    spread: str = "loadfile"
    numbers: Mapping[str, int] = field(default_factory=dict)  # GPU_COMMONS_TEST_…: how many examples to try

    @property
    def options(self) -> list[str]:
        """Arguments of pytest."""
        return ["-q", "-m", self.marked, "-n", str(self.workers), "--dist", self.spread, *self.places]

    @property
    def variables(self) -> dict[str, str]:
        return {f"GPU_COMMONS_TEST_{name}": str(number) for name, number in self.numbers.items()}


TEST = (
    Suite(
        "tests without servers",
        "not lab and not browser and not soak",
        needs=Needs.NOTHING,
        workers=3,
        spread="worksteal",
        numbers={"EXAMPLES": 25, "TREES": 400, "RANDOM_INPUTS": 1000},
    ),
    Suite("pages in a browser", "browser and not lab and not soak", needs=Needs.BROWSER),
    Suite("a contract for each stack", "lab and not soak", ("tests/stacks",), workers=3),
    Suite("conformance", "lab and not soak", ("tests/conformance",), Needs.STACK),
    Suite("dsmlp-fall, end to end", "lab and not soak", ("tests/e2e",), Needs.STACK),
)


def _part(name: str, *places: str, needs: Needs = Needs.TOOLS, workers: int = 2, **numbers: int) -> Suite:
    return Suite(name, f"soak(part='{name}')", places, needs, workers, numbers=numbers)


def _at_length(name: str, *places: str, **numbers: int) -> Suite:
    """Tests of `make test` with more examples, and those that only `make soak` runs."""
    return Suite(name, "not lab and not browser", places, Needs.NOTHING, 2, "worksteal", numbers)


SOAK = {
    suite.name: suite
    for suite in (
        _at_length("compat", "tests/compat", "tests/settings/test_settings.py", EXAMPLES=400, RANDOM_INPUTS=100_000),
        _at_length("policies", "tests/policies", TREES=10_000),
        _part("lab", "tests/lab", workers=3),
        _part("faults", "tests/faults", workers=3),
        _part("kills", "tests/lab", "tests/faults", workers=1, KILLED_JOBS=20, KILLS=10),
        _part("pages", "tests/e2e", needs=Needs.STACK),
        _part("languages", "tests/e2e", needs=Needs.STACK),
    )
}
# Suites that need servers or take long; pytest runs them where they are named.
EVERYTHING = "lab or browser or slow"


def run_suite(instance: Instance, tools: Toolchain, suite: Suite, report: Path) -> int:
    """Run one suite, which leaves its counts in `report`; returns pytest's exit code."""
    options = [*suite.options, f"--junitxml={report}"]
    if suite.needs < Needs.TOOLS:
        return _pytest(options, suite.variables)
    return run_tests(instance, tools, options, suite.variables)


def run_tests(instance: Instance, tools: Toolchain, args: Sequence[str], more: Mapping[str, str] | None = None) -> int:
    """Run tests that need servers, with these in their environment; returns pytest's exit code."""
    variables = {
        **engine.environment(instance, tools),
        "GPU_COMMONS_LAB": instance.name,
        "GPU_COMMONS_PULUMI": engine.program(instance, tools),
        "GPU_COMMONS_TEST_KUBECONFIG": str(instance.kubeconfig),
        # Conformance cases name images that nobody pulls: their pods belong on simulated nodes.
        "GPU_COMMONS_TEST_NODE_SELECTOR": "=".join(SIMULATED_NODE),
        **(more or {}),
    }
    return _pytest(args, variables)


def _pytest(args: Sequence[str], variables: Mapping[str, str]) -> int:
    return processes.call([sys.executable, "-m", "pytest", *args], cwd=engine.PROJECT, env=variables)
