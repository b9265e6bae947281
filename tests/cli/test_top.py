"""`gpu-commons top`: who has which GPUs, from an engine over a real socket and from kubectl's answers."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rows import each_row

from cli.top.report import age
from tests.components.running_engine import holder, running_engine

Run = Callable[..., Result]
Json = dict[str, Any]
PROJECT = Path(__file__).resolve().parents[2]


def overlay(folder: Path, address: str) -> str:
    """Where the engine of the stack perceptron is."""
    path = folder / "site.yaml"
    path.write_text(f"engines: {{ workstation: '{address}' }}\n")
    return str(path)


def of_hub(container: Json, hub: str, user: str) -> Json:
    return {**container, "Labels": {"gpu-commons.org/hub": hub, "gpu-commons.org/user": user}}


@pytest.mark.slow
def test_each_gpu_of_a_host_has_a_row_with_its_holder_or_free(run: Run, tmp_path: Path) -> None:
    containers = of_hub(holder("dcsg-kernel-ada-0a", 1), "dcsg", "ada"), holder("old", 0, state="exited")
    with running_engine(tmp_path, *containers) as address:
        site = overlay(tmp_path, address)
        result = run("top", "--stack", "perceptron", "--site", site)
        data = json.loads(run("top", "--stack", "perceptron", "--site", site, "--json").stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    first, blank, *table = result.stdout.splitlines()
    assert (first, blank) == ("perceptron: 2 GPUs: 1 held, 1 free", "")
    assert [line.split()[:6] for line in table] == [
        ["POOL", "HOST", "GPU", "HOLDER", "USER", "HUB"],
        ["workstation", "workstation", "0", "free"],
        ["workstation", "workstation", "1", "dcsg-kernel-ada-0a", "ada", "dcsg"],
    ]
    assert data["gpus"][1] == {
        "state": "held", "pool": "workstation", "node": "workstation", "gpu": 1, "count": 1,
        "holder": "dcsg-kernel-ada-0a", "user": "ada", "hub": "dcsg", "since": "2023-11-14T22:13:20Z",
    }  # fmt: skip
    assert data["gpus"][0]["state"] == "free"
    assert data["unanswered"] == []


@pytest.mark.slow
def test_gpus_that_several_may_use_are_not_called_free(run: Run, tmp_path: Path) -> None:
    text = (PROJECT / "stacks" / "Pulumi.perceptron.yaml").read_text()
    shared = tmp_path / "Pulumi.shared.yaml"
    shared.write_text(
        text.replace("        gpus_per_node: 2\n", "        gpus_per_node: 2\n        shared_gpus: true\n")
    )
    with running_engine(tmp_path) as address:
        result = run("top", "--stack", str(shared), "--site", overlay(tmp_path, address))
    assert result.stdout.startswith("shared: 2 GPUs: 2 shared\n")


def test_an_engine_that_does_not_answer_is_one_line_and_the_code_says_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPU_COMMONS_SITE", overlay(tmp_path, f"unix://{tmp_path}/nobody.sock"))
    result = run("top", "--stack", "perceptron")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"error: host workstation: the Docker engine at unix://{tmp_path}/nobody.sock does not answer: "
        "No such file or directory; start it, or correct engine\n"
    )
    data = json.loads(run("top", "--stack", "perceptron", "--json").stdout)
    assert (data["gpus"], len(data["unanswered"])) == ([], 1)


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "sleep 0.5;"])
def test_an_ssh_that_cannot_connect_shows_its_reason(tmp_path: Path, before: str) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\n{before} echo 'ssh: no route to host' >&2; exit 255\n")
    ssh.chmod(0o755)
    # In a process of its own: the SDK leaves it to the end of the program to close what it started.
    argv = [sys.executable, "-m", "cli", "top", "--stack", "perceptron"]
    site = overlay(tmp_path, "ssh://ops@box.example.edu")
    env = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin", "GPU_COMMONS_SITE": site}
    done = subprocess.run(argv, cwd=PROJECT, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == (
        "error: host workstation: the Docker engine at ssh://ops@box.example.edu does not answer: "
        "ssh ended, for the reason that it printed itself; start it, or correct engine"
    )
    assert "Traceback" not in done.stderr
    assert "ssh: no route to host" in done.stderr


def node(name: str, gpus: int, **labels: str) -> Json:
    return {
        "metadata": {"name": name, "labels": {f"gpu-commons.org/{key}": value for key, value in labels.items()}},
        "status": {"allocatable": {"cpu": "8", "nvidia.com/gpu": str(gpus)}},
    }


def pod(name: str, gpus: int, on: str = "", *, user: str = "", phase: str = "Running", **times: str) -> Json:
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": times.get("since")}]
    return {
        "metadata": {
            "name": name, "namespace": "dsmlp-jupyter", "creationTimestamp": "2026-11-20T08:00:00Z",
            "annotations": {"hub.jupyter.org/username": user} if user else {},
        },
        "spec": {
            "nodeName": on,
            "containers": [{"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}, {"name": "beside"}],
            "initContainers": [{"resources": {}}],
        },
        "status": {"phase": phase, "conditions": conditions if on else []},
    }  # fmt: skip


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A `kubectl` on PATH that answers with these objects, the pods in two pages; its file has the calls."""

    def write(nodes: Sequence[Json] = (), pods: Sequence[Json] = (), *, fails: str = "") -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        pages: Mapping[str, Json] = {
            "nodes": {"items": [*nodes]},
            "first": {"items": [*pods[:1]], "metadata": {"continue": "more"}},
            "second": {"items": [*pods[1:]], "metadata": {}},
        }
        for name, page in pages.items():
            (folder / f"{name}.json").write_text(json.dumps(page))
        program = folder / "kubectl"
        program.write_text(
            f"""#!/bin/sh
cd {folder} && echo "$*" >> calls
{f'echo "{fails}" >&2; exit 1' if fails else ""}
case "$*" in */nodes*) cat nodes.json ;; *continue=more*) cat second.json ;; *) cat first.json ;; esac
"""
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        return folder / "calls"

    return write


def test_pods_with_gpus_are_listed_by_node_the_oldest_first_then_what_is_free(
    run: Run, kubectl: Callable[..., Path]
) -> None:
    nodes = [node("n01", 8), node("n18", 4, pool="rtx2080ti"), node("another", 8), node("n09", 8, pool="elsewhere")]
    pods = [
        pod("young", 1, "n01", since="2026-11-22T08:00:00Z"),
        pod("jupyter-ada", 2, "n01", user="ada@example.edu", since="2026-11-21T08:00:00Z"),
        pod("without", 0, "n01", since="2026-11-21T08:00:00Z"),
        pod("done", 4, "n01", phase="Succeeded", since="2026-11-21T08:00:00Z"),
        pod("full", 4, "n18", since="2026-11-21T08:00:00Z"),
        pod("not-ours", 8, "another", since="2026-11-21T08:00:00Z"),
        pod("waits", 2, phase="Pending"),
    ]
    calls = kubectl(nodes, pods)
    result = run("top", "--stack", "dsmlp-fall")
    assert (result.exit_code, result.stderr) == (0, "")
    first, _, head, *table = result.stdout.splitlines()
    assert first == "dsmlp-fall: 12 GPUs: 7 held, 5 free; 2 pending"
    assert head.split() == ["POOL", "NODE", "GPUS", "HOLDER", "USER", "HUB", "SINCE"]
    assert [line.split()[:4] for line in table] == [
        ["gtx1080ti", "n01", "2", "dsmlp-jupyter/jupyter-ada"],
        ["gtx1080ti", "n01", "1", "dsmlp-jupyter/young"],
        ["gtx1080ti", "n01", "5", "free"],
        ["rtx2080ti", "n18", "4", "dsmlp-jupyter/full"],
        ["-", "-", "2", "waiting"],
    ]
    assert table[0].split()[4:6] == ["ada@example.edu", "dsmlp-jupyter"]
    data = json.loads(run("top", "--stack", "dsmlp-fall", "--json").stdout)["gpus"]
    assert [(each["user"], each["hub"]) for each in data[1:]] == [(None, None)] * 4  # no server of a hub
    assert (data[4]["holder"], data[4]["node"]) == ("dsmlp-jupyter/waits", None)
    assert [each["since"] for each in data] == [
        "2026-11-21T08:00:00Z",  # when it was given its node
        "2026-11-22T08:00:00Z",
        None,
        "2026-11-21T08:00:00Z",
        "2026-11-20T08:00:00Z",  # since when it has been waiting
    ]
    assert "status.phase%21%3DSucceeded" in calls.read_text()


def test_the_kubeconfig_and_context_of_the_site_are_used(
    run: Run, kubectl: Callable[..., Path], tmp_path: Path
) -> None:
    calls = kubectl()
    (tmp_path / "site.yaml").write_text("kubeconfig: /etc/site.conf\nkube_context: classroom\n")
    run("top", "--stack", "dsmlp-fall", "--site", str(tmp_path / "site.yaml"))
    assert calls.read_text().startswith("--kubeconfig /etc/site.conf --context classroom --request-timeout=20s get")


def test_what_kubectl_says_last_is_the_one_line_of_an_error(run: Run, kubectl: Callable[..., Path]) -> None:
    kubectl(fails="E1123 memcache.go:265\nerror: context \\`x\\` does not exist")
    result = run("top", "--stack", "dsmlp-fall")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "error: cluster of stack dsmlp-fall: kubectl reported: context `x` does not exist; "
        "check KUBECONFIG, or kubeconfig and kube_context of the site\n"
    )


def test_without_kubectl_it_says_what_to_install(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("top", "--stack", "dsmlp-fall")
    assert result.exit_code == 2
    assert "kubectl is not on PATH; install it" in result.stderr


def test_a_stack_without_gpus_asks_nobody(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("top", "--stack", "cupy")
    assert (result.exit_code, result.stdout) == (0, "cupy: no GPUs\n")


@each_row(
    ("seconds", "shown"),
    [(-5, "0 s"), (0, "0 s"), (59, "59 s"), (61, "1 min"), (3600, "1 h"), (11_100, "3 h 5 min"), (190_000, "2 d 4 h")],
)
def test_an_age_has_at_most_two_units(seconds: int, shown: str) -> None:
    assert age(dt.timedelta(seconds=seconds)) == shown
