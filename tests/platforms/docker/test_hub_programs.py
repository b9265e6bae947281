"""What the programs of a hub on a Docker host decide: names, cards, bodies, choices, and what belongs to nobody."""

from __future__ import annotations

import asyncio
import io
import json
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from docker.errors import APIError, NotFound
from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from platforms.docker.hub_files.cards import NoCard, device_requests, free_sets, refusal
from platforms.docker.hub_files.containers import ImageMissing, Wish, bring, run
from platforms.docker.hub_files.engine import in_order
from platforms.docker.hub_files.names import LONGEST_SLUG, Names, slug
from platforms.docker.hub_files.relay import Relay
from platforms.docker.hub_files.start_messages import counts, ended
from platforms.docker.hub_files.sweeper import active_users, orphans

CARDS = [{"index": index, "device": f"GPU-{index}", "network": f"gpu-commons-card-{index}"} for index in range(3)]
SHARED = [{**card, "network": None} for card in CARDS]
AGAIN = " Try again when one of them has ended, or choose another option."
HOST = {"cards": CARDS, "access": "runtime"}


def test_a_plain_user_name_stays_and_any_other_gets_a_digest() -> None:
    assert slug("ann-2") == "ann-2"
    assert slug("Ann@Example.edu").startswith("ann-e--")
    assert slug("ann--2") != "ann--2"
    assert slug("Ω").startswith("u--")


@given(st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True))
def test_two_users_never_share_a_name_on_the_engine(users: list[str]) -> None:
    first, second = (slug(user) for user in users)
    assert first != second
    for each in (first, second):
        assert len(each) <= LONGEST_SLUG
        assert each.strip("-") == each
        assert set(each) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_names_of_a_hub_of_22_characters_are_names_on_a_network() -> None:
    names = Names("h" * 22, slug("x" * 40))
    assert max(map(len, (names.server, names.gateway, names.kernel("87462a22-17b3-4fec-9d1b-000000000000")))) == 63
    assert names.kernel("87462a22-17b3-4fec").endswith("-87462a2217b3")


@each_row(
    ("held", "count", "before", "expected"),
    [
        ({}, 1, (), [(0,), (1,), (2,)]),
        ({0: "x"}, 1, (), [(1,), (2,)]),
        ({}, 2, (), [(0, 1), (0, 2), (1, 2)]),
        ({}, 1, (2,), [(2,), (0,), (1,)]),
        ({2: "x"}, 1, (2,), [(0,), (1,)]),
        ({0: "x", 1: "y"}, 2, (), []),
        ({0: "x", 1: "y", 2: "z"}, 0, (), [()]),
    ],
)
def test_free_cards_are_tried_in_order_and_first_those_that_it_had(
    held: dict[int, str], count: int, before: tuple[int, ...], expected: list[tuple[int, ...]]
) -> None:
    found = free_sets(CARDS, held, count, before)
    assert [tuple(card["index"] for card in each) for each in found] == expected


def test_shared_cards_are_free_whoever_uses_them() -> None:
    assert next(free_sets(SHARED, {}, 2)) == tuple(SHARED[:2])


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        ("runtime", [{"Driver": "nvidia", "Capabilities": [["gpu"]], "DeviceIDs": ["GPU-0", "GPU-1"]}]),
        ("cdi", [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=GPU-0", "nvidia.com/gpu=GPU-1"]}]),
    ],
)
def test_a_container_asks_for_exactly_its_devices(access: str, expected: list[dict[str, Any]]) -> None:
    assert device_requests(CARDS[:2], access) == expected
    assert device_requests([], access) == []


@pytest.mark.parametrize(
    ("held", "count", "words"),
    [
        (
            {0: "server-ann", 1: "server-bob", 2: "server-ann"},
            1,
            "“Lab” needs 1 GPU, and none of 3 is free (server-ann has GPU 0 and 2; server-bob has GPU 1)." + AGAIN,
        ),
        (
            {0: "x"},
            3,
            "“Lab” needs 3 GPUs, and 2 of 3 are free (x has GPU 0)." + AGAIN,
        ),
        ({}, 4, "“Lab” needs 4 GPUs, and this host has 3: choose another option."),
    ],
)
def test_who_gets_no_card_reads_who_has_them(held: dict[int, str], count: int, words: str) -> None:
    assert refusal("Lab", CARDS, held, count) == words


