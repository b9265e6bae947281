"""The components of Docker: what they ask of an engine, and what they refuse before anything is made."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest
from running_engine import holder, running_engine

from components.on_docker.docker_gpu_container import DockerGpuContainer
from components.on_docker.docker_host import DockerHost
from platforms.docker.gpu_leases import Request

REF = f"registry.example.edu/perceptron@sha256:{'0' * 64}"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short enough for the address of a socket."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def host_args(engine: str, **changes: Any) -> Any:
    args = {"pool": "box", "engine": engine, "cpu": 16, "memory_gib": 128, "gpus_per_node": 2, "gpu_access": "runtime"}
    return {**args, **changes}


def host(recorded: Callable[..., Any], engine: str, *, preview: bool = False, **changes: Any) -> Any:
    made: list[DockerHost] = []

    def program() -> dict[str, pulumi.Output[Any]]:
        made.append(DockerHost("box", host_args(engine, **changes)))
        return {"facts": made[0].facts, "cards": made[0].card_networks}

    run = recorded(program, preview=preview)
    run.host = made[0]
    return run


@pytest.mark.slow
@pytest.mark.parametrize("preview", [False, True], ids=["update", "preview"])
def test_each_card_has_a_network_with_room_for_one_container(
    recorded: Callable[..., Any], folder: Path, preview: bool
) -> None:
    with running_engine(folder) as engine:
        run = host(recorded, engine, preview=preview, gpu_uuids=["GPU-a", "GPU-b"])
    networks = {each.inputs["name"]: each.inputs for each in run.of_type("network:Network")}
    assert networks.keys() == {"gpu-commons", "gpu-commons-card-0", "gpu-commons-card-1"}
    second = networks["gpu-commons-card-1"]
    assert second["ipamConfigs"] == [{"subnet": "10.99.0.4/30", "gateway": "10.99.0.5"}]
    assert second["internal"] is True
    assert second["labels"] == [{"label": "gpu-commons.org/card", "value": "GPU-b"}]


@pytest.mark.slow
def test_cards_that_are_shared_have_no_networks(recorded: Callable[..., Any], folder: Path) -> None:
    with running_engine(folder, holder("theirs", 0, 1)) as engine:
        run = host(recorded, engine, shared_gpus=True)
    assert [each.inputs["name"] for each in run.of_type("network:Network")] == ["gpu-commons"]
    granted = run.host.grant([Request("one", 2), Request("two", 2)])
    assert [len(each.cards) for each in granted.values()] == [2, 2]
    assert run.host.networks_of(granted["one"]) == []


@pytest.mark.slow
def test_a_host_shows_what_its_engine_says_of_it(recorded: Callable[..., Any], folder: Path) -> None:
    with running_engine(folder) as engine:
        facts = host(recorded, engine).outputs["facts"]
    assert facts["engine"] == "20.10.24 (API 1.41)"
    assert facts["CPU, memory"] == "16 cores, 128 GiB"
    assert facts["runtimes"] == "nvidia, runc"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "facts", "words"),
    [
        ({}, {"ApiVersion": "1.39"}, "speaks API 1.39; 1.40 is the lowest"),
        ({"gpu_access": "cdi"}, {}, "has no CDI"),
        ({}, {"Runtimes": {"runc": {}}}, "has no runtime nvidia, only runc"),
        ({"cpu": 32}, {}, "it has 16 cores, and its pool says 32"),
        ({"memory_gib": 512}, {}, "it has 128 GiB of memory, and its pool says 512"),
    ],
)
def test_a_host_that_is_not_what_its_pool_says_is_refused(
    recorded: Callable[..., Any], folder: Path, changes: dict[str, Any], facts: dict[str, Any], words: str
) -> None:
    with running_engine(folder, **facts) as engine, pytest.raises(pulumi.RunError, match="host box is not") as caught:
        host(recorded, engine, **changes)
    assert words in str(caught.value)


def test_an_engine_that_does_not_answer_is_one_clear_error(recorded: Callable[..., Any], folder: Path) -> None:
    with pytest.raises(pulumi.RunError) as caught:
        host(recorded, f"unix://{folder}/nobody.sock")
    assert str(caught.value) == (
        f"host box: the Docker engine at unix://{folder}/nobody.sock does not answer: No such file or directory; "
        "start it, or correct engine"
    )


@pytest.mark.slow
def test_what_another_container_holds_is_not_given_away_and_what_has_ended_holds_nothing(
    recorded: Callable[..., Any], folder: Path
) -> None:
    with running_engine(folder, holder("theirs", 0), holder("done", 1, state="exited")) as engine:
        found = host(recorded, engine).host
    assert [card.index for card in found.grant([Request("one", 1)])["one"].cards] == [1]
    with pytest.raises(pulumi.RunError, match=r"host box: one needs 2 cards, and 1 of 2 are free.*container theirs"):
        found.grant([Request("one", 2)])


@pytest.mark.slow
def test_a_container_of_this_stack_keeps_the_card_that_it_has(recorded: Callable[..., Any], folder: Path) -> None:
    with running_engine(folder, holder("one", 1)) as engine:
        found = host(recorded, engine).host
    assert [card.index for card in found.grant([Request("one", 1)])["one"].cards] == [1]


CONTAINER: dict[str, Any] = {
    "pool": "box", "image": REF, "image_name": "perceptron", "network": "gpu-commons", "cpu": 4, "memory_gib": 16,
}  # fmt: skip


@pytest.mark.parametrize("preview", [False, True], ids=["update", "preview"])
def test_a_container_runs_its_image_by_digest_with_its_devices(recorded: Callable[..., Any], preview: bool) -> None:
    given: Any = {
        **CONTAINER,
        "gpus": 1,
        "devices": ["GPU-b"],
        "access": "cdi",
        "card_networks": ["gpu-commons-card-1"],
    }
    run = recorded(lambda: DockerGpuContainer("train", given) and None, preview=preview)
    made = run.only("container:Container").inputs
    assert (made["name"], made["image"]) == ("train", REF)
    assert made["deviceRequests"] == [{"driver": "cdi", "deviceIds": ["nvidia.com/gpu=GPU-b"]}]
    assert [each["name"] for each in made["networksAdvanced"]] == ["gpu-commons", "gpu-commons-card-1"]
    assert run.only("remoteImage:RemoteImage").inputs == {"name": REF, "keepLocally": True}


def test_wrong_arguments_of_a_container_are_reported_all_at_once(recorded: Callable[..., Any]) -> None:
    wrong: Any = {**CONTAINER, "cpu": 0, "env": {"NVIDIA_VISIBLE_DEVICES": "all"}}
    with pytest.raises(pulumi.RunError) as caught:
        recorded(lambda: DockerGpuContainer("train", wrong) and None)
    assert "train.cpu: " in str(caught.value)
    assert "train.env.NVIDIA_VISIBLE_DEVICES: " in str(caught.value)
