"""Where the start of a server stands, and words of all platforms: cause, what it means, what to do. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

TELL = "please tell the people who run this hub."
AGAIN = f"Try again in a few minutes; if it happens again, {TELL}"
NO_USE = f"Starting it again will not help: choose another option, and {TELL}"
SHORT = 120  # characters of somebody else's text


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a start stands.

    `line` names the line of the log that the sentence replaces. In both sentences {elapsed} stands for the time since
    `since`, in `given_up` {limit} for the time that a start may take. A final situation has only `given_up`.
    """

    line: str
    percent: int
    waiting: str
    given_up: str
    since: datetime | None = None
    is_final: bool = False

    def waiting_at(self, now: datetime) -> str:
        """The sentence of somebody who waits."""
        return self._at(now, self.waiting or self.given_up)

    def given_up_at(self, now: datetime, limit_s: float) -> str:
        """The sentence of somebody who need not wait any longer."""
        return self._at(now, self.given_up).replace("{limit}", duration(timedelta(seconds=limit_s)))

    def _at(self, now: datetime, sentence: str) -> str:
        return sentence.replace("{elapsed}", duration(now - self.since) if self.since else "some time")


def final(line: str, sentence: str) -> Situation:
    """A start that cannot succeed any more."""
    return Situation(line, 100, "", sentence, is_final=True)


def answering(since: datetime) -> Situation:
    """The server runs since then, and does not answer yet."""
    return Situation(
        "answering",
        80,
        "Your server runs and is getting ready ({elapsed} so far).",
        f"Your server runs, but did not answer within {{limit}}. {AGAIN}",
        since=since,
    )


def pulling(where: str, image: str, since: datetime) -> Situation:
    """An image is downloaded; `where` begins the sentence."""
    return Situation(
        "pulling",
        50,
        f"{where} is downloading the image {image} ({{elapsed}} so far). "
        "The first time on a machine, this takes several minutes.",
        f"The image {image} was still being downloaded after {{elapsed}}, and a start may take {{limit}}. "
        f"How much of it had arrived, the machine does not tell. {AGAIN}",
        since=since,
    )


def out_of_memory(limit: str) -> tuple[str, str]:
    """Why a server that ran is over, and what to do; `limit`: how much it may use, or nothing."""
    may = f" (it may use {limit})" if limit else ""
    return f"Your server ran out of memory as it started{may}.", f"Choose an option with more memory, or {TELL}"


def crashed(code: int | None) -> tuple[str, str]:
    """The same of one that ended by itself."""
    advice = f"Packages in your home directory (~/.local) are a common cause. {AGAIN}"
    return f"Your server ended as it started (exit code {code}).", advice


def duration(time: timedelta) -> str:
    """`45 seconds`, `1 minute`, `2 min 10 s`, `10 minutes`."""
    seconds = max(0, round(time.total_seconds()))
    minutes, rest = divmod(seconds, 60)
    if minutes and rest:
        return f"{minutes} min {rest} s"
    amount, unit = (minutes, "minute") if minutes else (rest, "second")
    return f"{amount} {unit}{'' if amount == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class PullProblem:
    """Why an image is not there. `is_lasting`: the next try has the same answer."""

    phrase: str
    is_lasting: bool


BAD_NAME = PullProblem("its name is not valid", is_lasting=True)
# In this order: a registry that does not answer a request for a token is no refusal.
_PULL: tuple[tuple[str, PullProblem], ...] = (
    (r"invalid reference format", BAD_NAME),
    (r"no space left on device", PullProblem("the machine has no room left for it", is_lasting=False)),
    (r"toomanyrequests|too many requests|rate limit", PullProblem("the registry limits requests", is_lasting=False)),
    (r"HTTP response to HTTPS client", PullProblem("the registry does not speak HTTPS", is_lasting=True)),
    (
        r"no such host|server misbehaving|name resolution",
        PullProblem("the registry's name is not known", is_lasting=False),
    ),
    (
        r"connection refused|no route to host|network is unreachable|timeout|deadline exceeded|connection reset|\bEOF",
        PullProblem("the registry does not answer", is_lasting=False),
    ),
    (r"x509|certificate", PullProblem("the registry's certificate is not trusted", is_lasting=True)),
    (
        r"pull access denied|repository does not exist",
        PullProblem("the registry does not have it, or refuses access to it", is_lasting=True),
    ),
    (
        r"unauthorized|forbidden|denied|authentication required|no basic auth",
        PullProblem("the registry refuses access to it", is_lasting=True),
    ),
    (r"no match for platform|no matching manifest", PullProblem("it is for another kind of machine", is_lasting=True)),
    (
        r"not ?found|manifest unknown|name unknown|no such manifest",
        PullProblem("the registry does not have it", is_lasting=True),
    ),
    (
        r"internal server error|service unavailable|bad gateway|: 5\d\d\b",
        PullProblem("the registry returned a server error", is_lasting=False),
    ),
)


def pull_problem(text: str) -> PullProblem:
    """Why an image is not there, by what the machine says that tried. Its texts are no interface."""
    for pattern, problem in _PULL:
        if re.search(pattern, text, re.IGNORECASE):
            return problem
    said = shortened(text)
    return PullProblem(f"its machine says “{said}”" if said else "its machine does not say why", is_lasting=False)


def shortened(text: str) -> str:
    """One line of somebody else's text: its last clause, without addresses and what may be in them."""
    one_line = " ".join(re.sub(r"\S*(?:://|[?&]\w+=|@)\S*?(?=:?(?:\s|$))", "…", text).split())
    # The runtime ends what it cannot classify with ": unknown".
    clause = re.split(r": (?=\S)", one_line.removesuffix(": unknown"))[-1].strip(' ."')
    return clause if len(clause) <= SHORT else clause[: SHORT - 1].rstrip() + "…"
