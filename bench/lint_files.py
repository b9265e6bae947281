"""Times `image lint` over a folder with a Dockerfile, requirements and an environment of conda, and prints a table.

    python bench/lint_files.py [--runs 10]

Each figure is the median of processes of their own, without hadolint; nothing is asserted.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parent.parent
DIGEST = "sha256:" + "4" * 64
FILES = {
    "Dockerfile": f"""\
FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04@{DIGEST}
COPY requirements.txt environment.yml /tmp/
RUN pip install --no-cache-dir -r /tmp/requirements.txt
RUN conda env create -f /tmp/environment.yml && conda clean -afy
USER 1000
""",
    "requirements.txt": "".join(f"package-{number}=={number}.0\n" for number in range(60)) + "torch>=2\n",
    "environment.yml": "name: course\nchannels: [conda-forge]\ndependencies:\n"
    + "".join(f"  - package-{number}={number}.0\n" for number in range(60))
    + "  - pytorch>=2.5=cuda12*\n",
}


@click.command()
@click.option("--runs", default=10, show_default=True, help="Runs of each call.")
def main(runs: int) -> None:
    """Print the table."""
    table = Table("files", "wall, s", "processor, s", box=None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in FILES.items():
            (folder / file).write_text(text)
        for files in (["Dockerfile"], ["requirements.txt"], ["environment.yml"], [*FILES]):
            wall, processor = zip(*(_timed(folder, files) for _ in range(runs)), strict=True)
            table.add_row(" ".join(files), f"{statistics.median(wall):.2f}", f"{statistics.median(processor):.2f}")
    Console().print(table)


def _timed(folder: Path, files: list[str]) -> tuple[float, float]:
    """Seconds of one call: wall, and of a processor."""
    before, began = os.times(), time.perf_counter()
    argv = [sys.executable, "-m", "cli", "image", "lint", "--no-hadolint", *files]
    env = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, check=False)
    wall, after = time.perf_counter() - began, os.times()
    if done.returncode not in {0, 1}:
        raise click.ClickException(done.stderr.decode())
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    main()
