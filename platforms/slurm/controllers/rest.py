"""Slurm by its REST service, over a socket or with a token: https://slurm.schedmd.com/rest_api.html.

It gets the options that sbatch would read from the text, so one text means one job either way.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from platforms.slurm.batch_script import options_of
from platforms.slurm.controllers import SlurmError, Submission, Unreachable
from platforms.slurm.site_facts import NodeFacts, PartitionFacts, SiteFacts, gpus_of
from platforms.slurm.site_model import SlurmRest
from platforms.slurm.states import Part, base_state, wait_status

ANSWER_WITHIN_S: Final = 60
# Later versions format numbers and states differently, and none was available to test.
SPOKEN: Final = ("v0.0.36", "v0.0.37", "v0.0.38")
_HELD: Final = 2042  # ESLURM_JOB_HELD, which is no error here: slurm/slurm_errno.h
_GONE: Final = (2017, 2021)  # ESLURM_INVALID_JOB_ID, ESLURM_ALREADY_DONE
_DENIED: Final = (401, 403)
_NOT_PROVED: Final = 1007  # ESLURM_PROTOCOL_AUTHENTICATION_ERROR: slurm/slurm_errno.h
_OF_ERRORS: Final = frozenset({"ping", "clusters"})  # called after a failed call
_ENVIRONMENT: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin"}  # the service rejects jobs without one


class _DeniedError(SlurmError):
    """The service does not accept the user's identity."""


@dataclass(frozen=True, slots=True)
class Rest:
    """One slurmrestd. The token is read for each call and never stored."""

    site: SlurmRest

    def submit_held(self, submission: Submission) -> int:
        """Submit a held job."""
        job = {**job_of(submission.text), "comment": submission.key, "name": submission.name, "hold": True}
        reply = self._call("POST", "slurm", "job/submit", body={"script": submission.text, "job": job})
        return int(reply["job_id"])

    def release(self, job: int) -> None:
        """Release it."""
        try:
            self._call("POST", "slurm", f"job/{job}", body={"hold": False})
        except Unreachable:
            raise
        except SlurmError:
            # 22.05.8 releases an array but answers with an error.
            if not (parts := self.jobs([job])) or any(part.is_held for part in parts):
                raise

    def own_jobs(self) -> Sequence[Part]:
        """All jobs visible to the user: this version cannot query one's own."""
        return self._merged()

    def jobs(self, numbers: Sequence[int]) -> Sequence[Part]:
        """Known job parts."""
        return self._merged(frozenset(numbers))

    def cancel(self, numbers: Sequence[int]) -> None:
        """End them."""
        for number in numbers:
            self._call("DELETE", "slurm", f"job/{number}", allowed=_GONE)

    def facts(self) -> SiteFacts:
        """Partitions, nodes and the version."""
        reply = self._call("GET", "slurm", "partitions")
        nodes: dict[str, list[NodeFacts]] = {}
        for each in self._call("GET", "slurm", "nodes")["nodes"]:
            state = "".join([str(each["state"]), *(f"+{flag}" for flag in each.get("state_flags", ()))])
            away = "DRAIN" in each.get("state_flags", ())
            node = NodeFacts(
                each["name"], f"drained ({state})" if away else state, gpus_of(each["gres"]), each["reason"]
            )
            for partition in each["partitions"]:
                nodes.setdefault(partition, []).append(node)
        partitions = {
            each["name"]: PartitionFacts(
                each["name"],
                each["state"],
                None,
                _minutes(each["max_time_limit"]),
                tuple(nodes.get(each["name"], ())),
            )
            for each in reply["partitions"]
        }
        return SiteFacts(str(reply["meta"]["Slurm"]["release"]), partitions)

    def _merged(self, numbers: frozenset[int] | None = None) -> list[Part]:
        waiting = [*_wanted(map(_of_queue, self._call("GET", "slurm", "jobs")["jobs"]), numbers)]
        known = {part.job for part in waiting}
        if numbers is not None and numbers <= known:
            return waiting
        try:
            kept = self._call("GET", "slurmdb", "jobs")["jobs"]
        except (Unreachable, _DeniedError):
            raise
        except SlurmError:
            return waiting  # no accounting at this site
        return [*waiting, *(part for part in _wanted(map(_of_accounting, kept), numbers) if part.job not in known)]

    def _call(
        self, method: str, plugin: str, path: str, *, body: Mapping[str, Any] | None = None, allowed: Sequence[int] = ()
    ) -> dict[str, Any]:
        version = self.site.version
        if version not in SPOKEN:
            raise SlurmError(
                f"rest.version: {version} is not spoken here; write one of {', '.join(SPOKEN)}, or leave out rest"
            )
        is_socket = urlsplit(self.site.url).scheme == "unix"
        socket = httpx.HTTPTransport(uds=urlsplit(self.site.url).path) if is_socket else None
        base = "http://localhost" if is_socket else self.site.url.rstrip("/")
        try:
            with httpx.Client(transport=socket, timeout=ANSWER_WITHIN_S, headers=self._headers()) as client:
                answer = client.request(method, f"{base}/{plugin}/{version}/{path}", json=body)
        except httpx.HTTPError as error:
            raise Unreachable(f"Slurm's REST service at {self.site.url} does not answer: {error}") from None
        try:
            return _checked(answer, self.site, allowed)
        except _DeniedError:
            raise
        except SlurmError:
            if path not in _OF_ERRORS and not self._has_controller():
                raise Unreachable("Slurm's controller does not answer its REST service") from None
            raise

    def _has_controller(self) -> bool:
        """Errors of other calls do not show whether the controller failed to answer. Raises _DeniedError.

        For an expired token, 22.05.8 reports an unspecified controller error, but names the accounting's.
        """
        try:
            return any(each.get("ping") == "UP" for each in self._call("GET", "slurm", "ping").get("pings") or ())
        except _DeniedError:
            raise
        except SlurmError:
            if self.site.token_file:
                with suppress(Unreachable):
                    self._is_known()
            return False

    def _is_known(self) -> None:
        try:
            self._call("GET", "slurmdb", "clusters")
        except _DeniedError:
            raise
        except SlurmError:
            return

    def _headers(self) -> dict[str, str]:
        if self.site.token_file is None:
            return {}
        try:
            token = Path(self.site.token_file).read_text().strip().removeprefix("SLURM_JWT=")
        except OSError as error:
            raise SlurmError(f"rest.token_file: {self.site.token_file} cannot be read: {error.strerror}") from None
        user = {"X-SLURM-USER-NAME": self.site.user} if self.site.user else {}
        return {"X-SLURM-USER-TOKEN": token, **user}


