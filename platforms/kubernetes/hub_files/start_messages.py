"""Explains a server's start to a student in one sentence: cause, meaning, what to do. Pure.

Input is what KubeSpawner sees: the pod and its events as the API server writes them, or None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from workloads.hub_files.start_words import (
    AGAIN,
    NO_USE,
    TELL,
    Situation,
    answering,
    crashed,
    final,
    out_of_memory,
    pull_problem,
    pulling,
    shortened,
)

from .start_reasons import PULL_PROBLEMS, NoPlace, no_place
from .start_refusals import unanswered

Object = Mapping[str, Any]

IMAGE_ANNOTATION = "gpu-commons.org/image"


def situation(pod: Object | None, events: Iterable[Object], title: str, *, was_there: bool = False) -> Situation:
    """Where a start stands. `title`: the profile in the student's words; `was_there`: the pod was seen before."""
    if pod is None or pod["metadata"].get("deletionTimestamp"):
        return _gone(pod) if was_there or pod else _requested()
    seen = _Seen(pod, sorted(events, key=_order), title)
    status = pod.get("status") or {}
    if status.get("phase") in ("Failed", "Succeeded"):
        return seen.ended(status)
    if not pod["spec"].get("nodeName"):
        return seen.unplaced(status)
    if stuck := _no_folder(status):
        return final("failed", f"Your home directory could not be made: {stuck}. Nothing is lost; {TELL}")
    containers = status.get("containerStatuses") or ()
    return seen.container(containers[0]) if containers else seen.preparing()


# No pod


def _requested() -> Situation:
    return Situation("requested", 5, "Asking the cluster for your server.", unanswered())


def _gone(pod: Object | None) -> Situation:
    conditions = ((pod or {}).get("status") or {}).get("conditions") or ()
    reason = next((each.get("reason") for each in conditions if each["type"] == "DisruptionTarget"), None)
    why = {
        "PreemptionByScheduler": "to make room for more important work",
        "DeletionByTaintManager": "because its machine failed",
        "EvictionByEvictionAPI": "because its machine is being emptied",
    }.get(reason or "", "by the cluster or by somebody who runs it")
    return final("gone", f"Your server was removed while it started, {why}. {AGAIN}")


# A pod

# Events of the way from a node to a running container, in this order within one second.
_STEPS = (
    "Scheduled",
    "NodeNotReady",
    "FailedAttachVolume",
    "FailedMount",
    "SuccessfulAttachVolume",
    "FailedCreatePodSandBox",
    "Pulling",
    "Pulled",
    "Created",
    "Started",
)


