"""The docker plugin that the lab builds: the SDK's names, and what it does to a real engine."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import signal
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.instance import Instance
from lab.servers import docker
from lab.toolchain import Toolchain
from tests.lab import docker_engines as engines
from tests.lab.docker_stacks import Stack, new_stack, plugins_of

ROOT = Path(__file__).parents[2]
# docker.Image builds by Docker's own builder and is not Terraform's: pulumi-docker-build has that job here.
NOT_OF_TERRAFORM = {"Image"}
ADDED = {"timeouts"}  # of Terraform, which no SDK passes on


def test_the_plugin_is_that_of_the_sdk() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    version = next(each["version"] for each in lock["package"] if each["name"] == "pulumi-docker")
    pin = Toolchain().pins["docker"]
    assert pin.version == version
    assert f'version = "{version}"' in (pin.source / "description.go").read_text()


@pytest.fixture(scope="module")
def tools() -> Toolchain:
    tools = Toolchain()
    tools.ensure_one("docker", print)
    return tools


@pytest.fixture(scope="module")
def lab(
    new_instance: Callable[..., Instance], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Instance, str]]:
    port = new_instance(tmp_path_factory.mktemp("port"), "registry").ports["registry"]
    with engines.engine("plugin", registry_port=port) as instance, engines.image_registry(instance) as image:
        yield instance, image


@pytest.fixture
def stack(tools: Toolchain, lab: tuple[Instance, str], tmp_path: Path) -> Stack:
    instance, image = lab
    stack = new_stack("classroom", tools, tmp_path)
    program = tools.path("pulumi-resource-docker")
    stack("plugin", "install", "resource", "docker", tools.pins["docker"].version, "--file", str(program.parent))
    stack("config", "set", "host", docker.address(instance))
    stack("config", "set", "image", image)
    return stack


@pytest.mark.lab
def test_every_resource_has_the_inputs_of_the_sdk(tools: Toolchain) -> None:
    import pulumi_docker  # noqa: PLC0415 - it takes a second

    program = tools.path("pulumi-resource-docker")
    output = subprocess.run(
        [tools.path("pulumi"), "package", "get-schema", program], capture_output=True, text=True, check=True
    ).stdout
    resources = json.loads(output)["resources"]
    schema = {token.rpartition(":")[2]: set(each["inputProperties"]) for token, each in resources.items()}
    sdk = {name: inputs(kind) for name, kind in vars(pulumi_docker).items() if is_resource(kind)}
    assert set(sdk) - set(schema) == NOT_OF_TERRAFORM
    assert {name: schema[name] - ADDED for name in sdk.keys() & schema.keys()} == {
        name: sdk[name] for name in sdk.keys() & schema.keys()
    }


def is_resource(kind: Any) -> bool:
    import pulumi  # noqa: PLC0415

    return (
        inspect.isclass(kind)
        and issubclass(kind, pulumi.CustomResource)
        and not issubclass(kind, pulumi.ProviderResource)
    )


def inputs(resource: Any) -> set[str]:
    """Inputs of a resource of the SDK, by their names on the wire: `shm_size` is `shmSize`."""
    internal = inspect.signature(resource._internal_init).parameters  # noqa: SLF001 - the one place that lists them
    names = set(internal) - {"__self__", "resource_name", "opts", "__props__"}
    return {re.sub(r"_(.)", lambda match: match[1].upper(), name) for name in names}


@pytest.mark.lab
def test_a_stack_comes_up_stays_as_it_is_is_mended_and_goes(lab: tuple[Instance, str], stack: Stack) -> None:
    instance, _ = lab
    assert stack.counts("up") == {"create": 6}
    server = engines.inspect(instance, "server")
    assert server["State"]["Health"]["Status"] == "healthy"
    assert "hub" in server["NetworkSettings"]["Networks"]["classroom"]["Aliases"]
    assert stack.counts("preview") == {"unchanged": 6}
    engines.client(instance, "stop", "server")
    assert stack.counts("refresh").get("unchanged", 0) < 6
    stack.counts("up")
    assert engines.inspect(instance, "server")["State"]["Running"]
    assert stack.counts("preview") == {"unchanged": 6}
    stack("config", "set", "sleeps", "601")
    assert stack.counts("up") == {"replace": 1, "unchanged": 5}
    assert engines.inspect(instance, "server")["Args"][-1] == "601"
    assert stack.counts("destroy") == {"delete": 6}
    assert nothing_is_left(instance)


@pytest.mark.lab
def test_a_container_that_never_gets_healthy_is_an_error_and_leaves_nothing(
    lab: tuple[Instance, str], stack: Stack
) -> None:
    instance, _ = lab
    stack("config", "set", "health", "false")
    code, output = stack.ends("up", "--yes", "--skip-preview")
    assert code != 0
    assert "health" in output
    assert engines.client(instance, "ps", "--all", "--quiet") == ""
    stack("config", "set", "health", "true")
    assert stack.counts("up") == {"create": 1, "unchanged": 5}
    stack.counts("destroy")
    assert nothing_is_left(instance)


@pytest.mark.lab
def test_an_interrupted_update_ends_with_the_plugin_and_the_next_one_converges(
    lab: tuple[Instance, str], stack: Stack
) -> None:
    instance, _ = lab
    stack("config", "set", "health", "false")
    update = stack.start("up", "--yes", "--skip-preview")
    deadline = time.monotonic() + 60
    while not engines.client(instance, "ps", "--quiet"):
        assert time.monotonic() < deadline, update.poll()
        time.sleep(0.05)
    update.send_signal(signal.SIGINT)
    update.communicate(timeout=60)
    assert update.returncode != 0
    assert plugins_of(stack.folder.parent, within_s=10) == []
    stack("config", "set", "health", "true")
    stack.counts("up")
    assert engines.inspect(instance, "server")["State"]["Health"]["Status"] == "healthy"
    stack.counts("destroy")
    assert nothing_is_left(instance)


def nothing_is_left(instance: Instance) -> bool:
    """No container, no network of ours and no volume; images of a stack that is gone are gone too."""
    lists = (("ps", "--all"), ("volume", "ls"), ("images",), ("network", "ls", "--filter", "type=custom"))
    return all(engines.client(instance, *each, "--quiet") == "" for each in lists)


@pytest.mark.lab
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_the_provider_ends_with_the_plugin(tools: Toolchain, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(tools.path("pulumi-resource-docker").parent, tmp_path / "bin"))
    with subprocess.Popen([folder / "pulumi-resource-docker"], stdout=subprocess.PIPE, text=True) as plugin:
        try:
            assert plugin.stdout is not None
            assert plugin.stdout.readline().strip().isdigit()
            assert sorted(plugins_of(folder, within_s=0)) == ["pulumi-resource-docker", "terraform-provider-docker"]
            plugin.send_signal(getattr(signal, name))
            plugin.wait(20)
        finally:
            plugin.kill()
    assert plugins_of(folder, within_s=5) == []
