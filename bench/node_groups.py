"""Times a preview of an EKS stack by its number of node groups, and measures its memory.

    python -m lab --instance bench up --stack eks-g6 --without-stack --simulated
    python bench/node_groups.py [GROUPS…] --instance bench     default 10 200

Each stack has a hub, a job and a pool without GPUs beside its groups, and nothing of it is deployed: every resource is
planned. The policy pack judges all. Shown are medians of --runs: seconds of the whole preview, processor seconds and
the largest resident memory of the program, of the pack, of the AWS plugin (in a lab the stand-in, in Python) and of all
processes together. The first line is what the imports of the program cost.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import psutil
import yaml

from lab import engine
from lab.instance import find_instance
from lab.toolchain import Toolchain

PROJECT = Path(__file__).resolve().parent.parent
EXAMPLE = PROJECT / "stacks" / "Pulumi.eks-g6.yaml"
TYPES = ("g6.xlarge", "g6.2xlarge", "g6.4xlarge", "g6e.2xlarge", "g5.2xlarge", "g4dn.xlarge")
PARTS = {"policy pack": "-m pulumi.policy", "program": "pulumi-language-python-exec", "AWS plugin": "lab.providers.aws"}
SHOWN = ("program", "policy pack", "AWS plugin")
SAMPLES_PER_S = 20


@dataclass
class Spent:
    """What the processes of one preview used."""

    seconds: float = 0.0
    processor_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    most_mib: dict[str, float] = field(default_factory=lambda: defaultdict(float))


def stack_file(groups: int) -> dict[str, Any]:
    """The example with that many GPU pools, all of which the job may use."""
    stack: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    config = stack["config"]
    fleet = config["gpu-commons:fleet"]
    system = fleet["pools"][0]
    pools = [
        {"name": f"g{number:03}", "instance_types": [TYPES[number % len(TYPES)]], "driver": "580", "max": 4}
        for number in range(groups)
    ]
    fleet.update(pools=[system, *pools], total_gpus=4 * groups)
    for profile in config["gpu-commons:hubs"][0]["profiles"]:
        profile.update({"pool": pools[0]["name"]} if profile.get("gpus") else {})
    config["gpu-commons:jobs"][0]["pools"] = [pool["name"] for pool in pools]
    return stack


def measured(argv: list[str], folder: Path, env: dict[str, str]) -> Spent:
    """Run a command to its end; measure it and all that it starts."""
    spent, started = Spent(), time.perf_counter()
    seen: dict[tuple[str, int], float] = {}
    with subprocess.Popen(argv, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        root = psutil.Process(child.pid)
        log = (folder / "preview.log").open("wb")
        os.set_blocking(child.stdout.fileno(), False)  # type: ignore[union-attr] - it is a pipe
        while child.poll() is None:
            log.write(child.stdout.read() or b"")  # type: ignore[union-attr]
            _look(root, spent, seen)
            time.sleep(1 / SAMPLES_PER_S)
        log.write(child.stdout.read() or b"")  # type: ignore[union-attr]
        log.close()
    spent.seconds = time.perf_counter() - started
    for (part, _), seconds in seen.items():
        spent.processor_s[part] += seconds
    if child.returncode != 0:
        raise SystemExit((folder / "preview.log").read_text(errors="replace")[-3000:])
    return spent


def _look(root: psutil.Process, spent: Spent, seen: dict[tuple[str, int], float]) -> None:
    now: dict[str, float] = defaultdict(float)
    for process in (root, *root.children(recursive=True)):
        try:
            line = " ".join(process.cmdline())
            part = next((name for name, word in PARTS.items() if word in line), "engine and others")
            seen[part, process.pid] = sum(process.cpu_times()[:2])
            memory = process.memory_info().rss / 2**20
        except psutil.Error:
            continue
        now[part] += memory
        now["all"] += memory
    for part, memory in now.items():
        spent.most_mib[part] = max(spent.most_mib[part], memory)


def project_in(folder: Path) -> Path:
    """This project by link, with its own stack files."""
    for path in PROJECT.iterdir():
        if path.name not in {"stacks", ".git"}:
            (folder / path.name).symlink_to(path)
    (folder / "stacks").mkdir()
    (folder / "state").mkdir()
    return folder


@click.command()
@click.argument("groups", nargs=-1, type=int)
@click.option("--instance", "name", default="bench", show_default=True)
@click.option("--runs", default=3, show_default=True)
def main(groups: tuple[int, ...], name: str, runs: int) -> None:
    """Print the table."""
    instance, tools = find_instance(name), Toolchain()
    imports = "import __main__, components.gpu_image, settings.resolve, components.on_aws.eks_gpu_node_group"
    own = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with TemporaryDirectory() as empty:
        times = [measured([sys.executable, "-c", imports], Path(empty), own) for _ in range(runs)]
    print(f"imports of the program: {statistics.median(each.seconds for each in times):.2f} s\n")
    print("| node groups | preview s | program | policy pack | AWS plugin | MiB: program | policy pack | all |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    with TemporaryDirectory(prefix="gc-") as temporary:
        folder = project_in(Path(temporary))
        env = {
            **os.environ,
            **engine.environment(instance, tools),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "GPU_COMMONS_STACKS": str(folder / "stacks"),
        }
        pulumi = engine.program(instance, tools)
        for count in groups or (10, 200):
            file = folder / "stacks" / f"Pulumi.groups-{count}.yaml"
            subprocess.run([pulumi, "stack", "init", f"groups-{count}"], cwd=folder, env=env, check=True)
            file.write_text(yaml.safe_dump(stack_file(count), sort_keys=False))
            preview = [pulumi, "preview", "--stack", f"groups-{count}", "--non-interactive", "--suppress-outputs"]
            found = [measured(preview, folder, env) for _ in range(runs)]
            print(f"| {count} | {_row(found)} |", flush=True)


def _row(found: list[Spent]) -> str:
    def middle(numbers: list[float], digits: int = 1) -> str:
        return f"{statistics.median(numbers):.{digits}f}"

    processor = [middle([each.processor_s[part] for each in found]) for part in SHOWN]
    memory = [middle([each.most_mib[part] for each in found], 0) for part in ("program", "policy pack", "all")]
    return " | ".join([middle([each.seconds for each in found]), *processor, *memory])


if __name__ == "__main__":
    main()
