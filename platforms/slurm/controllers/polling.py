"""Polls all jobs with one query: all waiting callers share the answers."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from platforms.slurm.controllers import Controller, Unreachable
from platforms.slurm.states import UNKNOWN, Outcome, Part, outcome

_PATIENCE: Final = 12  # consecutive failed polls: a restarted controller comes back

_MOST_UNSEEN: Final = 3  # accounting records an end shortly after the queue forgets the job


class Poller:
    """The jobs of one site. Used by several threads at once; starts none."""

    def __init__(self, controller: Controller, every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.controller, self._every_s, self._clock = controller, every_s, clock
        self._lock, self._asking = threading.Lock(), threading.Lock()
        self._watched: dict[int, int] = {}
        self._parts: Sequence[Part] = ()
        self._own: tuple[float, Sequence[Part]] = (float("-inf"), ())
        self._polled_at = float("-inf")

    def wait_for_end(self, job: int, sleep: Callable[[float], None] = time.sleep) -> Outcome:
        """Wait for its outcome. Raises Unreachable if Slurm is; the job goes on."""
        self._watch(job)
        failed = unseen = 0
        try:
            while True:
                try:
                    became = self._look(job)
                except Unreachable:
                    failed += 1
                    if failed > _PATIENCE:
                        raise
                else:
                    failed, unseen = 0, unseen + 1 if became.state == UNKNOWN else 0
                    if became.has_ended and (not unseen or unseen >= _MOST_UNSEEN):
                        return became
                sleep(self._every_s)
        finally:
            self._leave(job)

    def outcome(self, job: int) -> Outcome:
        """Its current state. Raises SlurmError."""
        self._watch(job)
        try:
            return self._look(job)
        finally:
            self._leave(job)

    def own_jobs(self) -> Sequence[Part]:
        """Own jobs, read after this call began; simultaneous callers share one query."""
        came = self._clock()
        with self._asking:
            polled_at, parts = self._own
            if polled_at < came:
                polled_at = self._clock()
                parts = self.controller.own_jobs()
                self._own = (polled_at, parts)
            return parts

    def _watch(self, job: int) -> None:
        with self._lock:
            self._watched[job] = self._watched.get(job, 0) + 1

    def _leave(self, job: int) -> None:
        with self._lock:
            self._watched[job] -= 1
            if not self._watched[job]:
                del self._watched[job]

    def _look(self, job: int) -> Outcome:
        with self._asking:
            with self._lock:
                watched = sorted(self._watched)
            is_new = not any(part.job == job for part in self._parts)
            if is_new or self._clock() - self._polled_at >= self._every_s:
                self._parts = self.controller.jobs(watched)
                self._polled_at = self._clock()
            return outcome(job, self._parts)