def _denied(site: SlurmRest) -> _DeniedError:
    if not site.token_file:
        return _DeniedError(f"Slurm's REST service at {site.url} wants a token: add rest.token_file")
    fix = f"write a new one into {site.token_file}: scontrol token"
    return _DeniedError(f"Slurm's REST service at {site.url} does not accept the token, which may have expired: {fix}")


def _checked(answer: httpx.Response, site: SlurmRest, allowed: Sequence[int]) -> dict[str, Any]:
    if answer.status_code in _DENIED or "Authentication" in answer.text[:200]:
        raise _denied(site)
    try:
        reply: dict[str, Any] = answer.json()
    except ValueError:
        raise SlurmError(
            f"Slurm's REST service at {site.url} says {answer.status_code}: {answer.text[:200]!r}"
        ) from None
    errors = [each for each in reply.get("errors") or () if _number(each) not in {0, _HELD, *allowed}]
    if any(_number(each) == _NOT_PROVED for each in errors):
        raise _denied(site)
    if errors or (answer.status_code >= httpx.codes.BAD_REQUEST and not reply.get("errors")):
        words = "; ".join(dict.fromkeys(_words(errors))) or f"status {answer.status_code}"
        if "contact slurm controller" in words.lower() or "connect failure" in words.lower():
            raise Unreachable(f"Slurm's controller does not answer: {words}")
        raise SlurmError(f"Slurm refuses: {words}")
    return reply


def _number(error: Mapping[str, Any]) -> int:
    return int(error.get("error_code") or error.get("error_number") or -1)


def _words(errors: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for each in errors:
        texts = [str(each[key]) for key in ("description", "error") if each.get(key)]
        yield ": ".join(dict.fromkeys(texts)) or "no reason given"


def job_of(text: str) -> dict[str, Any]:
    """A text's options as the service names them. Raises KeyError for options our scripts never use."""
    job: dict[str, Any] = {"environment": _ENVIRONMENT, "requeue": False}
    for name, value in options_of(text).items():
        key, read = _CALLED[name]
        job[key] = read(value)
    return job


def _minutes(limit: int) -> int | None:
    """None without a limit, which the service writes as -1 or as the same bits unsigned."""
    return None if limit in {-1, 2**32 - 1} else limit


def _of_queue(each: Mapping[str, Any]) -> Part:
    return Part(
        int(each.get("array_job_id") or each["job_id"]),
        base_state(str(each["job_state"])),
        str(each.get("state_reason") or ""),
        str(each.get("nodes") or ""),
        wait_status(int(each.get("exit_code") or 0)),
        str(each.get("comment") or ""),
        str(each.get("name") or ""),
    )


def _of_accounting(each: Mapping[str, Any]) -> Part:
    nodes, code = str(each.get("nodes") or ""), each.get("exit_code") or {}
    signal = int((code.get("signal") or {}).get("signal_id") or 0)
    return Part(
        int((each.get("array") or {}).get("job_id") or each["job_id"]),
        base_state(str((each.get("state") or {}).get("current") or "")),
        "",
        "" if nodes == "None assigned" else nodes,
        128 + signal if signal else int(code.get("return_code") or 0),
        str((each.get("comment") or {}).get("job") or ""),
        str(each.get("name") or ""),
    )


def _wanted(parts: Iterable[Part], numbers: frozenset[int] | None) -> Iterator[Part]:
    return (part for part in parts if numbers is None or part.job in numbers)


def _nodes(value: str) -> list[int]:
    return [int(value), int(value)]  # minimum and maximum


def _mib(value: str) -> int:
    return int(value.removesuffix("M"))


_CALLED: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "partition": ("partition", str),
    "nodes": ("nodes", _nodes),
    "ntasks-per-node": ("tasks_per_node", int),
    "cpus-per-task": ("cpus_per_task", int),
    "mem": ("memory_per_node", _mib),
    "gres": ("gres", str),
    "time": ("time_limit", int),
    "account": ("account", str),
    "qos": ("qos", str),
    "array": ("array", str),
    "mail-user": ("mail_user", str),
    "mail-type": ("mail_type", str),
    "chdir": ("current_working_directory", str),
    "output": ("standard_output", str),
    "open-mode": ("open_mode", str),
    "export": ("environment", lambda _: _ENVIRONMENT),  # the service has no user environment
    "requeue": ("requeue", lambda _: True),
    "no-requeue": ("requeue", lambda _: False),
}
