"""Explains to a student why a cluster refused a server: cause, meaning, what to do. Pure."""

from __future__ import annotations

import re

from workloads.hub_files.start_words import AGAIN, NO_USE, shortened

from .start_reasons import shortages


def refused(status: int, message: str, title: str) -> str:
    """Why the API server did not take the pod or its home, by HTTP status and message."""
    if missing := list(shortages(message)):
        used = " and ".join(f"{each.used} of {each.limited} {each.resource} are in use" for each in missing)
        needs = " and ".join(_amount(each.requested, each.resource) for each in missing)
        return (
            f"The quota of this hub is used up: {used}, and “{title}” needs {needs}. "
            "Stop a server that you no longer need, try again later, or choose another option."
        )
    if status >= 500:
        return unanswered()
    return f"{_refusal(status, message, f'“{title}”')} {NO_USE}"


def _refusal(status: int, message: str, title: str) -> str:
    if "violates PodSecurity" in message:
        return f"The cluster's security rules do not allow {title}."
    if "admission webhook" in message:
        return f"A rule of the cluster refused {title}: {shortened(message)}."
    if re.search(r"(maximum|minimum) \S+ usage per", message):
        return f"{title} asks for more or less than the cluster allows one server."
    if status == 403:
        return f"The hub is not allowed to start {title} in its cluster."
    return f"The cluster does not accept the settings of {title}."


def unanswered() -> str:
    """The API server did not answer, or with an error of its own."""
    return f"The hub could not reach its cluster, so your server was not started. {AGAIN}"


def _amount(number: str, things: str) -> str:
    return f"{number} {things.removesuffix('s') if number == '1' else things}"
