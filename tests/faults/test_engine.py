"""An update that loses its API server or its own engine half-way: the next one converges and makes nothing twice."""

from __future__ import annotations

import json
import os

import psutil
from second_lab import Lab, read_until

# Resources of the stack: 1 stack, 1 provider, 1 image with its build, 3 pools with 15 patches, the runtime with class,
# namespace and 2 DaemonSets, 1 namespace of jobs, the job and its Job. The 15 nodes are read, not made.
RESOURCES = 30
DAEMONS = "/apis/apps/v1/namespaces/gpu-runtime/daemonsets"
JOBS = "/apis/batch/v1/namespaces/batch/jobs"
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
NAMESPACES = "/api/v1/namespaces"


def made(lab: Lab) -> dict[str, dict[str, str]]:
    """Unique ids of all that the stack makes in the cluster, by collection and name."""
    return {path: lab.items(path) for path in (NAMESPACES, CLASSES, DAEMONS, JOBS)}


def is_complete(lab: Lab) -> None:
    """Everything is there once, and the engine knows of all of it."""
    there = made(lab)
    assert set(there[NAMESPACES]) - {"default", "kube-system", "kube-public", "kube-node-lease"} == {
        "batch",
        "gpu-runtime",
    }
    assert set(there[CLASSES]) == {"nvidia"}
    assert set(there[DAEMONS]) == {"device-plugin", "persistence-daemon"}
    assert set(there[JOBS]) == {"gpu-smoke"}
    assert lab.pending() == []
    assert f"{RESOURCES} unchanged" in lab.pulumi("preview", "--expect-no-changes").succeeded()


def keeps(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> None:
    """What was there is still the same object, not another one of the same name."""
    for path, items in before.items():
        assert items.items() <= after[path].items(), path


def test_an_update_whose_api_server_was_killed_is_finished_by_the_next_one(empty: Lab) -> None:
    update = empty.start_pulumi("up", "--yes", "--skip-preview")
    read_until(update, "RuntimeClass nvidia-class created")
    empty.kill("kube-apiserver")
    said, _ = update.communicate(timeout=120)
    assert update.returncode != 0, said
    assert "Traceback" not in said
    assert f"{empty.instance.apiserver_url} does not answer" in said
    empty.start()
    before = made(empty)
    assert before[CLASSES]
    empty.up().succeeded()
    keeps(before, made(empty))
    is_complete(empty)


def test_after_kill_9_of_pulumi_cancel_and_up_finish_the_update(empty: Lab) -> None:
    plugins = kill_pulumi_at(empty, "Job gpu-smoke-job creating (0s) 0 of 1 completions")
    _, left = psutil.wait_procs(plugins, timeout=20)
    assert left == [], "plugins outlived their engine"
    assert len(empty.locks()) == 1
    assert empty.pending() == ["gpu-smoke-job"]
    before = made(empty)
    text = empty.up().refused()
    assert "locked by 1 lock" in text
    assert "pulumi cancel" in text
    empty.pulumi("cancel", "--yes").succeeded()
    empty.up().succeeded()
    keeps(before, made(empty))
    is_complete(empty)


def test_make_up_takes_away_the_lock_of_a_dead_pulumi_and_of_no_other(deployed: Lab) -> None:
    kill_pulumi_at(deployed, "updating")
    (lock,) = deployed.locks()
    left = lock.read_text()
    text = deployed.python_m_lab("up", "--simulated", "--stack", "small").succeeded()
    assert "its lock is taken away" in text
    assert deployed.locks() == []
    is_complete(deployed)

    lock.write_text(json.dumps({**json.loads(left), "pid": os.getpid()}))  # of one that runs: ourselves
    try:
        text = deployed.python_m_lab("up", "--simulated", "--stack", "small").refused()
    finally:
        lock.unlink()
    assert "its lock is taken away" not in text
    assert "locked by 1 lock" in text


def kill_pulumi_at(lab: Lab, text: str) -> list[psutil.Process]:
    """`pulumi up`, and `kill -9` when it says `text`; the processes that it had started."""
    update = lab.start_pulumi("up", "--yes", "--skip-preview")
    read_until(update, text)
    plugins = psutil.Process(update.pid).children(recursive=True)
    update.kill()
    update.communicate(timeout=30)
    assert plugins
    return plugins
