"""Explains failed builds, with advice, from the output of BuildKit's clients."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from errors import UserError
from imaging.inspection.secrets import hide_in_command

if TYPE_CHECKING:
    from imaging.build.buildkit import Client

ERROR_LINES_SHOWN: Final = 40
_REFUSED: Final = re.compile(
    r"\b(401|403)\b|denied|unauthorized|authorization failed|insufficient_scope|no basic auth", re.IGNORECASE
)
_CHECK_FAILED: Final = re.compile(r"/run/verify\.py\W+did not complete")


class BuildError(Exception):
    """A failed build, worded for people."""


class NoBuilderError(BuildError, UserError):
    """No builder: no program, no builder of that name, or one that does not answer."""


def explain(lines: Sequence[str], client: Client) -> str:
    """One message from a client's output: advice for known faults, then the failing step's last lines."""
    return hide_in_command(_explained([_without_query(line) for line in lines], client))


def _explained(lines: Sequence[str], client: Client) -> str:
    text = "\n".join(lines[-ERROR_LINES_SHOWN:])
    # The client repeats the failing step below a line of dashes; before that there is only progress.
    start = next((number for number, line in enumerate(lines) if line.startswith("------")), None)
    if start is not None:
        text = "\n".join(lines[start:][-ERROR_LINES_SHOWN:])
    error = next((line for line in reversed(lines) if line.lower().startswith("error")), "")
    fault = advice(lines, error, client)
    return f"{fault or 'the build failed:'}\n{error if fault and 'failed to push' in error else text}"


def advice(lines: Sequence[str], error: str, client: Client) -> str:
    """Advice for known faults, from a build's output and its error; empty for all others."""
    is_push = "failed to push" in error
    is_refused = "failed to do request" in error and "connection refused" in error
    is_silent = "waiting for connection" in "\n".join(lines[-3:]) and "deadline exceeded" in error
    disk = (
        f"the disk of {client.builder} (or of the registry) is full. Free space there, "
        f"or empty the builder's cache: {client.prune}"
    )
    login = (
        "the registry refuses the image: log in with docker login as somebody who may push there, then run the "
        "same command again; what was built stays in the builder's cache"
    )
    registry = (
        "the registry does not take the image: start it (in the lab: make up) or correct its address, "
        "then run the same command again; what was built stays in the builder's cache"
    )
    base = "a base image cannot be pulled: name one that this machine reaches, or set `site.substitutes`"
    check = "the image fails its own check (verify.py in its folder), so it was not exported:"
    builder = f"{client.builder} does not answer: start it (in the lab: make up), then run the same command again"
    known = (
        ("no space left on device" in "\n".join([*lines, error]).lower(), disk),
        (is_push and _REFUSED.search(error), login),
        (is_push or is_refused, registry),
        ("failed to resolve source metadata" in error, base),
        (_CHECK_FAILED.search(error), check),
        (is_silent, builder),
    )
    return next((says for is_so, says in known if is_so), "")


def _without_query(line: str) -> str:
    """Redirect addresses of registries have a signature after the question mark."""
    return re.sub(r"(https?://[^\s\"?]+)\?[^\s\"]+", r"\1?…", line)
