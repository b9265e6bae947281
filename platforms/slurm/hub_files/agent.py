"""Runs as a hub's user: starts a profile's job, queries it, ends it, counts what is free. Nothing else.

Users let the hub's key in with this program as its only command:

    restrict,command="python3 -I /projects/gpu-commons/images/hubs/agent.py" ssh-ed25519 AAAA… hubs

It runs as the user. The text of a job is the stack's, by the name of its profile; the hub adds variables of JupyterHub
and no option of Slurm. Python 3.6, standard library only.
"""

import contextlib
import json
import os
import pwd
import re
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, TextIO

HERE = Path(__file__).resolve().parent
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
# What JupyterHub tells a server, but which program it starts, and no value that Apptainer would evaluate.
VARIABLE = re.compile(r"(JUPYTERHUB_(?!SINGLEUSER_APP=|SINGLEUSER_EXTENSION=)[A-Z0-9_]+|JPY_API_TOKEN)=")
EVALUATED = re.compile(r"[$`\\\n]")
ANSWER = "gpu-commons: "  # before the one line that the hub reads: a login shell may print others
LAST_BYTES = 8192
LONGEST = 1 << 20
WITHIN_S = 60
KEPT_LOGS = 10
# Columns of sinfo, wide enough for what nodes have.
WIDTHS = {
    "NodeHost": 64, "Partition": 64, "StateLong": 32, "CPUsState": 32, "Memory": 16, "AllocMem": 16, "Gres": 256,
    "GresUsed": 256,
}  # fmt: skip
COLUMNS = ",".join("{}:{}".format(name, width) for name, width in WIDTHS.items())
USABLE = re.compile(r"(idle|mixed|allocated|completing|planned)[~#%+@^-]?")  # up, or woken when somebody asks
WAITS = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
)
RUNS = frozenset({"RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"})


class Refused(Exception):  # noqa: N818 - says what is the matter
    """The hub asked for something that it may not have, or Slurm said no; the words say which."""


def main(asked: str, given: TextIO) -> str:
    """Do what was asked for; what the hub reads of it."""
    words = asked.split()
    if os.getuid() == 0:
        raise Refused("jobs never run as root")
    if len(words) < 2 or not NAME.fullmatch(words[1]):
        raise Refused("asks for nothing that there is: submit HUB PROFILE, query HUB JOB, end HUB, free HUB")
    verb, hub, rest = words[0], words[1], words[2:]
    folder = HERE / hub
    try:
        known = json.loads((folder / "jobs.json").read_text(encoding="utf-8"))
    except OSError:
        raise Refused("there is no hub {}".format(hub))
    if known.get("config"):
        os.environ["SLURM_CONF"] = known["config"]
    if verb == "submit" and len(rest) == 1 and rest[0] in known["profiles"]:
        return submit(hub, folder / "profiles" / (rest[0] + ".sbatch"), given.read(LONGEST + 1))
    if verb == "query" and len(rest) == 1 and rest[0].isdigit():
        return query(hub, rest[0])
    if verb == "end" and not rest:
        return end(hub)
    if verb == "free" and not rest:
        return json.dumps(free(known["profiles"]), sort_keys=True)
    raise Refused("may not {}".format(" ".join(words)))


def submit(hub: str, text: Path, given: str) -> str:
    """Start the job of a profile; its number. What an earlier server of the user left ends first."""
    end(hub)
    own = own_folder(hub)
    pairs = [each for each in given.split("\0") if VARIABLE.match(each)]
    if len(given) > LONGEST or not pairs:
        raise Refused("gives no variables of JupyterHub")
    for each in pairs:
        if EVALUATED.search(each):
            raise Refused("gives {} a value with $, `, \\ or more than one line".format(each.partition("=")[0]))
    descriptor, variables = tempfile.mkstemp(prefix="variables-", dir=str(own))
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write("".join(each + "\0" for each in pairs))
    options = ["--parsable", "--job-name=" + hub, "--comment=" + mark(hub), "--output={}/%j.log".format(own)]
    try:
        said = slurm("sbatch", *(options + [str(text), variables]))
    except Refused:
        os.unlink(variables)
        raise
    return said.strip().partition(";")[0]


def query(hub: str, job: str) -> str:
    """PENDING and why, RUNNING and where, or GONE and how it ended."""
    try:
        said = slurm("squeue", "--me", "--noheader", "--states=all", "--jobs=" + job, "--format=%T|%B|%r|%k")
    except Refused as error:
        if "invalid job id" not in str(error).lower():
            raise
        said = ""
    lines = [line.split("|", 3) for line in said.splitlines() if line.strip()]
    found = [line for line in lines if len(line) == 4 and line[3] == mark(hub)]
    if not found:
        return "GONE"
    state, node, reason, _ = found[0]
    if state in WAITS:
        return "PENDING " + reason
    if state in RUNS:
        return "RUNNING " + address(node)
    return "GONE {} {}".format(state, last_words(hub, job)).strip()


def end(hub: str) -> str:
    """End all jobs of the hub that are this user's; how many there were."""
    said = slurm("squeue", "--me", "--noheader", "--format=%i|%k")
    numbers = [line.partition("|")[0] for line in said.splitlines() if line.partition("|")[2] == mark(hub)]
    if numbers:
        slurm("scancel", *numbers)
    tidy(own_folder(hub))
    return "ended {}".format(len(numbers))


