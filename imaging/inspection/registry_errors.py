"""Explains registry answers other than an image, with one message each."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import httpx

from imaging.inspection.authorisation import advice
from imaging.inspection.faults import InspectError
from imaging.inspection.network_environment import proxy_variables

_CODES_SHOWN: Final = 60
_TRANSIENT: Final = frozenset({408, 429, 500, 502, 503, 504})


class TransientError(Exception):
    """Worth a retry. `retry_after_s` is the registry's request; `fault` is for the user after the last try."""

    def __init__(self, fault: InspectError, retry_after_s: float | None = None) -> None:
        super().__init__(type(fault).__name__)
        self.fault = fault
        self.retry_after_s = retry_after_s


def error_of(answer: httpx.Response, fault: InspectError) -> InspectError | TransientError:
    """The error for an answer without the content: transient faults are worth a retry."""
    is_transient = answer.status_code in _TRANSIENT
    return TransientError(fault, retry_after_s(answer.headers, datetime.now(UTC))) if is_transient else fault


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a registry wants us to wait; None if it states none, or none that can be read."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (TypeError, ValueError):
        return None


def refused(  # noqa: PLR0913, PLR0917 - one message from all known facts
    name: str,
    registry: str,
    status: int,
    tag: str,
    headers: Mapping[str, str],
    has_login: bool,  # noqa: FBT001
) -> InspectError:
    """The message for an answer that is not an image."""
    if status in {401, 403}:
        return InspectError(name, f"{registry} denies access ({status})", advice(registry, has_login))
    if status == 404:
        missing = f"tag {tag}" if tag else "such digest"
        return InspectError(
            name,
            f"{registry} has no such repository, or no {missing} in it",
            "check the spelling, and that the image was pushed",
        )
    if status == 429:
        wait = retry_after_s(headers, datetime.now(UTC))
        later = f"try again in {wait:.0f} s" if wait else "try again later"
        return InspectError(name, f"{registry} is rate-limiting us (429)", f"{later}; docker login raises the limit")
    if status >= 500 or status == 408:
        return InspectError(name, f"{registry} returned a server error ({status})", "try again later")
    return InspectError(name, f"{registry} answered {status}", "check the reference; a registry answers 200")


def unreachable(name: str, host: str, error: httpx.HTTPError) -> InspectError:
    """The text of an httpx error has no address: a blob store's is as sensitive as a password."""
    if isinstance(error, httpx.TimeoutException):
        return InspectError(name, f"{host} does not answer", "check the network, or try again later")
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return InspectError(
            name, f"the certificate of {host} is not trusted", "let SSL_CERT_FILE name the authority that signed it"
        )
    proxies = proxy_variables(os.environ)
    way = f", and the proxy in {proxies[0]}" if proxies else ""
    return InspectError(
        name,
        f"{host} cannot be reached: {str(error)[:_CODES_SHOWN] or 'no answer'}",
        f"check the name and the network{way}",
    )
