"""What a hub's key may do as a user of a cluster: the agent as sshd starts it, with programs in place of Slurm's."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

AGENT: Final = Path(__file__).parents[3] / "platforms" / "slurm" / "hub_files" / "agent.py"
GIVEN: Final = "JUPYTERHUB_API_TOKEN=secret\0JUPYTERHUB_USER=ada\0LD_PRELOAD=/evil.so\0JPY_API_TOKEN=a=b="
ONE: Final = {
    "partitions": [{"partition": "gpu", "gres": "p100", "exclusive": False}],
    "gpus": 1,
    "cpus": 2,
    "memory_mib": 8192,
}
PROFILES: Final = {
    "one": ONE,
    "pair": {**ONE, "gpus": 2},
    "whole": {**ONE, "partitions": [{"partition": "gpu", "gres": "p100", "exclusive": True}]},
    "k80": {**ONE, "partitions": [{"partition": "gpu", "gres": "k80", "exclusive": False}]},
    "cpu": {**ONE, "partitions": [{"partition": "shared", "gres": None, "exclusive": False}], "gpus": 0},
    "big": {**ONE, "partitions": [{"partition": "shared", "gres": None, "exclusive": False}], "gpus": 0, "cpus": 99},
}
# Each writes down how it was called, and prints what the test has put beside it.
PROGRAM: Final = """#!/bin/sh
folder=$(dirname "$0")
printf '%s\\n' "$(basename "$0") $*" >> "$folder/called"
[ ! -e "$folder/$(basename "$0").says" ] || cat "$folder/$(basename "$0").says"
[ ! -e "$folder/$(basename "$0").fails" ] || { cat "$folder/$(basename "$0").fails" >&2; exit 1; }
"""


class Site:
    """A folder of hubs, a home, and Slurm's commands."""

    def __init__(self, root: Path) -> None:
        self.hubs, self.bin, self.home = root / "hubs", root / "bin", root / "home"
        for folder in (self.hubs / "quest" / "profiles", self.bin, self.home):
            folder.mkdir(parents=True)
        (self.hubs / "agent.py").write_text(AGENT.read_text())
        (self.hubs / "quest" / "jobs.json").write_text(json.dumps({"config": "/etc/slurm.conf", "profiles": PROFILES}))
        for name in ("sbatch", "sinfo", "squeue", "scancel", "scontrol"):
            (self.bin / name).write_text(PROGRAM)
            (self.bin / name).chmod(0o755)

    def says(self, program: str, text: str, *, fails: bool = False) -> None:
        (self.bin / f"{program}.{'fails' if fails else 'says'}").write_text(text)

    @property
    def called(self) -> list[str]:
        path = self.bin / "called"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def own(self) -> Path:
        return self.home / ".gpu-commons" / "hubs" / "quest"

    def ask(self, command: str, given: str = "", *, as_root: bool = False) -> subprocess.CompletedProcess[str]:
        """The agent as a user that is not root, whose home is the one here."""
        uid = 0 if as_root else 1234
        home = f"pwd.getpwuid = lambda _: pwd.struct_passwd(('u', 'x', 1, 1, '', {str(self.home)!r}, ''))"
        user = f"os.getuid = lambda: {uid}; {home}"
        run = f"import os, pwd, runpy; {user}; runpy.run_path({str(self.hubs / 'agent.py')!r}, run_name='__main__')"
        return subprocess.run(
            [sys.executable, "-I", "-c", run],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": f"{self.bin}:/usr/bin:/bin", "SSH_ORIGINAL_COMMAND": command},
        )


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_it_submits_the_text_of_a_profile_and_keeps_tokens_out_of_it(site: Site) -> None:
    site.says("sbatch", "4711;quest\n")
    done = site.ask("submit quest one", GIVEN)
    assert (done.stdout, done.stderr) == ("gpu-commons: 4711\n", "")
    (call,) = [each for each in site.called if each.startswith("sbatch")]
    (variables,) = site.own.glob("variables-*")
    assert call.split()[1:] == [
        "--parsable",
        "--job-name=quest",
        "--comment=gpu-commons/hubs/quest",
        f"--output={site.own}/%j.log",
        str(site.hubs / "quest" / "profiles" / "one.sbatch"),
        str(variables),
    ]
    assert "secret" not in call
    assert stat.S_IMODE(variables.stat().st_mode) == 0o600
    assert variables.read_text().split("\0")[:-1] == [
        "JUPYTERHUB_API_TOKEN=secret",
        "JUPYTERHUB_USER=ada",
        "JPY_API_TOKEN=a=b=",
    ]