def free(profiles: Dict[str, Any]) -> Dict[str, Any]:
    """Counts of each profile: of GPUs in its partitions, of servers that still fit, of jobs that wait for the same."""
    names = sorted({each["partition"] for asks in profiles.values() for each in asks["partitions"]})
    rows = slurm("sinfo", "--Node", "--noheader", "--partition=" + ",".join(names), "--Format=" + COLUMNS)
    nodes = [dict(zip(WIDTHS, cells(line))) for line in rows.splitlines() if line.strip()]
    waiting = slurm("squeue", "--noheader", "--states=PENDING", "--partition=" + ",".join(names), "--format=%P|%b")
    queue = [line.split("|", 1) for line in waiting.splitlines() if "|" in line]
    return {name: count(asks, nodes, queue) for name, asks in profiles.items()}


def count(asks: Dict[str, Any], nodes: List[Dict[str, str]], queue: List[List[str]]) -> Dict[str, Any]:
    """Of one profile. A node of several partitions counts once."""
    seen = {}  # type: Dict[str, Dict[str, int]]
    for partition in asks["partitions"]:
        for node in nodes:
            if node["Partition"] == partition["partition"]:
                seen.setdefault(node["NodeHost"], room(node, partition, asks))
    usable = [each for each in seen.values() if each["is_usable"]]
    gpus, busy = (sum(each[key] for each in seen.values()) for key in ("gpus", "busy"))
    idle = sum(each["gpus"] - each["busy"] for each in usable)
    servers = sum(each["servers"] for each in usable)
    lack = "room"
    if not usable:
        lack = "nodes"
    elif asks["gpus"] and all(each["gpus"] - each["busy"] < asks["gpus"] for each in usable):
        lack = "gpus"
    here = {each["partition"] for each in asks["partitions"]}
    same = [line for line in queue if here & set(line[0].split(",")) and ("gpu" in line[1]) == bool(asks["gpus"])]
    return {
        "gpus": gpus, "busy_gpus": busy, "free_gpus": idle, "servers": servers, "lack": "" if servers else lack,
        "waiting": len(same),
    }  # fmt: skip


def room(node: Dict[str, str], partition: Dict[str, Any], asks: Dict[str, Any]) -> Dict[str, int]:
    """Of one node, for one profile: GPUs of the type, how many are busy, and servers that fit."""
    is_usable = bool(USABLE.fullmatch(node["StateLong"]))
    gpus, busy = (gres(node[key], partition.get("gres")) for key in ("Gres", "GresUsed"))
    idle_cpus = int((node["CPUsState"].split("/") + ["0", "0"])[1] or 0)
    fits = [
        idle_cpus // max(1, asks["cpus"]),
        (number(node["Memory"]) - number(node["AllocMem"])) // asks["memory_mib"],
    ]
    if asks["gpus"]:
        fits.append((gpus - busy) // asks["gpus"])
    if partition.get("exclusive"):
        fits = [min(1, *fits) if node["StateLong"].startswith("idle") else 0]
    return {"is_usable": is_usable, "gpus": gpus, "busy": busy, "servers": max(0, min(fits))}


def gres(text: str, kind: Optional[str]) -> int:
    """GPUs in what Slurm prints: gpu:p100:4(S:0-1),gpu:k80:2, (null)."""
    found = re.findall(r"(?:^|,)gpu(?::([A-Za-z_][\w.-]*))?:(\d+)", text)
    return sum(int(amount) for name, amount in found if kind is None or name == kind)


def number(text: str) -> int:
    """A number, or 0 where Slurm has none."""
    return int(text) if text.isdigit() else 0


def cells(line: str) -> Iterator[str]:
    """Columns of a line of sinfo, which pads and cuts them."""
    for width in WIDTHS.values():
        yield line[:width].strip()
        line = line[width:]


def address(node: str) -> str:
    """Where a node is reached inside the cluster; its name, where Slurm says no more."""
    found = re.search(r"\bNodeAddr=(\S+)", slurm("scontrol", "show", "node", "--oneliner", node))
    return found.group(1) if found else node


def last_words(hub: str, job: str) -> str:
    """The last line that the job printed."""
    try:
        with (own_folder(hub) / (job + ".log")).open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - LAST_BYTES))
            lines = stream.read(LAST_BYTES).decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")[:500]


def tidy(folder: Path) -> None:
    """Variables of servers that never started, and all but the last logs."""
    for path in folder.glob("variables-*"):
        path.unlink()
    logs = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime)
    for path in logs[:-KEPT_LOGS]:
        path.unlink()


def own_folder(hub: str) -> Path:
    """In the user's home, which nodes share: tokens lie there until a job has read them. Raises Refused."""
    folder = Path(pwd.getpwuid(os.getuid()).pw_dir)
    for name in (".gpu-commons", "hubs", hub):
        folder = folder / name
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = os.lstat(str(folder))
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise Refused("{} is no folder of this account's own: remove it".format(folder))
        folder.chmod(0o700)
    return folder


def mark(hub: str) -> str:
    """The comment of the hub's jobs, by which they are found."""
    return "gpu-commons/hubs/" + hub


def slurm(*words: str) -> str:
    """What a command of Slurm prints. Raises Refused with its words."""
    done = subprocess.Popen(
        list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True
    )
    try:
        out, err = done.communicate(timeout=WITHIN_S)
    except subprocess.TimeoutExpired:
        done.kill()
        raise Refused("{} gave no answer within {} s".format(words[0], WITHIN_S))
    if done.returncode:
        raise Refused("{}: {}".format(words[0], (err or out).strip()))
    return out


if __name__ == "__main__":
    os.umask(0o077)
    try:
        print(ANSWER + main(os.environ.get("SSH_ORIGINAL_COMMAND", ""), sys.stdin))
    except Refused as refused:
        sys.exit(str(refused))
