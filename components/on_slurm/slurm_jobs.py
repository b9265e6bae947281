"""SlurmJob: one Slurm job as a resource: submitted once, tracked, cancelled with the resource.

Pulumi stores a provider in the state as a pickle. Ours contains only its class name, no code and no values, so today's
code tracks what an earlier version submitted: never rename this module or `FollowsJob`.
"""

import json
import threading
from typing import Any, Final

import pulumi
from pulumi import dynamic

from components.on_slurm.site import site_of
from platforms.slurm.controllers import Controller, SlurmError, Submission
from platforms.slurm.controllers.choice import controller_of
from platforms.slurm.controllers.files import forget, forgotten, log_tail, make_folder
from platforms.slurm.controllers.polling import Poller
from platforms.slurm.controllers.submitting import end_all, submission, submit_once
from platforms.slurm.site_model import SlurmAccess
from platforms.slurm.states import COMPLETED, ENDED, UNKNOWN, Outcome

_WHOSE: Final = ("stack", "job", "run", "text")  # a change of one of these is another job
_INPUTS: Final = (*_WHOSE, "logs", "image", "image_name", "pools", "gpus", "nodes", "waits_for", "site")
_pollers: dict[str, Poller] = {}
_one_at_a_time = threading.Lock()


class FollowsJob(dynamic.ResourceProvider):
    """Called by Pulumi's dynamic resource plugin, on several threads."""

    serialize_as_secret_always = False  # holds no secret, and the state should stay readable

    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Submit the job, or adopt the one from an earlier run. Raises SlurmError."""
        site, wanted, poller = site_of(props["site"]), _submission(props), _poller(props["site"])
        logs = str(props["logs"])
        make_folder(site, logs)
        became = submit_once(poller.controller, wanted, forgotten(site, logs), poller.own_jobs)
        if props["waits_for"] == "end":
            became = poller.wait_for_end(became.job)
            if became.state != COMPLETED:
                raise SlurmError(_how_it_ended(site, props, became))
        return dynamic.CreateResult(str(became.job), {**_known(props), **_outputs(site, props, became)})

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """Another text, image or run is another job. A job's outcome is no difference."""
        changed = [key for key in _INPUTS if _olds.get(key) != _news.get(key)]
        replaced = [key for key in changed if key in _WHOSE]
        return dynamic.DiffResult(changes=bool(changed), replaces=replaced, delete_before_replace=True)

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Only record the new site access or what the update waits for."""
        return dynamic.UpdateResult({**_olds, **_known(_news)})

    def read(self, id_: str, props: dict[str, Any]) -> dynamic.ReadResult:
        """Current outcome. A final state stays, although Slurm forgets it. Raises SlurmError."""
        if not props or props.get("state") in ENDED:
            return dynamic.ReadResult(id_, props)
        site, job = site_of(props["site"]), int(float(id_))
        became = _poller(props["site"]).outcome(job)
        return dynamic.ReadResult(id_, {**props, **_outputs(site, props, became)})

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Cancel the job and others with its key. Raises SlurmError."""
        site, poller = site_of(_props["site"]), _poller(_props["site"])
        going_on, every = end_all(poller.controller, _submission(_props))
        for number in going_on:
            poller.wait_for_end(number)
        forget(site, str(_props["logs"]), sorted({*every, int(float(_id))}))


class SlurmJob(dynamic.Resource, module="gpu-commons", name="SlurmJob"):
    """One job. Its outputs are its outcome and the end of its log."""

    job_id: pulumi.Output[int]
    """Slurm's job ID."""
    state: pulumi.Output[str]
    """State at the last check: PENDING, RUNNING, COMPLETED, …; UNKNOWN if Slurm has forgotten it."""
    reason: pulumi.Output[str]
    """Why it waits, or why it ended."""
    exit_code: pulumi.Output[int]
    """Exit code; none until the job ends."""
    on_nodes: pulumi.Output[str]
    """Allocated nodes."""
    log: pulumi.Output[str]
    """End of its output."""

    def __init__(self, name: str, args: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        outputs = dict.fromkeys(("job_id", "state", "reason", "exit_code", "on_nodes", "log"))
        super().__init__(FollowsJob(), name, {**outputs, **args}, opts)


def _poller(given: Any) -> Poller:
    """The site's poller: all jobs of a run share its queries."""
    key = json.dumps(given, sort_keys=True)
    with _one_at_a_time:
        if key not in _pollers:
            site = site_of(given)
            _pollers[key] = Poller(_controller(site), site.poll_s)
        return _pollers[key]


def _controller(site: SlurmAccess) -> Controller:
    return controller_of(site)


def _submission(props: dict[str, Any]) -> Submission:
    return submission(str(props["stack"]), str(props["job"]), int(props["run"]), str(props["text"]))


def _known(props: dict[str, Any]) -> dict[str, Any]:
    return {key: props[key] for key in _INPUTS if props.get(key) is not None}


def _outputs(site: SlurmAccess, props: dict[str, Any], became: Outcome) -> dict[str, Any]:
    return {
        "job_id": became.job,
        "state": became.state,
        "reason": became.reason,
        "exit_code": became.exit_code,
        "on_nodes": became.nodes,
        "log": _log(site, props, became.job),
    }


def _log(site: SlurmAccess, props: dict[str, Any], job: int) -> str:
    is_array = "#SBATCH --array=" in str(props["text"])
    return log_tail(site, f"{props['logs']}/{props['job']}-{job}{'_*' if is_array else ''}.log")


def _how_it_ended(site: SlurmAccess, props: dict[str, Any], became: Outcome) -> str:
    what = f"job {props['job']} ({became.job})"
    again = f"to run it again, write run: {int(props['run']) + 1} in its slurm block"
    if became.state == UNKNOWN:
        return f"{what}: its outcome is unknown ({became.reason}), and it was not submitted again; {again}"
    ended = [became.state, f"reason {became.reason}" if became.reason else "", f"exit code {became.exit_code}"]
    where = f" on {became.nodes}" if became.nodes else ""
    log = _log(site, props, became.job).rstrip()
    return "\n".join([f"{what}{where}: {', '.join(filter(None, ended))}; {again}", *([log] if log else [])])
