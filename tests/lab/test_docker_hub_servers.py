"""What a hub on a Docker host has started ends with its stack: on a real engine, under the real engine of Pulumi."""

from __future__ import annotations

import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.instance import Instance
from lab.servers import docker
from lab.toolchain import Toolchain
from tests.lab import docker_engines as engines
from tests.lab.docker_stacks import Stack, new_stack

pytestmark = pytest.mark.lab

SLEEPS = ("/bin/busybox", "sleep", "600")


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """An engine with an image of busybox."""
    archive = tmp_path_factory.mktemp("image") / "busybox.tar"
    with tarfile.open(archive, "w") as file:
        file.add(Toolchain().path("busybox"), "bin/busybox")
    with engines.engine("hub-end") as instance:
        engines.client(instance, "import", str(archive), "busybox")
        yield instance


@pytest.fixture
def stack(instance: Instance, tmp_path: Path) -> Stack:
    stack = new_stack("hub", Toolchain(), tmp_path)
    stack("config", "set", "host", docker.address(instance))
    return stack


def users_of(instance: Instance, hub: str) -> None:
    """What a hub has running for one user: a server and a kernel that outlives its gateway, and a home."""
    label = ("--label", f"gpu-commons.org/hub={hub}")
    engines.client(instance, "network", "create", *label, f"{hub}-user-ada")
    home = ("--volume", f"{hub}-home-ada:/home")
    for name in ("server-ada", "gateway-ada", "kernel-ada-0123456789ab"):
        run = ("run", "--detach", "--init", "--network", f"{hub}-user-ada", *label, *home, "--name", f"{hub}-{name}")
        engines.client(instance, *run, "busybox", *SLEEPS)
    engines.client(instance, "kill", f"{hub}-gateway-ada")


def names(instance: Instance) -> set[str]:
    """Containers, running or not, networks that somebody made, and volumes."""
    containers = engines.client(instance, "ps", "--all", "--format", "{{.Names}}")
    networks = engines.client(instance, "network", "ls", "--filter", "type=custom", "--format", "{{.Name}}")
    volumes = engines.client(instance, "volume", "ls", "--format", "{{.Name}}")
    return {*containers.split(), *networks.split(), *volumes.split()}


@pytest.fixture
def users(instance: Instance) -> Iterator[None]:
    """Users of the hub `lab` and of another, and what else an engine runs."""
    users_of(instance, "lab")
    users_of(instance, "lab-server")
    engines.client(instance, "run", "--detach", "--init", "--name", "lab-server-of-somebody", "busybox", *SLEEPS)
    engines.client(instance, "network", "connect", "lab-user-ada", "lab-server-of-somebody")
    yield
    if found := engines.client(instance, "ps", "--all", "--quiet").split():
        engines.client(instance, "stop", "--time", "1", *found)  # else endpoints are left
        engines.client(instance, "rm", *found)
    if found := engines.client(instance, "network", "ls", "--filter", "type=custom", "--quiet").split():
        engines.client(instance, "network", "rm", *found)
    if found := engines.client(instance, "volume", "ls", "--quiet").split():
        engines.client(instance, "volume", "rm", *found)


@pytest.mark.usefixtures("users")
def test_a_destroy_ends_servers_gateways_and_kernels_of_its_hub_and_leaves_homes_and_others(
    instance: Instance, stack: Stack
) -> None:
    assert stack.counts("up") == {"create": 2}  # with the stack itself
    before = names(instance)
    assert stack.counts("preview") == {"unchanged": 2}
    assert stack.counts("refresh") == {"unchanged": 2}
    assert names(instance) == before
    assert stack.counts("destroy") == {"delete": 2}
    gone = {"lab-server-ada", "lab-gateway-ada", "lab-kernel-ada-0123456789ab", "lab-user-ada"}
    assert before - names(instance) == gone
    assert engines.inspect(instance, "lab-server-server-ada")["State"]["Running"]
    assert engines.inspect(instance, "lab-server-of-somebody")["State"]["Running"]


@pytest.mark.usefixtures("users")
def test_a_destroy_while_the_engine_is_away_says_so_and_the_next_one_ends_them(
    instance: Instance, stack: Stack
) -> None:
    stack("config", "set", "host", f"unix://{instance.run}/nobody.sock")
    stack("up", "--yes", "--skip-preview")
    code, output = stack.ends("destroy", "--yes", "--skip-preview")
    assert code != 0
    assert "nobody.sock does not answer: No such file or directory; start it, or correct engine" in output
    assert "Traceback" not in output
    assert "lab-server-ada" in names(instance)
    stack("config", "set", "host", docker.address(instance))
    assert stack.counts("up") == {"update": 1, "unchanged": 1}
    stack.counts("destroy")
    assert "lab-server-ada" not in names(instance)


@pytest.mark.usefixtures("users")
def test_a_network_whose_containers_were_killed_and_removed_by_force_goes_too(instance: Instance, stack: Stack) -> None:
    stack("up", "--yes", "--skip-preview")
    mine = engines.client(instance, "ps", "--all", "--quiet", "--filter", "label=gpu-commons.org/hub=lab")
    engines.client(instance, "rm", "--force", *mine.split())
    stack.counts("destroy")
    assert "lab-user-ada" not in names(instance)


def test_the_state_holds_neither_code_nor_a_secret(stack: Stack) -> None:
    stack("up", "--yes", "--skip-preview")
    exported = subprocess.run(
        [stack.pulumi, "stack", "export"], cwd=stack.folder, env=stack.environ, capture_output=True, check=True
    )
    resources = json.loads(exported.stdout)["deployment"]["resources"]
    (found,) = (each for each in resources if each["type"] == "pulumi-python:dynamic/gpu-commons:HubServers")
    assert found["outputs"]["hub"] == "lab"
    assert len(found["outputs"]["__provider"]) < 120  # a name, as a pickle has it
    stack("destroy", "--yes", "--skip-preview")
