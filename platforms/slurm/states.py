"""Determines a job's outcome from the states of its parts in Slurm. Pure.

States and reasons: https://slurm.schedmd.com/job_state_codes.html and
https://slurm.schedmd.com/job_reason_codes.html.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

UNKNOWN: Final = "UNKNOWN"  # ours: Slurm has forgotten the job
COMPLETED: Final = "COMPLETED"
# Most to least significant for a whole array.
FAILURES: Final = (
    "BOOT_FAIL", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "DEADLINE", "FAILED", "PREEMPTED", "REVOKED", "CANCELLED",
)  # fmt: skip
ENDED: Final = frozenset({COMPLETED, *FAILURES})
_GOING_ON: Final = ("RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "SUSPENDED", "STOPPED", "CONFIGURING")
HELD_BY_USER: Final = "JobHeldUser"
# A job with one of these reasons never starts; the cause is a mistake in the stack or a site decision.
HOPELESS: Final = frozenset({
    "BadConstraints", "PartitionTimeLimit", "PartitionNodeLimit", "AccountNotAllowed", "QOSNotAllowed",
    "InvalidAccount", "InvalidQOS", "AssocMaxWallDurationPerJobLimit", "QOSMaxWallDurationPerJobLimit",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """One Slurm job, or one task of a job array."""

    job: int  # number of the whole array
    state: str
    reason: str = ""
    nodes: str = ""
    exit_code: int = 0
    comment: str = ""
    name: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether no part runs or will run."""
        return self.state in ENDED

    @property
    def is_held(self) -> bool:
        """Waits for its release."""
        return self.state == "PENDING" and self.reason == HELD_BY_USER

    @property
    def was_refused(self) -> bool:
        """It ended before getting a node: Slurm keeps jobs rejected at submission as failed for a while."""
        return self.has_ended and not self.nodes and self.state != COMPLETED


@dataclass(frozen=True, slots=True)
class Outcome:
    """A job as a whole. `exit_code` is an array's highest; `nodes` are those allocated to it."""

    job: int
    state: str
    reason: str = ""
    nodes: str = ""
    exit_code: int | None = None

    @property
    def has_ended(self) -> bool:
        """Whether its state is final; a job forgotten by Slurm has ended, with unknown result."""
        return self.state in ENDED or self.state == UNKNOWN

    @property
    def is_hopeless(self) -> bool:
        """Waits but will never start."""
        return self.state == "PENDING" and self.reason in HOPELESS


def of_key(parts: Iterable[Part], key: str, name: str) -> list[Part]:
    """Parts of the jobs submitted under this key.

    Accounting keeps comments only if the site enables it (AccountingStoreFlags=job_comment); the job name
    suffices, because it ends in a part of the key.
    """
    return [part for part in parts if part.comment == key or (not part.comment and part.name == name)]


def base_state(text: str) -> str:
    """`CANCELLED by 1000`, `CANCELLED+` → `CANCELLED`."""
    return (text.split() or [UNKNOWN])[0].rstrip("+")


def exit_status(text: str) -> int:
    """`3:0` → 3; `0:9`, killed by signal 9, → 137, as in a shell."""
    code, _, signal = text.partition(":")
    status = int(code) if code.isdigit() else 0
    return 128 + int(signal) if not status and signal.isdigit() and int(signal) else status


def wait_status(value: int) -> int:
    """The same from a wait(2) status, as in squeue and the REST service."""
    return 128 + (value & 0x7F) if value & 0x7F else (value >> 8) & 0xFF


def outcome(job: int, parts: Iterable[Part]) -> Outcome:
    """Outcome of a job or job array: still running, else the worst end."""
    own = [part for part in parts if part.job == job]
    if not own:
        return Outcome(job, UNKNOWN, "neither the queue nor the accounting of Slurm knows it")
    going_on = [part for part in own if not part.has_ended]
    first = min(going_on or own, key=_rank)
    nodes = ",".join(dict.fromkeys(part.nodes for part in own if part.nodes))
    code = None if going_on else max(part.exit_code for part in own)
    return Outcome(job, first.state, "" if first.reason in {"None", "(null)"} else first.reason, nodes, code)


def _rank(part: Part) -> int:
    order: Sequence[str] = (*_GOING_ON, "PENDING", *FAILURES, COMPLETED)
    return order.index(part.state) if part.state in order else -1