def test_a_body_keeps_what_it_had_and_the_programs_variables_win() -> None:
    body = {"Env": ["A=1", "B=2"], "HostConfig": {"Memory": 1, "Mounts": ["m"]}, "Image": "i", "Labels": {"x": "y"}}
    wish = Wish(
        "name", "Lab", body, ["own", "other"], {"l": "v"}, env={"B": "3"}, more={"Cmd": ["c"]}, volumes={"v": "/h"}
    )
    assert wish.rendered(CARDS[:1], "runtime") == {
        "Cmd": ["c"],
        "Env": ["A=1", "B=3"],
        "HostConfig": {
            "DeviceRequests": device_requests(CARDS[:1], "runtime"),
            "Memory": 1,
            "Mounts": ["m", {"Type": "volume", "Source": "v", "Target": "/h"}],
            "NetworkMode": "own",
        },
        "Image": "i",
        "Labels": {"l": "v", "x": "y"},
    }
    assert body["HostConfig"] == {"Memory": 1, "Mounts": ["m"]}


class Engine:
    """An engine with networks that have room for one; `faster`: who takes a card while a container is made."""

    def __init__(self, held: Mapping[int, str] | None = None, faster: Mapping[int, str] | None = None) -> None:
        self.held, self.faster = dict(held or {}), dict(faster or {})
        self.made: dict[str, list[str]] = {}
        self.homes: dict[str, dict[str, str]] = {}
        self.has_image = True

    def create_volume(self, name: str, labels: dict[str, str]) -> None:
        self.homes.setdefault(name, labels)

    def inspect_network(self, name: str) -> dict[str, Any]:
        holder = self.held.get(int(name.rpartition("-")[2]))
        return {"Containers": {"id": {"Name": holder}} if holder else {}}

    def create_container_from_config(self, _body: dict[str, Any], name: str) -> None:
        if not self.has_image:
            raise NotFound("No such image")
        self.made[name] = []

    def connect_container_to_network(self, name: str, network: str) -> None:
        self.made[name].append(network)

    def start(self, name: str) -> None:
        self.held.update(self.faster)
        for network in self.made[name]:
            index = int(network.rpartition("-")[2]) if "card" in network else -1
            if index in self.held:
                raise APIError(f"no available IPv4 addresses on this network's address pools: {network}")
        self.held.update({int(each.rpartition("-")[2]): name for each in self.made[name] if "card" in each})

    def remove_container(self, name: str, **_: bool) -> None:
        if self.made.pop(name, None) is None:
            raise NotFound("No such container")


def wish(gpus: int, **more: Any) -> Wish:
    return Wish("hub-server-ann", "Lab", {"Image": "i@sha256:0"}, ["hub"], {}, gpus=gpus, **more)


def test_a_container_takes_the_first_free_card_and_joins_its_networks() -> None:
    engine = Engine(held={0: "theirs"})
    assert run(engine, wish(1), HOST) == [1]
    assert engine.made == {"hub-server-ann": ["gpu-commons-card-1"]}


def test_who_is_slower_takes_the_next_card() -> None:
    engine = Engine(faster={0: "theirs"})
    assert run(engine, wish(1), HOST) == [1]
    assert engine.held == {0: "theirs", 1: "hub-server-ann"}


def test_a_start_that_gets_no_card_leaves_no_container() -> None:
    engine = Engine(held={0: "a", 1: "b"})
    with pytest.raises(NoCard, match=r"needs 2 GPUs, and 1 of 3 is free"):
        run(engine, wish(2), HOST)
    assert engine.made == {}


def test_a_home_is_made_for_a_server_that_has_its_card_and_for_no_start_that_fails() -> None:
    home = {"volumes": {"hub-home-ann": "/home/jovyan"}, "volume_labels": {"owner": "ann"}}
    full, free = Engine(held={0: "a", 1: "b", 2: "c"}), Engine()
    with pytest.raises(NoCard):
        run(full, wish(1, **home), HOST)
    run(free, wish(1, **home), HOST)
    assert (full.homes, free.homes) == ({}, {"hub-home-ann": {"owner": "ann"}})


def test_a_container_without_an_image_is_refused_with_a_sentence_for_its_user() -> None:
    engine = Engine()
    engine.has_image = False
    with pytest.raises(ImageMissing, match=r"The image of “Lab” \(i@sha256:0\) cannot be downloaded: the registry"):
        run(engine, wish(0), HOST)


def test_a_container_that_cannot_be_prepared_is_removed_and_holds_nothing() -> None:
    def fail() -> None:
        raise OSError

    engine = Engine()
    with pytest.raises(OSError):  # noqa: PT011 - of ours
        run(engine, wish(1), HOST, prepare=fail)
    assert (engine.made, engine.held) == ({}, {})


