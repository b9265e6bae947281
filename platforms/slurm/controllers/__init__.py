"""Access to Slurm: by its commands, here or on a login node, or by its REST service. Both behave the same.

Jobs are found again by their key, stored as Slurm comment: so a new run adopts the jobs of a
killed one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from errors import UserError
from platforms.slurm.site_facts import SiteFacts
from platforms.slurm.states import Part


class SlurmError(UserError):
    """Slurm refused or does not answer; the message says why."""


class Unreachable(SlurmError):  # noqa: N818 - the name states the fault
    """Unknown outcome: the controller, the login node or the REST service does not answer."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A batch script and its key."""

    key: str
    name: str
    text: str


class Controller(Protocol):
    """Slurm. All methods raise SlurmError."""

    def submit_held(self, submission: Submission) -> int:
        """Submit a held job; returns its number."""
        ...

    def release(self, job: int) -> None:
        """Release it."""
        ...

    def own_jobs(self) -> Sequence[Part]:
        """This user's jobs, queued and from the last week; the queue takes precedence."""
        ...

    def jobs(self, numbers: Sequence[int]) -> Sequence[Part]:
        """Known parts of these jobs, by one query. Jobs forgotten by Slurm are missing."""
        ...

    def cancel(self, numbers: Sequence[int]) -> None:
        """Cancel running or waiting jobs. A finished job is no error."""
        ...

    def facts(self) -> SiteFacts:
        """Partitions, nodes and versions."""
        ...
