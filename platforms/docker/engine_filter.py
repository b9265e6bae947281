"""haproxy.cfg of the filter between an engine's socket and a hub: allows listed calls and refuses the rest. Pure.

It has two sockets, one for the hub and one for all kernel gateways. A gateway names its user and shows a token, which
the hub has made of that name with a key that only hub and filter have. For HAProxy 2.6 with PCRE2, as in Debian 12
(https://docs.haproxy.org/2.6/configuration.html). Decision 41 lists the limits of a filter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from platforms.docker.engine_bodies import Document
from platforms.docker.engine_calls import Call, calls_of_hub, calls_of_kernels

ENGINE_SOCKET: Final = "/run/docker.sock"
HUB_SOCKET: Final = "/run/hub/hub.sock"
KERNELS_SOCKET: Final = "/run/kernels/kernels.sock"
KEY_VARIABLE: Final = "KERNELS_KEY"
_KEY_FILE: Final = "/run/hub/kernels.key"
_START: Final = f"""\
if ! test -s {_KEY_FILE}; then
    head -c 32 /dev/urandom | base64 -w 0 > {_KEY_FILE}.new
    mv {_KEY_FILE}.new {_KEY_FILE}
fi
{KEY_VARIABLE}="$(cat {_KEY_FILE})" exec haproxy -f "$1"
"""
# Of the container, before the path of its configuration. A key that is there is kept: gateways that run were told it.
COMMAND: Final = ("sh", "-ec", _START, "filter")
# Bytes of a body. Call, body and URL must fit into one buffer, part of which HAProxy reserves for headers.
LARGEST_BODY: Final = 48 * 1024
_BUFFER: Final = 64 * 1024

_HEAD: Final = f"""\
# Rendered by gpu-commons: change the stack, not this.
global
    log stdout format raw local0 info
    tune.bufsize {_BUFFER}
    set-var proc.key env({KEY_VARIABLE})
    maxconn 1000  # without it, as many as the engine allows files, with memory for each

defaults
    mode http
    log global
    log-format "%HM %HU: %ST"
    timeout connect 5s
    timeout http-request 10s
    timeout http-keep-alive 1h
    timeout client 15m  # an image is pulled, a container's end is waited for
    timeout server 15m

backend engine
    server engine unix@{ENGINE_SOCKET}
"""

_READ: Final = """\
    http-request set-log-level silent
    http-request wait-for-body time 10s if { method POST }
    http-request set-var(txn.size) req.body_size
    http-request set-var(txn.body) req.body
    http-request set-var(txn.url) url"""

_CALL: Final = """\
    http-request set-var(txn.call) method,concat(" ",txn.url," "),concat("",txn.body)"""

_CALL_OF_USER: Final = """\
    http-request set-var(txn.method) method
    http-request set-var(txn.user) req.fhdr(gpu-commons-user)
    http-request set-var(txn.token) req.fhdr(gpu-commons-token)
    http-request del-header gpu-commons-user
    http-request del-header gpu-commons-token
    http-request set-var(txn.call) var(txn.user),concat(" ",txn.method),concat(" ",txn.url," "),concat("",txn.body)"""
_IS_PROVED: Final = "{ var(txn.user),hmac(sha256,proc.key),hex,secure_memcmp(txn.token) }"


def render_filter(document: Document) -> str:
    """Text of haproxy.cfg for a hub; `document` is its hub.json."""
    parts = [_HEAD, *_frontend(document["hub"], "hub", HUB_SOCKET, calls_of_hub(document))]
    if any(profile.get("kernels") for profile in document["profiles"]):
        parts += ["", *_frontend(document["hub"], "kernels", KERNELS_SOCKET, calls_of_kernels(document))]
    return "\n".join(parts) + "\n"


def _frontend(hub: str, name: str, socket: str, calls: Sequence[Call]) -> Iterator[str]:
    filtered = f"the filter of hub {hub} passes"
    yield f"frontend {name}"
    yield f"    bind unix@{socket} mode 666 proto h1"
    yield "    default_backend engine"
    yield _READ
    yield _CALL_OF_USER if name == "kernels" else _CALL
    whole = f"{filtered} only requests that say how long they are, up to {LARGEST_BODY} bytes, and change no protocol"
    yield _refused(whole, "{ req.fhdr(transfer-encoding) -m found }")
    yield _refused(whole, "{ req.hdr(upgrade) -m found }")
    yield _refused(whole, f"{{ var(txn.size) -m int gt {LARGEST_BODY} }}")
    yield _refused(whole, "!{ method POST PUT } { var(txn.size) -m int gt 0 }")
    # Text length ends at the first NUL, as does what an expression matches.
    partly = "{ method POST } { var(txn.size) -m int gt 0 } !{ req.body,length,sub(txn.size) -m int eq 0 }"
    yield _refused(f"{filtered} only bodies that are text and arrive as a whole", partly)
    if name == "kernels":
        old = "a server that started before an update of the hub has no such gateway: stop it and start it again"
        yield _refused(f"{filtered} only requests that prove whose gateway they come from; {old}", f"!{_IS_PROVED}")
    for call in calls:
        yield f"    # {call.why}"
        yield f"    http-request allow if {{ var(txn.call) -m reg '{_expression(call)}' }}"
    yield "    http-request set-log-level warning"
    for address in dict.fromkeys(call.address for call in calls if call.body):
        message = f"{filtered} only bodies that its stack wrote, with their keys in order, for objects of one user"
        yield _refused(message, f"{{ var(txn.call) -m reg '\\A{address}' }}")
    kinds = f"{hub}-kernel-..." if name == "kernels" else f"{hub}-server-..., {hub}-gateway-..., {hub}-kernel-..."
    message = f"only calls that its programs need, by name, for containers {kinds} and what belongs to them"
    yield _refused(f"{filtered} {message}", "")


def _expression(call: Call) -> str:
    """The whole line, or its start if the body is not checked."""
    return rf"\A{call.address}" if call.body is None else rf"\A{call.address}{call.body}\z"


def _refused(sentence: str, condition: str) -> str:
    """An error in the engine's format, which its clients show."""
    body = json.dumps({"message": sentence})
    under = f" if {condition}" if condition else ""
    return f"    http-request return status 403 content-type application/json string '{body}'{under}"
