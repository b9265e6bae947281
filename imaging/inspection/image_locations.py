"""Opens the image that a user names: in a registry, a layout, an archive or a SIF file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from imaging.inspection.credentials import find_login
from imaging.inspection.faults import InspectError
from imaging.inspection.manifest import Platform
from imaging.references import ImageReference

if TYPE_CHECKING:
    from imaging.inspection.registry import RegistryImage
    from imaging.inspection.session import Session


def read_reference(text: str) -> ImageReference:
    """A reference as Docker reads it; raises InspectError with the correct form."""
    given = text.strip().removeprefix("docker://")
    if re.match(r"[a-z][a-z+.-]*://", given, re.IGNORECASE):
        raise InspectError(text, "is an address, not an image reference", f"leave out {given.partition('://')[0]}://")
    try:
        return ImageReference.parse(given)
    except ValueError as error:
        raise InspectError(text or '""', str(error), _advice(given)) from None


def registry_image(session: Session, text: str) -> RegistryImage:
    """The image of a reference; raises InspectError. Sends no request yet."""
    from imaging.inspection.registry import RegistryImage  # noqa: PLC0415 - archives need no network library

    return RegistryImage(session, read_reference(text), text)


def _advice(text: str) -> str:
    name, at, digest = text.partition("@")
    if at and not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        return "a digest is sha256: and 64 of 0-9a-f"
    head, colon, tag = name.rpartition(":")
    path = head if colon and "/" not in tag else name
    if path != path.lower():
        return f"repositories are in lower case: {text.replace(path, path.lower(), 1)}"
    if re.search(r"\s", text):
        return "remove the spaces"
    if text.startswith((".", "/", "~")):
        return "for files there is gpu-commons inspect with --oci-layout, --docker-archive or --sif"
    if colon and not tag:
        return f"leave out the last colon, or add a tag: {path}:1.2"
    return "write [HOST/]NAME[:TAG][@DIGEST], such as nvidia/cuda:12.4.1-base-ubuntu22.04"


def read_platform(text: str) -> Platform:
    """`linux/amd64`; raises InspectError."""
    try:
        return Platform.parse(text)
    except ValueError as error:
        raise InspectError("--platform", str(error), "write linux/amd64 or linux/arm64", value=text) from None


def open_session(
    environment: Mapping[str, str], *, with_login: bool, connections: int = 16, within_s: float | None = None
) -> Session:
    """A session with the user's own credentials, looked up when a registry requires them.

    `within_s` is for questions not worth a wait: a single try of that time.
    """
    from imaging.inspection.session import RetryPolicy, Session  # noqa: PLC0415 - archives need no network library

    retries = RetryPolicy() if within_s is None else RetryPolicy(attempts=1, total_s=within_s, read_s=within_s)
    if not with_login:
        return Session(connections=connections, retries=retries)
    return Session(
        find_login=lambda registry: find_login(registry, environment), connections=connections, retries=retries
    )