def test_a_failed_pull_is_reported_with_its_reason() -> None:
    class NoImages:
        def inspect_image(self, _: str) -> None:
            from docker.errors import ImageNotFound  # noqa: PLC0415 - beside its only use

            raise ImageNotFound("no")

        def pull(self, *_: str, **__: str) -> str:
            return '{"status":"Pulling"}\r\n{"errorDetail":{},"error":"manifest unknown"}\r\n'

    pulls: list[str] = []
    with pytest.raises(ImageMissing, match=r"cannot be downloaded: the registry does not have it\. Starting it again"):
        bring(NoImages(), "registry/i@sha256:0", "Lab", lambda: pulls.append("begins"))
    assert pulls == ["begins"]


def test_what_is_sent_to_the_engine_has_its_keys_in_order() -> None:
    sent = in_order({"b": [{"d": 1, "c": None}], "a": {"z": False, "y": 0}})
    assert sent == {"a": {"y": 0, "z": False}, "b": [{"d": 1}]}
    assert list(sent) == ["a", "b"]


@each_row(
    ("held", "profile", "expected"),
    [
        ([], {"gpus": 1, "kernels": []}, {"servers": 3, "lack": "", "free_gpus": 3}),
        ([0, 1], {"gpus": 1, "kernels": []}, {"servers": 1, "lack": "", "busy_gpus": 2}),
        ([0, 1], {"gpus": 2, "kernels": []}, {"servers": 0, "lack": "gpus", "free_gpus": 1}),
        ([0], {"gpus": 0, "kernels": [{"gpus": 1}]}, {"servers": 0, "for_kernels": True, "free_gpus": 2}),
    ],
)
def test_what_is_free_are_gpus_that_nobody_holds(
    held: list[int], profile: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = counts([{"name": "x", **profile}], CARDS, held)["x"]
    assert (found["gpus"], found["waiting"]) == (3, 0)
    assert expected.items() <= found.items()


def test_of_shared_gpus_and_of_profiles_without_any_nothing_is_counted() -> None:
    assert counts([{"name": "x", "gpus": 1, "kernels": []}], SHARED, []) == {}
    assert counts([{"name": "x", "gpus": 0, "kernels": [{"gpus": 0}]}], CARDS, []) == {}


@each_row(
    ("state", "words"),
    [
        ({"ExitCode": 3, "OOMKilled": False}, "Your server ended as it started (exit code 3)."),
        ({"ExitCode": 137, "OOMKilled": True}, "Your server ran out of memory as it started."),
    ],
)
def test_a_container_that_is_over_says_why(state: dict[str, Any], words: str) -> None:
    assert ended(state).is_final
    assert ended(state).given_up.startswith(words)


def test_what_belongs_to_nobody_with_a_server_is_found_by_the_slug_of_its_user() -> None:
    made = [{"name": name, "user": user} for name, user in (("a", "ann"), ("b", slug("Bob")), ("c", "cyd"))]
    assert [each["name"] for each in orphans(made, ["ann", "Bob"])] == ["c"]


def test_the_sweeper_reads_every_page_of_the_hubs_users(monkeypatch: pytest.MonkeyPatch) -> None:
    # A hub answers with at most 200 users at a time; whoever is missing would lose a server.
    pages = {
        "0": {"items": [{"name": "ann"}], "_pagination": {"next": {"offset": 1}}},
        "1": {"items": [{"name": "bob"}], "_pagination": {"next": None}},
    }

    def answer(request: urllib.request.Request, **_: float) -> io.BytesIO:
        assert request.get_header("Accept") == "application/jupyterhub-pagination+json"
        return io.BytesIO(json.dumps(pages[request.full_url.rpartition("=")[2]]).encode())

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    monkeypatch.setenv("JUPYTERHUB_API_URL", "http://hub:8081/hub/api")
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "t")
    assert active_users() == ["ann", "bob"]


def test_the_ports_of_a_kernel_stay_while_its_container_comes_back_elsewhere() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(100))
        writer.close()

    async def reply(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with suppress(ConnectionResetError):
            writer.write(b"hello")
            answer = await reader.read(100)
            writer.close()
            return answer
        return b""

    async def scenario() -> None:
        kernel, relay = await asyncio.start_server(echo, "127.0.0.2", 0), Relay()
        (local,) = await relay.open([kernel.sockets[0].getsockname()[1]])
        assert await reply(local) == b""  # not started yet: closed, so that who asks tries again
        relay.target = "127.0.0.2"
        assert await reply(local) == b"hello"
        assert await relay.open([1]) == [local]
        relay.target = None
        assert await reply(local) == b""
        relay.close()
        with pytest.raises(ConnectionRefusedError):
            await reply(local)
        kernel.close()

    asyncio.run(scenario())
