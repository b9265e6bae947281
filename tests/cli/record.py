r"""Records previews for the tests of `gpu-commons comment`, from a lab, as an engine with the pack streams them.

.venv/bin/python -m lab --instance record up --simulated --without-stack
eval "$(.venv/bin/python -m lab --instance record env)"
.venv/bin/python tests/cli/record.py first first-driver
.venv/bin/python -m lab --instance record up
.venv/bin/python tests/cli/record.py destroy driver failed fleet forgotten image next no-pack nothing one-node \
  promises refused several-pools smaller

A recording is what the engine wrote, but for the names of this machine: paths and the registry's address.
`--folder` writes elsewhere. Afterwards `make golden`, and read the diff.
"""

from __future__ import annotations

import copy
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import yaml
from previews import RECORDINGS

PROJECT = Path(__file__).resolve().parents[2]
STACK = "dsmlp-fall"
COPIED = (
    *("compat", "components", "errors", "fleet", "images", "imaging", "platforms", "policies", "settings", "workloads"),
    *("Pulumi.yaml", "__main__.py", "pyproject.toml", "uv.lock"),
)
STREAM = "PULUMI_ENABLE_STREAMING_JSON_PREVIEW"
SEQUENCE = b'"sequence":'
TORCH_1_8 = {
    'version: "1.0.0"': 'version: "1.1.0"',
    "name: pytorch-1.7": "name: pytorch-1.8",
    'line: "10.1"\n      source: wheels': 'line: "11.1"\n      source: wheels',
    "torch==1.7.1+cu101": "torch==1.8.1+cu111",
    "torchvision==0.8.2+cu101": "torchvision==0.9.1+cu111",
}

Config = dict[str, Any]


def unchanged(config: Config) -> None:
    """The stack as it is."""


def driver(version: str) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        for pool in config["gpu-commons:fleet"]["pools"]:
            pool["driver"] = version

    return change


def upgraded(config: Config) -> None:
    """What stacks/Pulumi.dsmlp-next.yaml has."""
    config.clear()
    config.update(stack_file("dsmlp-next")["config"])


def taint(config: Config) -> None:
    """The profile on these nodes does not tolerate it."""
    config["gpu-commons:fleet"]["pools"][1]["taints"] = [
        {"key": "example.edu/exam", "value": "yes", "effect": "NoSchedule"}
    ]


def fleet(config: Config) -> None:
    """A pool goes and its node joins another, a node goes, a profile changes and one comes, an image has a waiver."""
    fleet = config["gpu-commons:fleet"]
    fleet["total_gpus"] = 112
    first, second, _ = fleet["pools"]
    fleet["pools"] = [first, second]
    first["nodes"] = ["n01-n07", "n10-n12"]
    del first["nodes_except"]
    limit = {"compressed_gb": 8, "reason": "two frameworks until the exam", "until": "2026-12-20"}
    config["gpu-commons:images"][3]["limit"] = limit
    profiles = config["gpu-commons:hubs"][0]["profiles"]
    profiles[2]["memory_gib"] = 24
    profiles.append({**copy.deepcopy(profiles[1]), "name": "gtx1080ti-2", "title": "Two GTX 1080 Ti", "gpus": 2})


def promises(config: Config) -> None:
    """What is promised and limited, and nothing else."""
    courses = config["gpu-commons:courses"]
    courses[0]["guaranteed_gpus"], courses[1]["seats"] = 24, 150
    hub = config["gpu-commons:hubs"][0]
    hub["start_timeout_s"], hub["cull"]["idle_s"] = 900, 1800
    config["gpu-commons:site"]["image_limits"] = {"refuse_compressed_gb": 5}
    config["gpu-commons:site"]["allowed_registries"].remove("quay.io")


def smaller(config: Config) -> None:
    """A node goes."""
    config["gpu-commons:fleet"]["total_gpus"] = 111
    config["gpu-commons:fleet"]["pools"][1]["nodes"].remove("n24")


def forgotten(config: Config) -> None:
    """A node goes, and nobody corrects the sum."""
    config["gpu-commons:fleet"]["pools"][1]["nodes"].remove("n24")


