"""`gpu-commons init`: a first stack file from flags and from answers, and messages about wrong ones."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result
from rows import each_row

from settings.reading import load_stack
from workloads.authenticator import Lti13Authenticator, OAuthAuthenticator

Run = Callable[..., Result]
PROJECT = Path(__file__).resolve().parents[2]
T4 = "name=t4,gpu=Tesla T4,gpus=4,nodes=n01-n08 n10,driver=580.95.05,toolkit=1.17.8,cpu=32,memory_gib=192,disk_gib=480"
OLD = "name=old,gpu=GTX 1080 Ti,gpus=8,nodes=o1,driver=418.88"
CPU = "name=cpu,nodes=c1-c3"
ANSWERS = [
    "registry.my.edu/gpu",
    "t4",
    "n01-n08 n10",
    "Tesla T5",  # does not exist: the question is repeated
    "Tesla T4",
    "4",
    "R580",  # a branch
    "580.95.05",
    "",
    "32",
    "192Gi",
    "192",
    "",
    "n",
    "y",
    "datahub",
    "oauth",
    "https://login.my.edu",
]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(name: str = "mine") -> Path:
    return Path("stacks") / f"Pulumi.{name}.yaml"


def test_a_pool_is_enough_and_what_was_not_stated_is_an_assumption(run: Run) -> None:
    result = run("init", "mine", "--pool", "name=t4,gpu=T4,gpus=4,nodes=n1-n2,driver=580.95.05")
    assert result.exit_code == 0
    stack = load_stack(written())
    assert (stack.fleet.total_gpus, stack.fleet.node_names) == (8, ("n1", "n2"))
    (pool,) = stack.fleet.pools
    assert pool.assumptions == ("container_toolkit", "cpu", "memory_gib", "root_disk_gib")
    assert stack.site.assumptions == ("name", "registry", "allowed_registries")
    assert (stack.hubs, stack.images) == ((), ())
    assert "assumptions to check: registry; t4: container_toolkit, cpu, memory_gib, root_disk_gib" in result.stdout


def test_everything_that_is_stated_is_no_assumption(run: Run) -> None:
    assert run("init", "mine", "--pool", T4, "--registry", "registry.my.edu/gpu").exit_code == 0
    stack = load_stack(written())
    assert stack.fleet.pools[0].assumptions == ()
    assert str(stack.site.registry) == "registry.my.edu/gpu"
    assert "registry" not in stack.site.assumptions


@pytest.mark.slow
def test_each_pool_gets_the_newest_image_that_runs_on_it_and_the_hub_runs_on_nodes_without_gpus(run: Run) -> None:
    result = run("init", "mine", "--pool", T4, "--pool", OLD, "--pool", CPU, "--hub", "lab")
    assert (result.exit_code, result.stdout.count("refuse")) == (0, 0)
    stack = load_stack(written())
    (hub,) = stack.hubs
    assert [(each.name, each.image, each.pool, each.gpus) for each in hub.profiles] == [
        ("cpu", "datahub-base-notebook", None, 0),
        ("gpu-t4", "cupy-notebook", "t4", 1),
        ("gpu-old", "scipy-ml-notebook", "old", 1),
    ]
    assert stack.site.core_pool == "cpu"
    assert isinstance(stack.site.authenticator, Lti13Authenticator)
    assert {"authenticator", "core_pool"} <= set(stack.site.assumptions)
    assert "profiles" in hub.assumptions


@pytest.mark.slow
def test_a_pool_that_no_image_runs_on_gets_no_profile_and_a_line_that_says_so(run: Run) -> None:
    pool = "name=k80,gpu=Tesla K80,gpus=2,nodes=k1,driver=367.48"
    assert run("init", "mine", "--pool", pool, "--hub", "lab").exit_code == 0
    assert [each.name for each in load_stack(written()).hubs[0].profiles] == ["cpu"]
    assert "# no image of this project runs on pool k80" in written().read_text()


@pytest.mark.parametrize("more", [("--no-runtime",), ("--managed-by", "the computing centre")])
def test_daemons_that_are_there_already_are_not_run_again(run: Run, more: tuple[str, ...]) -> None:
    assert run("init", "mine", "--pool", T4, *more).exit_code == 0
    stack = load_stack(written())
    assert stack.runtime is None
    assert stack.fleet.managed_by == (more[1] if len(more) > 1 else None)


@pytest.mark.slow
def test_what_is_written_passes_stack_check_and_is_whole(run: Run) -> None:
    result = run("init", "mine", "--pool", T4, "--hub", "lab", "--login", "oauth", "--json")
    data = json.loads(result.stdout)
    assert data["file"] == str(written())
    assert data["check"] == json.loads(run("stack", "check", str(written()), "--json").stdout)
    assert "how people log in" in data["assumptions"]
    assert isinstance(load_stack(written()).site.authenticator, OAuthAuthenticator)


def test_texts_that_yaml_would_take_for_something_else_are_quoted(run: Run) -> None:
    for managed_by in ("no", "1e3", "a: b", 'the "big" one', "#1", "Zürich"):
        assert run("init", "mine", "--force", "--pool", CPU, "--managed-by", managed_by).exit_code == 0
        assert load_stack(written()).fleet.managed_by == managed_by


def test_an_existing_file_is_kept_without_force(run: Run) -> None:
    assert run("init", "mine", "--pool", CPU).exit_code == 0
    before = written().read_text()
    refused = run("init", "mine", "--pool", T4)
    assert refused.exit_code == 2
    assert "already exists: use --force to overwrite it" in refused.stderr
    assert written().read_text() == before
    assert run("init", "mine", "--pool", T4, "--force").exit_code == 0
    assert written().read_text() != before


@pytest.mark.slow
@each_row(
    ("arguments", "says"),
    [
        ((), "there is no terminal for questions: give NAME and --pool, such as"),
        (("mine",), "there is no terminal for questions: give --pool"),
        (("Mine", "--pool", CPU), 'NAME: "Mine" is not a name; use lower-case letters'),
        (("mine", "--pool", "t4"), '--pool 1: "t4" is not KEY=VALUE'),
        (("mine", "--pool", "name=t4,gpu=T4"), "--pool 1: nodes and gpus and driver are missing"),
        (("mine", "--pool", CPU, "--pool", "name=x"), "--pool 2: nodes is missing"),
        (("mine", "--pool", f"{CPU},driver=580.95.05"), "--pool 1: driver is given for a pool without gpu"),
        (("mine", "--pool", f"{CPU},ram=3"), '--pool 1: "ram" is not a known key'),
        (("mine", "--pool", f"{CPU},cpu=1,cpu=2"), "--pool 1: cpu is given twice"),
        (("mine", "--pool", f"{CPU},memory_gib=16Gi"), '--pool 1: memory_gib: "16Gi" is not an amount'),
        (("mine", "--pool", T4.replace("Tesla T4", "Tesla T5")), "did you mean Tesla T4"),
        (("mine", "--pool", T4.replace("gpus=4", "gpus=four")), 'gpus: "four" is not a number of GPUs'),
        (("mine", "--pool", T4.replace("580.95.05", "R580")), 'driver: "R580" is not a driver version'),
        (("mine", "--pool", T4.replace("n01-n08", "n08-n01")), 'nodes: "n08-n01" runs backwards'),
        (("mine", "--pool", CPU, "--registry", "gpu"), '--registry: "gpu" is not a registry'),
        (("mine", "--pool", CPU, "--registry", "a.edu:99999/x"), "--registry: "),
        (("mine", "--pool", CPU, "--hub", "a: b"), '--hub: "a: b" is not a name'),
        (("mine", "--pool", CPU, "--managed-by", "a\nb"), "--managed-by: "),
        (("mine", "--pool", CPU, "--hub", "h", "--login-url", "https://x.edu # y"), "--login-url: "),
        (("mine", "--pool", CPU.replace("cpu", "c\x1b[1m", 1)), r'--pool 1: name: "c\u001b[1m" is not a name'),
        (("mine", "--pool", CPU, "--pool", CPU), 'fleet.pools[1].name: "cpu" is taken by pools[0]'),
        (("mine", "--pool", CPU, "--hub", "kube-hub"), "is a namespace of Kubernetes itself"),
        (("mine", "--pool", CPU, "--hub", "h", "--login-url", "http://x"), "is not an https address"),
    ],
)
def test_a_mistake_is_one_message_and_nothing_is_written(run: Run, arguments: tuple[str, ...], says: str) -> None:
    result = run("init", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert not Path("stacks").exists()


@each_row(
    "arguments",
    [
        ("--pool", CPU, "--registry", "user:hunter2@a.edu/x"),
        ("--pool", CPU, "--hub", "h", "--login-url", "https://user:hunter2@a.edu"),
        ("--pool", CPU, "--hub", "https://user:hunter2@a.edu"),
        ("--pool", "https://user:hunter2@a.edu"),
        ("--pool", f"{CPU},https://user:hunter2@a.edu"),
        ("--pool", CPU.replace("nodes=", "nodes=https://user:hunter2@a.edu,nodes=")),
    ],
)
def test_a_password_is_refused_and_never_echoed(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("init", "mine", *arguments)
    assert result.exit_code == 2
    assert "hunter2" not in result.output + result.stderr
    assert not Path("stacks").exists()


@pytest.mark.slow
def test_with_a_closed_input_it_names_the_flags(tmp_path: Path) -> None:
    call = f"exec {sys.executable} -m cli init mine <&-"
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        ["sh", "-c", call], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 2
    assert "there is no terminal for questions: give --pool" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_on_a_terminal_it_asks_and_asks_again_after_a_mistake(tmp_path: Path) -> None:
    parent, child = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "NO_COLOR": "1"}
    try:
        os.write(parent, "".join(f"{answer}\n" for answer in ANSWERS).encode())
        done = subprocess.run(
            [sys.executable, "-m", "cli", "init", "mine"],
            stdin=child, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(child)
        os.close(parent)
    assert done.returncode == 0, done.stderr
    assert 'Error: "Tesla T5" is not a GPU model' in done.stderr
    assert 'Error: "192Gi" is not an amount' in done.stderr
    stack = load_stack(tmp_path / written())
    (pool,) = stack.fleet.pools
    assert (pool.name, len(pool.node_names), pool.gpus_per_node, str(pool.driver)) == ("t4", 9, 4, "580.95.05")
    assert pool.assumptions == ("container_toolkit", "root_disk_gib")
    assert stack.runtime is None
    assert stack.hubs[0].name == "datahub"
    authenticator = yaml.safe_load((tmp_path / written()).read_text())["config"]["gpu-commons:site"]["authenticator"]
    assert authenticator["token_url"] == "https://login.my.edu/token"  # noqa: S105 - an address
