"""haproxy.cfg of the filter between an engine's socket and a hub: allows listed calls and refuses the rest. Pure.

It has two sockets, one for the hub and one for all kernel gateways. A gateway names its user and shows a token, which
the hub has made of that name with a key that only hub and filter have. For HAProxy 2.6 with PCRE2, as in Debian 12
(https://docs.haproxy.org/2.6/configuration.html). Decision 41 lists the limits of a filter.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote, quote_plus

from fleet.labels import OWN_PREFIX
from platforms.docker.engine_bodies import (
    ANY_USER,
    SAME,
    USER,
    Document,
    attached,
    container,
    home,
    labelled_home,
    user_network,
)
from platforms.docker.hub_files.names import HUB
from platforms.docker.json_patterns import literal, one_of
from platforms.templates import rendered

_KERNEL: Final = "[0-9a-f]{12}"
_ANY: Final = "[a-z0-9-]+"
_VERSION: Final = r"(?:/v1\.(?:2[4-9]|[3-9][0-9]))?"  # before 1.24 the start call had a body
_TRUTH: Final = "(?:True|False|true|false|0|1)"


# A call is one line of text, `METHOD URL BODY`, and passes if it fully matches a row; the call of a gateway begins with
# the user whose gateway it is, `USER METHOD URL BODY`. Objects are addressed by name, with the hub's name as prefix. A
# container can only be created as written by the stack: `engine_bodies` describes what else its body may contain.
# Calls and bodies: https://docs.docker.com/reference/api/engine/version/v1.41/.
@dataclass(frozen=True, slots=True)
class Call:
    """One row. `url` and `body` are patterns; a body of None is not checked, a body of "" must be empty."""

    method: str
    url: str
    why: str
    body: str | None = ""
    sender: str = ""

    @property
    def address(self) -> str:
        """Pattern of the line's start."""
        return f"{self.sender}{self.method} {_VERSION}{self.url} "

    @property
    def expression(self) -> str:
        """Pattern of the whole line, or of its start if the body is not checked."""
        return rf"\A{self.address}" if self.body is None else rf"\A{self.address}{self.body}\z"


def calls_of_hub(document: Document) -> tuple[Call, ...]:
    """Calls of the hub itself."""
    hub = literal(document["hub"])
    made = f"{hub}-(?:(?:server|gateway)-{ANY_USER}|kernel-{ANY_USER}-{_KERNEL})"
    network = f"{hub}-user-{ANY_USER}"
    homes = home(document)
    servers = [(each["body"], each.get("gpus", 0)) for each in document["profiles"]]
    gateway = [(document["gateway"]["body"], 0)] if document.get("gateway") else []
    return (
        *_seen(),
        *_ruled(made, _filter(document), _filter(document, user=_ANY, part="kernel")),
        Call("POST", rf"/containers/{made}/stop(?:\?t=[0-9]{{1,4}})?", "a server may save what it has"),
        Call("GET", rf"/containers/{made}/logs\?{_query(_LOGS)}", "why a server ended"),
        *_created(document, f"{hub}-server-{USER}", servers, hub, homes),
        *_created(document, f"{hub}-gateway-{USER}", gateway, f"{hub}-user-{SAME}", None),
        *_cards(document, f"{hub}-server-{ANY_USER}"),
        Call("POST", "/networks/create", "server, gateway and kernels of a user meet", user_network(document)),
        Call(
            "POST",
            f"/networks/{hub}-user-{USER}/connect",
            "a server meets its gateway",
            attached(f"{hub}-server-{SAME}"),
        ),
        Call("GET", f"/networks/{network}", "is it there"),
        Call("DELETE", f"/networks/{network}", "its user's server ended"),
        Call("GET", rf"/networks\?{_filter(document)}", "networks whose users are gone"),
        Call("GET", f"/volumes/{hub}-home-{ANY_USER}", "whose home it is"),
        Call("GET", rf"/volumes\?{_filter(document, home=_ANY)}", "who has an earlier home"),
        Call("POST", "/volumes/create", "a home with its owner's label", labelled_home(document)),
        *_images(document),
    )


def calls_of_kernels(document: Document) -> tuple[Call, ...]:
    """Calls of the gateways: only for kernels of the user whose gateway it is."""
    hub = literal(document["hub"])
    kernel = f"{hub}-kernel-{SAME}-{_KERNEL}"
    kernels = [(each["body"], each.get("gpus", 0)) for profile in document["profiles"] for each in _kernels(profile)]
    calls = (
        *_seen(),
        *_ruled(kernel, _filter(document, user=SAME, part="kernel")),
        *_created(document, kernel, kernels, f"{hub}-user-{SAME}", home(document)),
        *_cards(document, kernel),
        Call("PUT", rf"/containers/{kernel}/archive\?path=%2F", "the kernel's connection file, a tar", None),
    )
    return tuple(replace(call, sender=f"{USER} ") for call in calls)