def test_what_an_earlier_server_left_ends_before_the_next_is_submitted(site: Site) -> None:
    site.says("sbatch", "4712\n")
    site.says("squeue", "4700|gpu-commons/hubs/quest\n4701|(null)\n4702|gpu-commons/hubs/other\n")
    assert site.ask("submit quest one", GIVEN).returncode == 0
    programs = [each.split()[0] for each in site.called]
    assert programs.index("scancel") < programs.index("sbatch")
    assert "scancel 4700" in site.called


def test_a_submission_that_slurm_refuses_leaves_no_tokens(site: Site) -> None:
    site.says("sbatch", "sbatch: error: invalid account", fails=True)
    done = site.ask("submit quest one", GIVEN)
    assert done.returncode == 1
    assert "invalid account" in done.stderr
    assert [*site.own.glob("variables-*")] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("PENDING||Resources|gpu-commons/hubs/quest", "PENDING Resources"),
        ("RUNNING|gpu-1|None|gpu-commons/hubs/quest", "RUNNING 10.1.2.3"),
        ("TIMEOUT|gpu-1|TimeLimit|gpu-commons/hubs/quest", "GONE TIMEOUT no more time"),
        ("COMPLETING|gpu-1|None|gpu-commons/hubs/quest", "GONE COMPLETING no more time"),
        ("RUNNING|gpu-1|None|somebody else's", "GONE"),
        ("", "GONE"),
    ],
)
def test_it_tells_what_became_of_a_job_of_the_hub(site: Site, line: str, expected: str) -> None:
    site.own.mkdir(parents=True)
    (site.own / "7.log").write_text("started\nno more time\n\n")
    site.says("squeue", f"{line}\n")
    site.says("scontrol", "NodeName=gpu-1 Arch=x86_64 NodeAddr=10.1.2.3 NodeHostName=gpu-1\n")
    assert site.ask("query quest 7").stdout == f"gpu-commons: {expected}\n"


def test_a_controller_that_does_not_answer_says_nothing_of_a_job(site: Site) -> None:
    site.says("squeue", "slurm_load_jobs error: Unable to contact slurm controller", fails=True)
    done = site.ask("query quest 7")
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "",
        "sh",
        "submit quest two",
        "submit quest one --partition=debug",
        "submit ../quest one",
        "submit other one",
        "query quest 7;id",
        "end",
        "cancel quest 7",
        "scancel 7",
    ],
)
def test_it_does_nothing_else(site: Site, command: str) -> None:
    done = site.ask(command, GIVEN)
    assert done.returncode == 1
    assert done.stderr.strip()
    assert site.called == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "pair", ["JUPYTERHUB_USER=$(id)", "JUPYTERHUB_USER=`id`", "JUPYTERHUB_USER=a\\b", "JPY_API_TOKEN=a\nb"]
)
def test_values_that_apptainer_would_evaluate_are_refused(site: Site, pair: str) -> None:
    done = site.ask("submit quest one", f"{GIVEN}\0{pair}")
    assert done.returncode == 1
    assert f"gives {pair.partition('=')[0]} a value with" in done.stderr
    assert not [each for each in site.called if each.startswith("sbatch")]


def test_the_hub_names_no_program_and_no_path_to_a_server(site: Site) -> None:
    names = ("JUPYTERHUB_SINGLEUSER_APP", "JUPYTERHUB_SINGLEUSER_EXTENSION", "JUPYTER_PATH", "JPY_PARENT_PID", "PATH")
    done = site.ask("submit quest one", "\0".join(f"{name}=x" for name in names))
    assert "gives no variables of JupyterHub" in done.stderr