def one_node(config: Config) -> None:
    """One node of a pool gets another driver before the others do."""
    config["gpu-commons:fleet"]["pools"][0]["node_overrides"] = [{"nodes": ["n07"], "driver": "580.95.05"}]


def several_pools(config: Config) -> None:
    """A profile may start on a second pool."""
    profile = config["gpu-commons:hubs"][0]["profiles"][2]
    del profile["pool"]
    profile["pools"] = ["rtx2080ti", "gtx1070ti"]


@dataclass(frozen=True)
class Case:
    """One preview. `is_first`: of a stack that is not deployed, on a lab without one."""

    change: Callable[[Config], None] = unchanged
    spec: Mapping[str, str] = field(default_factory=dict)  # words of images/scipy-ml-notebook/image.yaml, old → new
    command: tuple[str, ...] = ("preview",)
    environment: Mapping[str, str] = field(default_factory=dict)
    is_first: bool = False


CASES = {
    "destroy": Case(command=("destroy", "--preview-only")),
    "driver": Case(driver("580.95.05")),
    "failed": Case(driver("418.88x")),
    "first": Case(is_first=True),
    "first-driver": Case(driver("580.95.05"), is_first=True),
    "fleet": Case(fleet),
    "forgotten": Case(forgotten),
    "image": Case(spec=TORCH_1_8),
    "next": Case(upgraded),
    "no-pack": Case(environment={"PULUMI_OPTION_POLICY_PACK": "", "GPU_COMMONS_WITHOUT_POLICIES": "a recording"}),
    "nothing": Case(),
    "one-node": Case(one_node),
    "promises": Case(promises),
    "refused": Case(taint),
    "several-pools": Case(several_pools),
    "smaller": Case(smaller),
}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(sorted(CASES)), required=True)
@click.option("--folder", type=click.Path(path_type=Path), default=RECORDINGS)
def main(names: tuple[str, ...], folder: Path) -> None:
    """Write a recording for each name."""
    for name in names:
        with tempfile.TemporaryDirectory() as made:
            stream = recorded(CASES[name], Path(made))
        # Without name and time in it the same stream gives the same file.
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(stream, mtime=0))
        click.echo(f"{name}: {stream.count(SEQUENCE):,} events")


def stack_file(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((PROJECT / "stacks" / f"Pulumi.{name}.yaml").read_text()))


def recorded(case: Case, project: Path) -> bytes:
    """The stream of a copy of the project and its stack, changed."""
    for name in COPIED:  # a link would give build contexts another place
        source = PROJECT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, project / name)
    (project / ".venv").symlink_to(PROJECT / ".venv")
    spec = project / "images" / "scipy-ml-notebook" / "image.yaml"
    spec.write_text(replaced(spec.read_text(), case.spec))
    stack = stack_file(STACK)
    case.change(stack["config"])
    stacks = project / "stacks"
    stacks.mkdir()
    (stacks / f"Pulumi.{STACK}.yaml").write_text(yaml.safe_dump(stack))
    variables = {**os.environ, "GPU_COMMONS_STACKS": str(stacks), STREAM: "true", **case.environment}
    options = ("--stack", STACK, "--non-interactive", "--color", "never")
    if case.is_first:
        state = project / "state"
        state.mkdir()
        variables["PULUMI_BACKEND_URL"] = f"file://{state}"
        subprocess.run(["pulumi", "stack", "init", "--no-select", *options], cwd=project, env=variables, check=True)
    done = subprocess.run(
        ["pulumi", *case.command, "--json", *options], cwd=project, env=variables, stdout=subprocess.PIPE, check=False
    )
    return anywhere(done.stdout, project)


def replaced(text: str, words: Mapping[str, str]) -> str:
    for old, new in words.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def anywhere(stream: bytes, project: Path) -> bytes:
    """The stream without the names of this machine."""
    homes = {project: "/srv/project", PROJECT: "/srv/project", Path(os.environ["KUBECONFIG"]).parent: "/srv/lab"}
    for path, name in homes.items():
        stream = stream.replace(str(path).encode(), name.encode())
    return re.sub(rb"127\.0\.0\.1:5\d{3}", b"registry.example.edu", stream)


if __name__ == "__main__":
    sys.exit(main())
