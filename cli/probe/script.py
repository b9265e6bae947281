"""The probe as a script for another machine, the sbatch command for it, and the facts in its output. Pure."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import Any, Final

from platforms.docker.probe import Facts

_END: Final = "GPU_COMMONS_PROBE"
_TIME_MIN: Final = 5
_NONE: Final = "no Python 3.6 or later here: neither python3 nor /usr/libexec/platform-python"
# The second one is that of RHEL 8, which has no python3 unless somebody installs one.
SCRIPT: Final = """\
#!/bin/sh
# gpu-commons probe: prints what this machine is, and changes nothing.
for python in python3 /usr/libexec/platform-python; do
  if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 6))' </dev/null >/dev/null 2>&1; then
    exec "$python" - --json --program={program} <<'{end}'
{text}
{end}
  fi
done
echo '{none}' >&2
exit 127
"""


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe prints: keys of a pool, and everything that it read."""

    pool: Facts
    host: Facts

    @property
    def day(self) -> str:
        """When it was."""
        return str(self.host["probed"])[:10]

    @property
    def name(self) -> str:
        """The host, without its domain: as pools and Slurm name it."""
        return str(self.host["host"]).partition(".")[0]


@dataclass(frozen=True, slots=True)
class Job:
    """A job that probes one node. `gres`: type of its GPU in Slurm; `token`: makes its name unique."""

    partition: str
    token: str
    gres: str | None = None
    account: str | None = None

    @property
    def name(self) -> str:
        """Of the job."""
        return f"gpu-commons-probe-{self.token}"

    @property
    def output(self) -> str:
        """File of its output, in the folder that it is submitted in."""
        return f"{self.name}.out"

    @property
    def sbatch(self) -> list[str]:
        """Submits it and waits for its end: https://slurm.schedmd.com/sbatch.html#OPT_wait."""
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
            "--export=NONE",  # else the caller's modules would hide or add libraries
            "--no-requeue",
            *([f"--account={self.account}"] if self.account else []),
        ]


def script(text: str, program: str = "") -> str:
    """For a shell of any machine. `text` is that of `platforms.docker.probe`; `program` starts images there."""
    return SCRIPT.format(text=text.rstrip("\n"), program=shlex.quote(program), end=_END, none=_NONE)


def read(output: str) -> Probed | None:
    """The facts in a probe's output; None where there are none. Logins and prologs of jobs may print more."""
    for brace in re.finditer(r"(?m)^\{$", output):
        try:
            value: Any = json.JSONDecoder().raw_decode(output, brace.start())[0]
        except ValueError:
            continue
        if isinstance(value, dict) and {"pool", "host"} <= value.keys():
            return Probed(value["pool"], value["host"])
    return None
