"""The filter before an engine: what its programs send passes, and nothing else. Patterns mean the same to Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from platforms.docker.engine_filter import LARGEST_BODY, Call, calls_of_hub, calls_of_kernels, render_filter
from platforms.docker.hub import hub_document
from platforms.docker.hub_files.containers import Wish
from platforms.docker.hub_files.engine import in_order
from platforms.docker.hub_files.names import Names
from platforms.docker.hub_model import parse_hub
from platforms.docker.json_patterns import exactly
from tests.platforms.docker import engine_attacks as attacks
from tests.platforms.docker import engine_requests as requests
from tests.platforms.docker.engine_requests import KERNEL, Line
from tests.platforms.docker.test_hub import ARGS as HUB_ARGS

HUB = requests.document()
ON_HUB, ON_KERNELS = attacks.on_hub(HUB), attacks.on_kernels(HUB)


def passes(calls: Sequence[Call], line: Line, gateway_of: str = "ada") -> bool:
    """As HAProxy decides it; a gateway has proved whose it is."""
    if len(line[2]) > LARGEST_BODY:
        return False
    text = f"{line[0]} {line[1]} {line[2]}"
    if calls[0].sender:
        text = f"{gateway_of} {text}"
    begins = (call for call in calls if re.match(call.address, text))
    return any(call.body is None or re.fullmatch(call.address + call.body, text) for call in begins)


def test_the_configuration_of_a_hub_with_kernels_is_as_approved(golden: Callable[[str], Any]) -> None:
    golden("engine-filter/kernels.cfg").equals(render_filter(HUB))


def test_what_a_hub_sends_passes_its_socket() -> None:
    calls = calls_of_hub(HUB)
    assert [line for line in requests.hub_sends(HUB) if not passes(calls, line)] == []


def test_what_a_gateway_sends_passes_its_socket() -> None:
    calls = calls_of_kernels(HUB)
    assert [line for line in requests.gateways_send(HUB) if not passes(calls, line)] == []


@each_row("tried", ON_HUB)
def test_a_hub_cannot(tried: str) -> None:
    assert not passes(calls_of_hub(HUB), ON_HUB[tried])


@each_row("tried", ON_KERNELS)
def test_a_gateway_cannot(tried: str) -> None:
    assert not passes(calls_of_kernels(HUB), ON_KERNELS[tried])


def test_the_gateway_of_somebody_else_cannot_touch_a_users_kernels() -> None:
    calls, everybodys = calls_of_kernels(HUB), {"/version", f"{requests.V}/networks/gpu-commons-card-1"}
    sent = [line for line in requests.gateways_send(HUB) if line[1] not in everybodys]
    for other in ("bob", "ad", "ada-0", "ada-0123456789ab", "", "ada ada", ".*"):
        assert [line for line in sent if passes(calls, line, other)] == []


def test_a_server_with_a_gpu_asks_for_as_many_devices_as_its_profile_and_for_those_of_the_host() -> None:
    device_request = {"Capabilities": [["gpu"]], "DeviceIDs": ["0"], "Driver": "nvidia"}
    calls = calls_of_hub(HUB)
    assert passes(calls, requests.create("lab-server-ada", requests.server(HUB, 0, DeviceRequests=[device_request])))
    assert not passes(calls, requests.create("lab-server-ada", requests.server(HUB, 0)))
    assert not passes(
        calls, requests.create("lab-server-ada", requests.server(HUB, 1, DeviceRequests=[device_request]))
    )


def test_devices_by_cdi_are_asked_for_by_cdi() -> None:
    hub = HUB | {"access": "cdi"}
    device_request = {"DeviceIDs": ["nvidia.com/gpu=GPU-91f0"], "Driver": "cdi"}
    made = requests.server(hub, 0, DeviceRequests=[device_request])
    assert passes(calls_of_hub(hub), requests.create("lab-server-ada", made))
    assert not passes(calls_of_hub(HUB), requests.create("lab-server-ada", made))


def test_shared_gpus_have_no_networks_to_take() -> None:
    hub = HUB | {"cards": [card | {"network": None} for card in HUB["cards"]]}
    take = ("POST", f"{requests.V}/networks/gpu-commons-card-0/connect", requests.attach(KERNEL))
    assert passes(calls_of_kernels(HUB), take)
    assert not passes(calls_of_kernels(hub), take)


def test_a_hub_without_kernels_has_one_socket() -> None:
    hub = HUB | {"gateway": None, "profiles": HUB["profiles"][:1]}
    assert "kernels.sock" in render_filter(HUB)
    assert "kernels.sock" not in render_filter(hub)
    assert not passes(calls_of_hub(hub), requests.create("lab-gateway-ada", requests.gateway(HUB)))


def test_a_value_that_holds_an_apostrophe_does_not_end_a_word_of_the_configuration() -> None:
    plain, odd = ({"body": requests.body(f"{name}@sha256:{'2' * 64}")} for name in ("its", "it's"))
    counted = [render_filter(HUB | {"gateway": gateway}).count("'") for gateway in (plain, odd)]
    assert counted[0] == counted[1]


def _rendered(part: str, networks: list[str], given: Mapping[str, Any], devices: list[Any], **more: Any) -> Line:
    """What the programs make of a body of hub.json for the user ann; `part` is the name of the container behind it."""
    names = Names("dcsg", "ann")
    home = {} if part == "gateway-ann" else {names.home: "/home/jovyan"}
    wish = Wish(
        name=f"dcsg-{part}",
        title="",
        body=given,
        networks=networks,
        labels=names.labels(part.partition("-")[0], "box"),
        env={"JUPYTERHUB_API_TOKEN": "0", "KERNEL_USERNAME": "\u00e4nn", "MEM_LIMIT": "8"},
        volumes=home,
        **more,
    )
    return requests.create(f"dcsg-{part}", json.dumps(in_order(wish.rendered(devices, "runtime"))))


def test_what_the_programs_make_of_a_hub_of_the_component_passes() -> None:
    """hub.json as the component renders it, through the code of the programs, to the rows of the filter."""
    hub = hub_document("dcsg", parse_hub("dcsg", HUB_ARGS))
    on_hub, on_kernels, cards = calls_of_hub(hub), calls_of_kernels(hub), hub["cards"]
    remote, server = hub["profiles"]
    restarted = {"RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 5}}
    gateway = _rendered("gateway-ann", ["dcsg-user-ann"], hub["gateway"]["body"], [], host=restarted)
    for line in (
        _rendered("server-ann", ["dcsg", "dcsg-user-ann"], remote["body"], []),
        _rendered("server-ann", ["dcsg"], server["body"], cards[1:], gpus=1),
        gateway,
    ):
        assert passes(on_hub, line), line
        assert not passes(on_kernels, line)
    command = {"Cmd": ["python3", "-m", "ipykernel_launcher", "-f", "/x.json"], "WorkingDir": "/home/jovyan/a b"}
    kernel = remote["kernels"][0]["body"]
    name, options = "kernel-ann-0123456789ab", {"host": {"Init": True}, "more": command, "gpus": 1}
    line = _rendered(name, ["dcsg-user-ann"], kernel, cards[:1], **options)
    assert passes(on_kernels, line, "ann"), line
    assert not passes(on_kernels, line, "bob")
    assert not passes(on_hub, line)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner.filter(lambda it: it is not None)),
    max_leaves=6,
)


@pytest.mark.slow
@given(value=JSON, other=JSON)
def test_a_value_matches_its_own_text_and_no_other_value_does(value: Any, other: Any) -> None:
    text = requests.text(value)
    assert re.fullmatch(exactly(value), text)
    assert bool(re.fullmatch(exactly(value), requests.text(other))) is (requests.text(other) == text)