def _seen() -> Iterator[Call]:
    yield Call("GET", "/(?:_ping|version)", "which API the engine speaks")
    yield Call("HEAD", "/_ping", "the same")


_LOGS: Final = ("(?:stdout|stderr|timestamps|follow)=[01]", "tail=(?:all|[0-9]{1,6})")


def _ruled(name: str, *filters: str) -> Iterator[Call]:
    """All calls between a container's creation and its end."""
    deletion = _query([f"(?:v|link|force)={_TRUTH}"])
    yield Call("GET", f"/containers/{name}/json", "does it run")
    yield Call("POST", f"/containers/{name}/start", "it was made and connected")
    yield Call("POST", rf"/containers/{name}/kill(?:\?signal=[A-Z0-9]{{1,12}})?", "interrupt a kernel, end a container")
    yield Call("DELETE", rf"/containers/{name}(?:\?{deletion})?", "it ended")
    listing = _query([f"(?:all|size|trunc_cmd)={_TRUTH}", "limit=-?[0-9]{1,4}"])
    yield Call("GET", rf"/containers/json\?{listing}&{one_of(filters)}", "what an earlier process left")


def _query(parameters: Sequence[str]) -> str:
    each = one_of(parameters)
    return f"{each}(?:&{each})*+"


def _filter(document: Document, **labels: str) -> str:
    """A filter by the hub's label, then by these of ours with patterns of their values.

    docker-py writes json.dumps, URL-encoded.
    """
    comma, equals, quote_mark, end = (literal(quote_plus(each)) for each in (f', "{OWN_PREFIX}', "=", '"', "]}"))
    text = literal(quote_plus(f'{{"label": ["{HUB}={document["hub"]}"'))
    text += "".join(f"{comma}{label}{equals}{value}{quote_mark}" for label, value in labels.items())
    return f"filters={text}{end}"


def _created(
    document: Document,
    name: str,
    bodies: Sequence[tuple[Document, int]],
    network: str,
    users_home: str | None,
) -> Iterator[Call]:
    patterns = dict.fromkeys(
        container(document, body, gpus=gpus, network=network, home=users_home) for body, gpus in bodies
    )
    for pattern in patterns:
        yield Call("POST", rf"/containers/create\?name={name}", "as the stack wrote it", pattern)


def _cards(document: Document, name: str) -> Iterator[Call]:
    """Take a card, and see its holder."""
    networks = [literal(card["network"]) for card in document["cards"] if card["network"]]
    if networks:
        yield Call("GET", f"/networks/{one_of(networks)}", "who holds this card")
        yield Call("POST", f"/networks/{one_of(networks)}/connect", "take this card", attached(name))


def _images(document: Document) -> Iterator[Call]:
    """Check and pull images, only those of the stack."""
    for image in _image_names(document):
        repository, _, digest = image.partition("@")
        yield Call("GET", f"/images/{literal(quote(image, safe='/:'))}/json", "is it on the host")
        if digest:
            place, tag = (
                literal(f"{key}={quote_plus(it)}") for key, it in (("fromImage", repository), ("tag", digest))
            )
            yield Call("POST", rf"/images/create\?(?:{tag}&{place}|{place}&{tag})", "pull it")


def _image_names(document: Document) -> tuple[str, ...]:
    bodies = [each["body"] for profile in document["profiles"] for each in (profile, *_kernels(profile))]
    bodies += [document["gateway"]["body"]] if document.get("gateway") else []
    return tuple(dict.fromkeys(str(body["Image"]) for body in bodies))


def _kernels(profile: Document) -> Sequence[Document]:
    return profile.get("kernels") or ()


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


def render_filter(document: Document) -> str:
    """Text of haproxy.cfg for a hub; `document` is its hub.json."""
    hub = document["hub"]
    sides = [("hub", HUB_SOCKET, calls_of_hub(document))]
    if any(profile.get("kernels") for profile in document["profiles"]):
        sides.append(("kernels", KERNELS_SOCKET, calls_of_kernels(document)))
    return rendered(
        Path(__file__).with_name("haproxy.cfg.j2"),
        hub=hub,
        sides=sides,
        refused=partial(_refused, hub),
        buffer=_BUFFER,
        largest_body=LARGEST_BODY,
        engine_socket=ENGINE_SOCKET,
        key_variable=KEY_VARIABLE,
    )


def _refused(hub: str, passes: str, condition: str = "") -> str:
    """An error in the engine's format, which its clients show."""
    body = json.dumps({"message": f"the filter of hub {hub} passes {passes}"})
    under = f" if {condition}" if condition else ""
    return f"    http-request return status 403 content-type application/json string '{body}'{under}"
