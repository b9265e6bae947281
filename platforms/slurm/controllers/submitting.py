"""Submits a job exactly once, even if the submitter is killed at any point.

It is submitted held, under a key derived from its text. Any run then lists Slurm's jobs with that key, keeps
the first that may run, cancels the others, and releases the kept one. A late submission from a killed run
is held and so never runs.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence

from platforms.slurm.controllers import Controller, SlurmError, Submission
from platforms.slurm.states import Outcome, Part, of_key, outcome

OwnJobs = Callable[[], Sequence[Part]]
PREFIX = "gpu-commons"


def submission(stack: str, job: str, run: int, text: str) -> Submission:
    """A job's key: another text, image or run is another job."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    key = f"{PREFIX}/{stack}/{job}/{run}/{digest[:16]}"
    short = hashlib.sha256(key.encode()).hexdigest()[:8]
    return Submission(key, f"{job}-{short}", text)


def submit_once(
    controller: Controller, wanted: Submission, forgotten: frozenset[int] = frozenset(), own_jobs: OwnJobs | None = None
) -> Outcome:
    """The one job of this key: running, waiting or finished. Raises SlurmError.

    `forgotten`: jobs of deleted resources. `own_jobs` must return a list no older than the call.
    """
    look = own_jobs or controller.own_jobs
    found = _found(look(), wanted, forgotten)
    if not found:
        controller.submit_held(wanted)
        found = _found(look(), wanted, forgotten)
    if not found:
        raise SlurmError(f"job {wanted.name}: Slurm took it and does not show it; run the command again")
    kept = chosen(found)
    if spare := sorted({part.job for part in found if part.job != kept and part.is_held}):
        controller.cancel(spare)
    if any(part.job == kept and part.is_held for part in found):
        controller.release(kept)
        found = [*controller.jobs([kept])]
    became = outcome(kept, found)
    if any(part.was_refused for part in found if part.job == kept) or became.is_hopeless:
        controller.cancel([kept])
        raise SlurmError(f"job {wanted.name}: Slurm refuses it: {became.reason or became.state}")
    return became


def chosen(found: Iterable[Part]) -> int:
    """The kept job: released before held, then the first."""
    return min((part.is_held, part.job) for part in found)[1]


def end_all(controller: Controller, wanted: Submission) -> tuple[list[int], list[int]]:
    """Cancel all jobs of the key: numbers of those still active, and of all. Raises SlurmError."""
    parts = of_key(controller.own_jobs(), wanted.key, wanted.name)
    going_on = sorted({part.job for part in parts if not part.has_ended})
    if going_on:
        controller.cancel(going_on)
    return going_on, sorted({part.job for part in parts})


def _found(parts: Iterable[Part], wanted: Submission, forgotten: frozenset[int]) -> list[Part]:
    """Candidates for the job: not those that ended before having a node, by Slurm's refusal or cancellation."""
    own = of_key(parts, wanted.key, wanted.name)
    return [part for part in own if part.job not in forgotten and not part.was_refused]