@dataclass(frozen=True, slots=True)
class _Seen:
    pod: Object
    events: Sequence[Object]  # oldest first
    title: str

    @property
    def image(self) -> str:
        """As people know it, else the last part of the reference."""
        named = (self.pod["metadata"].get("annotations") or {}).get(IMAGE_ANNOTATION)
        return str(named or self._limits_of("image").rpartition("/")[2].partition("@")[0])

    def _limits_of(self, key: str) -> str:
        container = self.pod["spec"]["containers"][0]
        return str(container.get(key) or ((container.get("resources") or {}).get("limits") or {}).get(key) or "")

    def last(self, *reasons: str) -> Object | None:
        return next((event for event in reversed(self.events) if event.get("reason") in reasons), None)

    def unplaced(self, status: Object) -> Situation:
        """The scheduler's condition is always that of its last try; its events come late."""
        conditions = status.get("conditions") or ()
        tried = next((each.get("message") for each in conditions if each["type"] == "PodScheduled"), None)
        event = self.last("FailedScheduling", "TriggeredScaleUp")
        if event and event["reason"] == "TriggeredScaleUp":
            waiting = (
                f"All machines for “{self.title}” are in use: the cluster is adding one, which takes some minutes."
            )
            return Situation("placing", 10, waiting, f"No machine was added within {{limit}}. {AGAIN}")
        message = tried or (event or {}).get("message") or ""
        if not message:
            waiting = f"Looking for a machine for “{self.title}”."
            return Situation("placing", 10, waiting, f"No machine was found within {{limit}}. {AGAIN}")
        cause, limit = self._no_place(no_place(message))
        return Situation("placing", 10, f"{cause} Your server starts by itself as soon as this changes.", limit)

    def _no_place(self, obstacle: NoPlace) -> tuple[str, str]:
        title = f"“{self.title}”"
        later = "Try again later, or choose another option."
        if obstacle is NoPlace.GPUS:
            if self._limits_of("nvidia.com/gpu") in ("", "1"):
                return (
                    f"All GPUs for {title} are in use.",
                    f"No GPU for {title} became free within {{limit}}, so your server was not started. {later}",
                )
            return (
                f"No machine has enough free GPUs for {title}.",
                f"No machine had enough free GPUs for {title} within {{limit}}. {later}",
            )
        if obstacle in (NoPlace.CPU, NoPlace.MEMORY, NoPlace.DISK, NoPlace.SERVERS):
            full = {NoPlace.SERVERS: "they run as many servers as they may"}
            why = full.get(obstacle, f"they have no {obstacle.value} left")
            cause = f"The machines for {title} are full: {why}."
            return cause, f"The machines for {title} were full for {{limit}}: {why}. {later}"
        cause = {
            NoPlace.HOME: "The storage for your home directory is not ready.",
            NoPlace.ELSEWHERE: f"Your home directory is on a machine that cannot run {title}.",
            NoPlace.NOT_READY: f"The machines for {title} are not ready: they are down, or under maintenance.",
            NoPlace.NONE: f"This hub has no machine for {title} at present.",
        }.get(obstacle, f"The cluster has no place for {title} at present.")
        return cause, f"{cause} This did not change within {{limit}}: choose another option, and {TELL}"

    def preparing(self) -> Situation:
        """A node was chosen, and no container is there yet."""
        last = self.last(*_STEPS) or {}
        reason, message = last.get("reason", ""), last.get("message", "")
        if reason in ("FailedMount", "FailedAttachVolume"):
            other = "Multi-Attach" in message or "exclusively attached" in message
            cause = "Your home directory is still in use on another machine." if other else _storage(message)
            return Situation(
                "preparing",
                30,
                f"{cause} The cluster keeps trying.",
                f"{cause} Your server was not started within {{limit}}. {AGAIN}",
            )
        trouble = {
            "NodeNotReady": "The machine that was chosen for your server has stopped answering.",
            "FailedCreatePodSandBox": "The machine that was chosen could not set up your server.",
        }.get(reason)
        if trouble:
            return Situation(
                "preparing",
                30,
                f"{trouble} The cluster keeps trying.",
                f"{trouble} Nothing changed for {{limit}}. {AGAIN}",
            )
        if reason == "Pulling":
            return pulling("A machine was found; it", self.image, _time(last))
        return Situation(
            "preparing",
            30,
            "A machine was found; it is preparing your server.",
            f"A machine was found, but it did not prepare your server within {{limit}}. {AGAIN}",
        )

    def container(self, status: Object) -> Situation:
        """The server's container, whatever its state."""
        state = status.get("state") or {}
        waiting = state.get("waiting") or {}
        reason = waiting.get("reason", "")
        if "running" in state:
            return answering(_moment(state["running"].get("startedAt")))
        ended = state.get("terminated") or (status.get("lastState") or {}).get("terminated")
        if ended:
            return self._crashed(ended, is_last=reason == "CrashLoopBackOff" or status.get("restartCount", 0) > 0)
        if "Image" in reason or reason == "SignatureValidationFailed":
            return self._not_pulled(reason, waiting.get("message", ""))
        if reason in ("CreateContainerConfigError", "CreateContainerError", "RunContainerError"):
            why = shortened(waiting.get("message", ""))
            return final("failed", f"The machine could not start “{self.title}”: {why}. {NO_USE}")
        return self.preparing()

    def _not_pulled(self, reason: str, message: str) -> Situation:
        # A back-off says only that it waits; the event before it says why.
        failed = [event.get("message", "") for event in self.events if event.get("reason") == "Failed"]
        tried = [text for text in failed if text.startswith("Failed to pull")]
        problem = PULL_PROBLEMS.get(reason) or pull_problem(f"{message} {tried[-1]}" if tried else message)
        cannot = f"The image {self.image} of “{self.title}” cannot be downloaded: {problem.phrase}."
        if problem.is_lasting:
            return final("pulling", f"{cannot} {NO_USE}")
        return Situation(
            "pulling",
            50,
            f"The image {self.image} could not be downloaded yet: {problem.phrase}. The cluster keeps trying.",
            f"The image {self.image} could not be downloaded within {{limit}}: {problem.phrase}. {AGAIN}",
        )

    def _crashed(self, ended: Object, *, is_last: bool) -> Situation:
        code, reason = ended.get("exitCode"), ended.get("reason", "")
        message = ended.get("message", "")
        if reason in ("StartError", "ContainerCannotRun") and "exec: " not in message:
            return final("failed", f"The machine could not start “{self.title}”: {shortened(message)}. {AGAIN}")
        if reason in ("StartError", "ContainerCannotRun") or code == 127:
            return final("failed", f"The image {self.image} has no notebook server that can be started. {NO_USE}")
        what, advice = out_of_memory(_gib(self._limits_of("memory"))) if reason == "OOMKilled" else crashed(code)
        if is_last or code == 0:
            return final("failed", f"{what} {advice}")
        return Situation("crashed", 80, f"{what} It is being started once more.", f"{what} {advice}")

    def ended(self, status: Object) -> Situation:
        """The pod is over: its node refused it, or its container ended for good."""
        reason, message = status.get("reason", ""), status.get("message", "")
        statuses = status.get("containerStatuses") or ()
        over = next(
            (each["state"]["terminated"] for each in statuses if "terminated" in (each.get("state") or {})), None
        )
        if over and not reason:
            return self._crashed(over, is_last=True)
        if reason == "Evicted":
            what = re.search(r"low on resource: ([\w-]+)", message)
            lacked = {"ephemeral-storage": "disk space", "memory": "memory"}.get(what[1] if what else "", "something")
            return final("failed", f"The machine ran out of {lacked} and ended your server. {AGAIN}")
        if reason == "UnexpectedAdmissionError" or reason.startswith("OutOf"):
            return final(
                "failed", f"The machine that was chosen could not give your server what “{self.title}” needs. {AGAIN}"
            )
        if "Shutdown" in reason or reason == "Terminated":
            return final("failed", f"The machine that was chosen is being shut down. {AGAIN}")
        why = f": {shortened(message)}" if message else ""
        return final("failed", f"The machine that was chosen did not run your server{why}. Choose another option.")


