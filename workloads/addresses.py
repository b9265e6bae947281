"""Addresses, registries and image references, without users, passwords or tokens."""

import re
from collections.abc import Callable
from typing import Annotated, Final
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, ValidationInfo

from errors.faults import Misfit, is_lenient
from errors.problems import has_password
from errors.redaction.names import is_secret
from imaging.references import ImageReference

LOOPBACK: Final = "127.0.0.1"
_LABEL: Final = r"[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?"
_HOST: Final = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
_CHARACTERS: Final = re.compile(r"[^\s\x00-\x20\x7f-\x9f\"<>\\^`{|}]+")
_NOT_HERE: Final = "holds a user, a password or a token"
_ELSEWHERE: Final = "remove it, from the version history too: whoever needs it gets it from a secret store"


def _address(*, query: bool, fragment: bool) -> Callable[[str, ValidationInfo], str]:
    def check(value: str, info: ValidationInfo) -> str:
        return _checked(value, ("http", "https") if is_lenient(info) else ("https",), query=query, fragment=fragment)

    return check


def _checked(value: str, schemes: tuple[str, ...], *, query: bool, fragment: bool) -> str:
    reason = f"is not an {' or '.join(schemes)} address"
    plain = ", or http://… where there is no TLS" if "http" in schemes else ""
    fix = f"write https://host/path{plain}, without user name or password"
    try:
        parts = urlsplit(value)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # an invalid port, an incomplete IPv6 address
        raise Misfit(reason, fix) from None
    if "@" in parts.netloc or any(is_secret(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
        raise Misfit(_NOT_HERE, _ELSEWHERE)
    if parts.scheme not in schemes or not _CHARACTERS.fullmatch(value) or not (":" in host or _HOST.fullmatch(host)):
        raise Misfit(reason, fix)
    if port == 0 or parts.netloc.endswith(":"):
        raise Misfit("has an invalid port", "write a port from 1 to 65535, or leave it out")
    if ("?" in value and not query) or ("#" in value and not fragment):
        what = "a query or a fragment" if not query else "a fragment"
        raise Misfit(f"has {what}", f"write it without what begins with {'? or #' if not query else '#'}")
    return value


def _image_reference(value: str) -> str:
    if has_password(value):
        raise Misfit(_NOT_HERE, _ELSEWHERE)
    try:
        reference = ImageReference.parse(value)
    except ValueError as error:
        raise Misfit(str(error), "write registry/repository:tag or registry/repository@sha256:…") from None
    if not _is_host(reference.registry):
        raise Misfit("names a registry that is not a valid host", "write host or host:port, the port from 1 to 65535")
    return value


def _is_host(registry: str) -> bool:
    host, colon, port = registry.partition(":")
    return bool(_HOST.fullmatch(host)) and (not colon or 1 <= int(port) <= 65535)


def _replaceable(value: str) -> str:
    if re.match(r"https?://", value):
        return _checked(value, ("http", "https"), query=True, fragment=False)
    return _image_reference(value)


def _registry(value: str) -> str:
    if "@" in value:
        raise Misfit(_NOT_HERE, "write host[:port] and a folder; log in to it by docker login or a pull secret")
    head = value.partition("/")[0]
    try:
        reference = ImageReference.parse(f"{value}/x")
    except ValueError:
        reference = None
    if reference is None or reference.registry != head or reference.tag or reference.digest or not _is_host(head):
        raise Misfit("is not a registry", "write host[:port] and a folder: registry.example.edu/gpu-commons")
    return value


def _host_name(value: str) -> str:
    if not _HOST.fullmatch(value) or value != value.lower() or value.rpartition(".")[2].isdigit():
        raise Misfit("is not a host name", "write a DNS name in lower case, such as hub.example.edu")
    return value


HostName = Annotated[str, AfterValidator(_host_name)]
Reference = Annotated[str, AfterValidator(_image_reference)]
Replaceable = Annotated[str, AfterValidator(_replaceable)]
Registry = Annotated[str, AfterValidator(_registry)]
Url = Annotated[str, AfterValidator(_address(query=True, fragment=True))]
Endpoint = Annotated[str, AfterValidator(_address(query=True, fragment=False))]  # RFC 6749, 3.1
BaseUrl = Annotated[str, AfterValidator(_address(query=False, fragment=False))]
