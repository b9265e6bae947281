"""The probe as a script for another machine, its sbatch command, and the facts in its output. Pure."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from platforms.docker.probe import Facts
from platforms.templates import rendered

_TIME_MIN: Final = 5


@dataclass(frozen=True, slots=True)
class Probed:
    """The output of a probe: keys of a pool, and everything it read."""

    pool: Facts
    host: Facts

    @property
    def day(self) -> str:
        """When it ran."""
        return str(self.host["probed"])[:10]

    @property
    def name(self) -> str:
        """The host without its domain, as pools and Slurm write it."""
        return str(self.host["host"]).partition(".")[0]


@dataclass(frozen=True, slots=True)
class Job:
    """A job that probes one node. `gres`: type of its GPU in Slurm; `token` makes its name unique."""

    partition: str
    token: str
    gres: str | None = None
    account: str | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return f"gpu-commons-probe-{self.token}"

    @property
    def output(self) -> str:
        """Its output file, in the folder it is submitted from."""
        return f"{self.name}.out"

    @property
    def sbatch(self) -> list[str]:
        """Submit it and wait for its end: https://slurm.schedmd.com/sbatch.html#OPT_wait."""
        return [
            "sbatch",
            "--wait",
            "--parsable",
            f"--job-name={self.name}",
            f"--partition={self.partition}",
            "--nodes=1",
            "--ntasks=1",
            f"--gres=gpu:{f'{self.gres}:' if self.gres else ''}1",
            f"--time={_TIME_MIN}",
            f"--output={self.output}",
            "--export=NONE",  # otherwise the caller's modules would hide or add libraries
            "--no-requeue",
            *([f"--account={self.account}"] if self.account else []),
        ]


def script(text: str, program: str = "") -> str:
    """For any machine's shell. `text` is `platforms.docker.probe`; `program` starts images there."""
    template = Path(__file__).with_name("probe.sh.j2")
    return rendered(template, text=text.rstrip("\n"), program=shlex.quote(program))


def read(output: str) -> Probed | None:
    """The facts in a probe's output; None if there are none. Logins and job prologs may print more."""
    for brace in re.finditer(r"(?m)^\{$", output):
        try:
            value: Any = json.JSONDecoder().raw_decode(output, brace.start())[0]
        except ValueError:
            continue
        if isinstance(value, dict) and {"pool", "host"} <= value.keys():
            return Probed(value["pool"], value["host"])
    return None
