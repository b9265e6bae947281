"""Which SDKs a stack's program loads: each takes seconds and a hundred megabytes, and most stacks need few."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PROGRAM = """
import asyncio, importlib.util, sys
import pulumi
from pathlib import Path
from pulumi.runtime.stack import run_pulumi_func
from settings.reading import load_stack

class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args):
        return args.resource_id or args.name, {"metadata": {}, **args.inputs}

    def call(self, args):
        return {}

async def run():
    pulumi.runtime.set_mocks(Mocks(), preview=True)
    spec = importlib.util.spec_from_file_location("program", "__main__.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    await run_pulumi_func(lambda: program.deploy(load_stack(Path("stacks", f"Pulumi.{sys.argv[1]}.yaml"))))

asyncio.run(run())
print(*sorted({name.partition(".")[0] for name in sys.modules if name.startswith("pulumi_")}))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stack", "sdks"),
    [
        ("dsmlp-fall", {"pulumi_docker_build", "pulumi_kubernetes"}),
        ("cupy", {"pulumi_docker_build"}),
        ("eks-g6", {"pulumi_aws", "pulumi_docker_build", "pulumi_kubernetes"}),
    ],
)
def test_a_stack_loads_the_sdks_of_what_it_makes_and_no_other(stack: str, sdks: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, stack], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert set(done.stdout.split()) == sdks
