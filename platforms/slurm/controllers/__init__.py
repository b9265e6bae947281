"""How Slurm is spoken to: its commands, here or on a login node, or its REST service. Both do the same.

A job is found again by its key, which Slurm keeps as its comment: that is how a run that was killed adopts what it
had submitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from errors import UserError
from platforms.slurm.site_facts import SiteFacts
from platforms.slurm.states import Part


class SlurmError(UserError):
    """Slurm refused, or does not answer; its words say what and why."""


class Unreachable(SlurmError):  # noqa: N818 - says what is the matter
    """Nobody knows what came of it: the controller, the login node or the REST service does not answer."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A batch script, and what it is found again by."""

    key: str
    name: str
    text: str


class Controller(Protocol):
    """Slurm. Each method raises SlurmError."""

    def submit_held(self, submission: Submission) -> int:
        """Number of a job that waits until it is released."""
        ...

    def release(self, job: int) -> None:
        """Let it start."""
        ...

    def own_jobs(self) -> Sequence[Part]:
        """Jobs of this user, in the queue and of the last week; the queue is right where both know one."""
        ...

    def jobs(self, numbers: Sequence[int]) -> Sequence[Part]:
        """What is known of these jobs, by one question for all of them. What Slurm has forgotten is missing."""
        ...

    def cancel(self, numbers: Sequence[int]) -> None:
        """End them, whether they run or wait. A job that has ended is no error."""
        ...

    def facts(self) -> SiteFacts:
        """Partitions, nodes and versions."""
        ...