def test_its_folders_are_the_accounts_alone(site: Site) -> None:
    (site.home / ".gpu-commons").mkdir(mode=0o755)
    site.says("sbatch", "4711\n")
    assert site.ask("submit quest one", GIVEN).returncode == 0
    folders = (site.own, site.own.parent, site.own.parent.parent)
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def test_a_folder_that_leads_elsewhere_is_refused(site: Site, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (site.home / ".gpu-commons").symlink_to(tmp_path / "other")
    done = site.ask("submit quest one", GIVEN)
    assert "is no folder of this account's own" in done.stderr
    assert [*(tmp_path / "other").iterdir()] == []


def test_of_a_long_log_the_last_words_are_reported(site: Site) -> None:
    site.own.mkdir(parents=True)
    (site.own / "7.log").write_text("x\n" * 50_000 + "the end\n")
    site.says("squeue", "FAILED|gpu-1|None|gpu-commons/hubs/quest\n")
    assert site.ask("query quest 7").stdout == "gpu-commons: GONE FAILED the end\n"


def test_it_never_works_as_root(site: Site) -> None:
    done = site.ask("submit quest one", GIVEN, as_root=True)
    assert "never run as root" in done.stderr
    assert site.called == []


def node(name: str, partition: str, state: str, cpus: str, used_mib: int, gres: str, used: str) -> str:
    """A line of sinfo, which pads its columns."""
    cells = (name, partition, state, cpus, "65536", str(used_mib), gres, used)
    return (
        "".join(cell.ljust(width) for cell, width in zip(cells, (64, 64, 32, 32, 16, 16, 256, 256), strict=True)) + "\n"
    )


def test_it_counts_what_fits_now_and_who_waits_for_the_same(site: Site) -> None:
    p100, k80 = "gpu:p100:4(S:0-1)", "gpu:k80:2"
    site.says(
        "sinfo",
        node("g1", "gpu", "mixed", "8/20/0/28", 8192, p100, "gpu:p100:3(IDX:0-2)")
        + node("g2", "gpu", "idle", "0/28/0/28", 0, p100, "gpu:p100:0(IDX:N/A)")
        + node("g3", "gpu", "down*", "0/0/28/28", 0, p100, "gpu:p100:0(IDX:N/A)")
        + node("g4", "gpu", "allocated", "28/0/0/28", 0, f"{k80},{p100}", "gpu:k80:2(IDX:0,1),gpu:p100:0(IDX:N/A)")
        + node("c1", "shared", "idle", "0/6/0/6", 57344, "(null)", "gpu:0"),
    )
    site.says("squeue", "gpu|gres/gpu:1\ngpu,shared|gpu:p100:2\nshared|N/A\n")
    done = site.ask("free quest")
    assert done.stderr == ""
    found = json.loads(done.stdout.removeprefix("gpu-commons: "))
    assert found["one"] == {
        "gpus": 16, "busy_gpus": 3, "free_gpus": 9, "servers": 5, "lack": "", "waiting": 2,
    }  # fmt: skip
    assert {name: (each["servers"], each["lack"]) for name, each in found.items()} == {
        "one": (5, ""), "pair": (2, ""), "whole": (1, ""), "k80": (0, "gpus"), "cpu": (1, ""), "big": (0, "room"),
    }  # fmt: skip
    assert found["cpu"]["waiting"] == 1
    (call,) = [each for each in site.called if each.startswith("sinfo")]
    assert "--partition=gpu,shared" in call


def test_where_no_node_is_up_there_is_none(site: Site) -> None:
    site.says("sinfo", node("g1", "gpu", "drained", "0/0/28/28", 0, "gpu:p100:4", "gpu:p100:0(IDX:N/A)"))
    found = json.loads(site.ask("free quest").stdout.removeprefix("gpu-commons: "))
    assert (found["one"]["servers"], found["one"]["lack"]) == (0, "nodes")