def _no_folder(status: Object) -> str | None:
    """Why the container that makes a home on an export has failed, if it has."""
    for each in status.get("initContainerStatuses") or ():
        ended = (each.get("state") or {}).get("terminated") or (each.get("lastState") or {}).get("terminated")
        if ended and ended.get("exitCode") != 0:
            return shortened(ended.get("message") or "") or f"exit code {ended['exitCode']}"
    return None


def _storage(message: str) -> str:
    missing = re.search(r'(configmap|secret) "([^"]+)" not found', message)
    if missing:
        return "The machine that was chosen misses a file that every server needs."
    return "The machine that was chosen cannot reach your home directory."


def _gib(amount: str) -> str:
    """`2 GiB` of `2147483648` or `2Gi`; nothing of anything else."""
    if found := re.fullmatch(r"(\d+)([GM]i)", amount):
        return f"{found[1]} {found[2]}B"
    return f"{int(amount) / 2**30:.3g} GiB" if amount.isdigit() else ""


def _time(event: Object) -> datetime:
    series = event.get("series") or {}
    return _moment(series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime"))


def _order(event: Object) -> tuple[datetime, int]:
    reason = event.get("reason")
    return _time(event), _STEPS.index(reason) if reason in _STEPS else -1


def _moment(text: str | None) -> datetime:
    return datetime.fromisoformat(text or "1970-01-01T00:00:00Z")
