"""Checks the environment variables for connections before a library fails on them."""

import importlib.util
import os
import re
import ssl
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from imaging.inspection.faults import InspectError

_PROXIES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_SCHEMES: Final = ("http", "https", "socks5", "socks5h")
_FIX: Final = "write http://HOST:PORT, or unset it"


def network_faults(environment: Mapping[str, str]) -> Iterator[InspectError]:
    """Faults of proxies and certificates. Reads files, and contacts no host."""
    for name in proxy_variables(environment):
        if fault := _proxy_fault(environment[name]):
            yield InspectError(name, *fault, value=environment[name])
    if path := environment.get("SSL_CERT_FILE"):
        if reason := _bundle_fault(path):
            yield InspectError(
                "SSL_CERT_FILE", reason, "name a file with PEM certificates of authorities, or unset it", value=path
            )
    elif (path := environment.get("SSL_CERT_DIR")) and not os.path.isdir(path):  # noqa: PTH112 - may be no path
        yield InspectError("SSL_CERT_DIR", "is not a folder", "name a folder of certificates, or unset it", value=path)


def check_network(environment: Mapping[str, str]) -> None:
    """Raises InspectError for the first fault."""
    for fault in network_faults(environment):
        raise fault


def proxy_variables(environment: Mapping[str, str]) -> list[str]:
    """Names of the proxy variables set. Lower case comes first, as in other programs."""
    return [name for upper in _PROXIES for name in (upper.lower(), upper) if environment.get(name)]


def _proxy_fault(value: str) -> tuple[str, str] | None:
    try:
        address = urlsplit(value if "://" in value else f"http://{value}")
        port = address.port
    except ValueError:
        return "is not the address of a proxy", _FIX
    host = address.hostname or ""
    if not host or not re.fullmatch(r"[\w.:%-]+", host) or port == 0 or (address.netloc.endswith(":")):
        return "is not the address of a proxy", _FIX
    if address.scheme not in _SCHEMES:
        return f"has the scheme {address.scheme}, which no proxy has", _FIX
    if address.scheme.startswith("socks") and importlib.util.find_spec("socksio") is None:
        return (
            "is a SOCKS proxy, which needs the package socksio",
            "install socksio beside gpu-commons, or use an HTTP proxy",
        )
    return None


def _bundle_fault(path: str) -> str:
    try:
        ssl.create_default_context(cafile=path)
    except ssl.SSLError:
        return "holds no certificates in PEM"
    except (OSError, ValueError) as error:
        return f"cannot be read: {error.strerror or error}" if isinstance(error, OSError) else "is not a path"
    return ""
