"""Explains where a server's job stands in Slurm's queue, in sentences for the pages. Pure, standard library only.

Reasons and states: https://slurm.schedmd.com/job_reason_codes.html, https://slurm.schedmd.com/job_state_codes.html.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from workloads.hub_files.start_words import (
    AGAIN,
    NO_USE,
    TELL,
    Situation,
    answering,
    final,
    out_of_memory,
    shortened,
)

# Jobs with these reasons wait for room.
FULL = frozenset({"Resources", "Priority"})
# Jobs with these never start.
NEVER = {
    "BadConstraints": "its partition has no such node",
    "PartitionTimeLimit": "it asks for more time than the partition allows",
    "PartitionNodeLimit": "it asks for more than the partition has",
    "AccountNotAllowed": "your account may not use the partition",
    "QOSNotAllowed": "your account may not use that quality of service there",
    "InvalidAccount": "your account is not valid for it",
    "InvalidQOS": "its quality of service is not valid",
    "AssocMaxWallDurationPerJobLimit": "it asks for more time than your account may",
    "QOSMaxWallDurationPerJobLimit": "it asks for more time than its quality of service allows",
}
_DOWN = "The machines for {title} are not ready: they are down, reserved, or under maintenance."
_WAITS = {
    "Resources": "All machines for {title} are in use.",
    "Priority": "Others are before you in the queue for {title}.",
    "ReqNodeNotAvail": _DOWN,
    "Nodes": _DOWN,
    "NodeDown": _DOWN,
    "PartitionDown": _DOWN,
    "PartitionInactive": _DOWN,
    "Reservation": _DOWN,
    "JobHeldAdmin": "Somebody who runs the cluster holds the job of your server.",
    "JobHeldUser": "The job of your server is held.",
    "Licenses": "A licence that {title} needs is in use.",
    "Cleaning": "The job of your server is being prepared.",
    "BeginTime": "Slurm tries again in a moment.",
}
_ENDS = {
    "TIMEOUT": f"Slurm ended your server: its time was over. {AGAIN}",
    "NODE_FAIL": f"The machine of your server failed. {AGAIN}",
    "BOOT_FAIL": f"The machine of your server did not boot. {AGAIN}",
    "PREEMPTED": f"Slurm ended your server to make room for more important work. {AGAIN}",
    "CANCELLED": f"The job of your server was cancelled, by you or by somebody who runs the cluster. {AGAIN}",
    "DEADLINE": f"Slurm ended your server: its deadline was over. {AGAIN}",
}
UNREACHED = f"The hub could not reach Slurm, so your server was not started. {AGAIN}"


def situation(said: str, title: str, since: datetime) -> Situation:
    """Where a start stands. `said`: the agent's word of the job, or nothing; `since`: when it last said another."""
    state, _, more = said.partition(" ")
    if state == "PENDING":
        return _waits(more.strip("()").partition(",")[0], f"“{title}”")
    if state == "RUNNING":
        return answering(since)
    if state == "GONE":
        return final("failed", _end(*more.partition(" ")[::2]))
    return Situation("requested", 5, f"Asking Slurm for “{title}”.", UNREACHED)


def finds_no_room(said: str) -> bool:
    """The job waits until others end."""
    state, _, reason = said.partition(" ")
    return state == "PENDING" and reason.strip("()") in FULL


def counts_in(answer: str) -> dict[str, dict[str, Any]]:
    """What is free by profile, as the agent counts it; numbers and words of ours only. Raises ValueError."""
    try:
        return {
            str(name): {
                **{key: int(count[key]) for key in ("gpus", "busy_gpus", "free_gpus", "servers", "waiting")},
                "lack": str(count["lack"]),
                "queued": "job",
            }
            for name, count in json.loads(answer).items()
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"the agent's answer: {error}") from None


def refused(said: str, title: str) -> str:
    """`said` by ssh, the agent or Slurm in place of taking a job."""
    words = shortened((said.strip().splitlines() or [""])[-1])
    return f"Slurm did not start “{title}”: {words or 'no reason is known'}. Choose another option, or {TELL}"


def _waits(reason: str, title: str) -> Situation:
    if reason in NEVER:
        return final("queued", f"Slurm will never start {title}: {NEVER[reason]} ({reason}). {NO_USE}")
    cause = _WAITS.get(reason, "")
    if cause:
        cause = cause.format(title=title)
    elif reason.startswith(("Assoc", "QOS")):
        cause = f"Your account already uses as much of the cluster as it may ({reason})."
    else:
        known = f" ({reason})" if reason not in ("", "None") else ""
        cause = f"The job of your server waits in the queue of Slurm{known}."
    later = "Try again later, or choose another option."
    return Situation(
        "queued",
        20,
        f"{cause} Your server starts by itself as soon as this changes.",
        f"{cause} This did not change within {{limit}}, so your server was not started. {later}",
    )


def _end(state: str, last_line: str) -> str:
    if state == "OUT_OF_MEMORY":
        return " ".join(out_of_memory(""))
    if state in _ENDS:
        return _ENDS[state]
    if not last_line:
        return f"The job of your server ended as it started, and left no word. {AGAIN}"
    found = shortened(last_line)
    return f"Your server ended as it started: {found}. {AGAIN}"
