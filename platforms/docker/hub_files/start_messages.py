"""Progress of a server's start on a Docker host, and what is free there, as data for the pages. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workloads.hub_files.start_words import AGAIN, NO_USE, Situation, crashed, final, out_of_memory, pull_problem

Object = Mapping[str, Any]

UNANSWERED = f"The Docker engine of this hub does not answer as it should, so your server was not started. {AGAIN}"
REQUESTED = Situation("requested", 5, "Asking the host for your server.", UNANSWERED)
CLEARING = Situation(
    "clearing", 10, "Clearing what an earlier server left.", f"What an earlier server left did not end. {AGAIN}"
)
PREPARING = Situation(
    "preparing", 60, "Starting your server.", f"The host did not start your server within {{limit}}. {AGAIN}"
)
GATEWAY = Situation(
    "gateway",
    55,
    "Starting what runs your kernels.",
    f"What runs your kernels did not start within {{limit}}. {AGAIN}",
)


def image_missing(title: str, image: str, said: str) -> str:
    """Why an image is not on the host; `said` by the engine or the registry."""
    problem = pull_problem(said)
    cannot = f"The image of “{title}” ({image}) cannot be downloaded: {problem.phrase}."
    return f"{cannot} {NO_USE if problem.is_lasting else AGAIN}"


def refused(said: str) -> str:
    """The engine said no."""
    return f"The Docker engine of this hub did not start your server: {said}. {AGAIN}"


def ended(state: Object) -> Situation:
    """The container of the server is over; its state as the engine has it."""
    what, advice = out_of_memory("") if state.get("OOMKilled") else crashed(state.get("ExitCode"))
    return final("failed", f"{what} {advice}")


def counts(profiles: Iterable[Object], cards: Sequence[Object], held: Iterable[int]) -> dict[str, dict[str, Any]]:
    """What is free of the host's GPUs, by profile with GPUs; nothing where GPUs are shared, as nobody holds one there.

    A start that gets no GPU fails, so that nobody waits. `held`: indices of cards.
    """
    if any(card["network"] is None for card in cards):
        return {}
    total, busy = len(cards), len({*held})
    numbers = {"gpus": total, "busy_gpus": busy, "free_gpus": total - busy, "waiting": 0}
    found: dict[str, dict[str, Any]] = {}
    for profile in profiles:
        if gpus := profile["gpus"]:
            servers = (total - busy) // gpus
            found[profile["name"]] = {**numbers, "servers": servers, "lack": "" if servers else "gpus"}
        elif any(kernel["gpus"] for kernel in profile["kernels"]):
            found[profile["name"]] = {**numbers, "servers": 0, "lack": "", "for_kernels": True}
    return found
