"""`gpu-commons probe --kubernetes`: a node that a Job probes, through what a stand-in for kubectl answers.

It runs the Job's program as the node would, so that what is printed are facts; tests/lab/test_probe_job.py has the real
kubectl and API server.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from cli.kubectl import Cluster
from cli.probe.kubernetes import ProbeFailed, ProbeRequest, by_kubernetes, chosen, progress_of

Run = Callable[..., Result]
Json = dict[str, Any]
PROJECT = Path(__file__).resolve().parents[2]
IMAGE = "python:3.13-slim"
STAND_IN = """#!{python}
import json, os, pathlib, subprocess, sys, urllib.parse
here, words = pathlib.Path(__file__).parent, sys.argv[1:]
given = json.loads((here / "cluster.json").read_text())
with (here / "calls").open("a") as calls:
    print(*words, file=calls)
verb = next(each for each in words if each in ("get", "create", "logs", "delete"))
if verb in given["fails"]:
    print("Error from server (Forbidden): " + given["fails"][verb], file=sys.stderr)
    sys.exit(1)
if verb == "create":
    job = json.load(sys.stdin)
    job["metadata"]["namespace"] = words[words.index("--namespace") + 1] if "--namespace" in words else "default"
    (here / "job.json").write_text(json.dumps(job))
    print(json.dumps(job))
elif verb == "logs":
    container = json.loads((here / "job.json").read_text())["spec"]["template"]["spec"]["containers"][0]
    print("a sidecar says {{ }}")
    if given["log"] is not None:
        print(given["log"])
        sys.exit()
    environ = {{"PATH": "/usr/bin:/bin", "GPU_COMMONS_NODE": "n01.example.edu", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}}
    sys.exit(subprocess.run([sys.executable, *container["command"][1:]], env=environ).returncode)
elif verb == "get":
    path = urllib.parse.urlparse(words[-1]).path
    print(json.dumps({{"items": given[path.rpartition("/")[2]]}}))
"""


def node(name: str, gpus: int = 8, *, ready: str = "True", cordoned: bool = False) -> Json:
    return {
        "metadata": {"name": name, "labels": {}},
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {
            "capacity": {"nvidia.com/gpu": str(gpus), "ephemeral-storage": "503316480Ki"} if gpus else {},
            "allocatable": {"nvidia.com/gpu": str(gpus)} if gpus else {},
            "conditions": [{"type": "Ready", "status": ready}],
            "nodeInfo": {
                "osImage": "Ubuntu 24.04.1 LTS", "kubeletVersion": "v1.34.2",
                "containerRuntimeVersion": "containerd://2.1.4",
            },
        },
    }  # fmt: skip


def pooled(name: str, pool: str, gpus: int = 8, **more: Any) -> Json:
    made = node(name, gpus, **more)
    made["metadata"]["labels"]["gpu-commons.org/pool"] = pool
    return made


def pod(state: Json | None = None, **status: Any) -> Json:
    states = [] if state is None else [{"name": "probe", "state": state}]
    return {"metadata": {"name": "gpu-commons-probe-x-abcde"}, "status": {"containerStatuses": states, **status}}


DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}
NODES = [pooled("n01.example.edu", "gtx1080ti"), node("n02.example.edu", 0), node("bastion", 0)]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """`cluster(pods=[…])`: what kubectl answers, on PATH; its folder has the calls and the Job."""
    monkeypatch.delenv("GPU_COMMONS_SITE", raising=False)

    def write(*, log: str | None = None, fails: Json | None = None, **objects: list[Json]) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        lists = {
            "nodes": NODES,
            "pods": [pod(DONE)],
            "events": [],
            "runtimeclasses": [{"metadata": {"name": "nvidia"}}],
        }
        (folder / "cluster.json").write_text(json.dumps({"log": log, "fails": fails or {}, **lists, **objects}))
        (folder / "kubectl").write_text(STAND_IN.format(python=sys.executable))
        (folder / "kubectl").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        return folder

    return write


def probe_node(run: Run, *words: str, wanted: str = "n01.example.edu") -> Result:
    return run("probe", "--kubernetes", wanted, "--image", IMAGE, *words)


@pytest.mark.slow
def test_a_node_is_probed_by_a_job_that_is_gone_afterwards(run: Run, cluster: Callable[..., Path]) -> None:
    folder = cluster()
    result = probe_node(run)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("# n01.example.edu, probed 20")
    facts = yaml.safe_load(result.stdout)
    assert facts["pool"]["gpus_per_node"] == 8  # of the node: the pod saw fewer
    assert facts["pool"]["root_disk_gib"] == 480
    assert facts["host"]["system"] == "Ubuntu 24.04.1 LTS"
    assert facts["host"]["kubernetes"] == {
        "pool": "gtx1080ti", "kubelet": "v1.34.2", "runtime": "containerd://2.1.4", "gpus": 8,
    }  # fmt: skip
    made = json.loads((folder / "job.json").read_text())
    calls = (folder / "calls").read_text().splitlines()
    assert f"delete --namespace default job/{made['metadata']['name']} --ignore-not-found" in calls[-1]
    (term,) = made["spec"]["template"]["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    assert term["matchFields"][0]["values"] == ["n01.example.edu"]
    assert made["spec"]["template"]["spec"]["runtimeClassName"] == "nvidia"


@pytest.mark.slow
def test_what_a_pod_cannot_see_is_unknown_and_its_own_is_not_shown_as_the_nodes(
    run: Run, cluster: Callable[..., Path]
) -> None:
    cluster()
    host = json.loads(probe_node(run, "--json").stdout)["host"]
    for name in ("container_toolkit", "glibc", "temporary"):
        assert "this runs in a container (kubernetes), which" in host[name]["unknown"], name


@pytest.mark.slow
def test_gpus_that_pods_share_are_counted_once(run: Run, cluster: Callable[..., Path]) -> None:
    shared = node("n01", 16)
    shared["metadata"]["labels"]["nvidia.com/gpu.count"] = "4"
    cluster(nodes=[shared])
    shown = json.loads(probe_node(run, "--json", wanted="n01").stdout)
    assert shown["pool"]["gpus_per_node"] == 4


@pytest.mark.slow
def test_namespace_and_the_sites_cluster_are_used(run: Run, cluster: Callable[..., Path], tmp_path: Path) -> None:
    folder = cluster(runtimeclasses=[])
    (tmp_path / "site.yaml").write_text("kubeconfig: /etc/site.conf\nkube_context: classroom\n")
    result = probe_node(run, "--namespace", "ops", "--stack", "dsmlp-fall", "--site", str(tmp_path / "site.yaml"))
    assert result.exit_code == 0
    calls = (folder / "calls").read_text().splitlines()
    assert all(call.startswith("--kubeconfig /etc/site.conf --context classroom") for call in calls)
    assert "create --namespace ops" in (folder / "calls").read_text()
    assert "runtimeClassName" not in (folder / "job.json").read_text()


@pytest.mark.slow
def test_a_pool_is_compared_with_one_of_its_nodes(run: Run, cluster: Callable[..., Path], tmp_path: Path) -> None:
    folder = cluster(nodes=[pooled("n02", "gtx1080ti", cordoned=True), pooled("n03", "gtx1080ti", 4)])
    result = probe_node(run, "--stack", "dsmlp-fall", "--pool", "gtx1080ti", wanted="gtx1080ti")
    assert result.exit_code == 1
    head, *lines = result.stdout.splitlines()
    assert head.startswith("n03 (probed 20")
    assert "  gpus_per_node: the pool says 8, the host has 4" in lines
    (toolkit,) = (line for line in lines if "container_toolkit" in line)
    assert toolkit.endswith("a pod cannot see it, but gpu-commons probe on the node itself can")
    assert '"n03"' in (folder / "job.json").read_text()
    kept = tmp_path / "n03.json"
    kept.write_text(probe_node(run, "--json", wanted="n03").stdout)
    checked = run("stack", "check", "dsmlp-fall", "--probed", str(kept))
    assert "does not match pool gtx1080ti" in checked.stdout


@pytest.mark.slow
def test_a_node_of_a_cloud_belongs_to_the_pool_of_its_label(
    run: Run, cluster: Callable[..., Path], tmp_path: Path
) -> None:
    cluster(nodes=[pooled("ip-10-0-1-7.ec2.internal", "l4", 1)])
    kept = tmp_path / "facts.json"
    kept.write_text(probe_node(run, "--json", wanted="l4").stdout)
    result = run("stack", "check", "eks-g6", "--probed", str(kept))
    assert "ip-10-0-1-7 (probed 20" in result.stdout
    assert "does not match pool l4" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("objects", "wanted", "message"),
    [
        ({}, "n01.example.ed", 'no node or pool "n01.example.ed" in this cluster; did you mean n01.example.edu'),
        (
            {},
            "bastion",
            (
                "node bastion has no nvidia.com/gpu: it has no GPU, or no device plugin runs there, or all its "
                "GPUs fail; nodes that have: n01.example.edu"
            ),
        ),
        ({"nodes": [node("n01", ready="Unknown")]}, "n01", "node n01 is not ready: its kubelet starts nothing"),
        (
            {"nodes": [pooled("n01", "a", cordoned=True), pooled("n02", "a", 0)]},
            "a",
            "no node of pool a can be probed: n01 is cordoned: name the node itself; n02 has no nvidia.com/gpu",
        ),
        (
            {"fails": {"get": "nodes is forbidden"}},
            "n01",
            "kubectl reported: (Forbidden): nodes is forbidden; check KUBECONFIG",
        ),
        ({"fails": {"create": 'jobs.batch is forbidden: User "ada"'}}, "n01.example.edu", "jobs.batch is forbidden"),
    ],
)
def test_a_node_that_cannot_be_probed_gets_one_line_and_no_job(
    run: Run, cluster: Callable[..., Path], objects: Json, wanted: str, message: str
) -> None:
    folder = cluster(**objects)
    result = probe_node(run, wanted=wanted)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (folder / "job.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        (
            {"pods": [pod({"waiting": {"reason": "ErrImagePull", "message": "not found:\n manifest unknown"}})]},
            f"image {IMAGE} cannot be pulled: not found: manifest unknown",
        ),
        (
            {"pods": [pod({"waiting": {"reason": "CreateContainerConfigError", "message": "runs as root"}})]},
            "its container cannot be started: runs as root",
        ),
        (
            {"pods": [pod({"terminated": {"exitCode": 128, "message": 'exec: "python3": executable file not found'}})]},
            f"image {IMAGE} has no python3: name one that has, with --image",
        ),
        (
            {"pods": [pod(phase="Failed", reason="UnexpectedAdmissionError", message="no devices")]},
            "its pod failed: no devices",
        ),
        (
            {"pods": [], "events": [{"reason": "FailedCreate", "message": "exceeded quota: gpus"}]},
            "the cluster refuses its pod: exceeded quota: gpus",
        ),
        (
            {"pods": [pod({"terminated": {"exitCode": 1}})], "log": "Traceback\nSyntaxError: invalid syntax"},
            f"image {IMAGE} printed no facts: a sidecar says {{ }}; Traceback; SyntaxError: invalid syntax",
        ),
    ],
)
def test_a_job_that_finds_out_nothing_is_one_line_and_is_deleted(
    run: Run, cluster: Callable[..., Path], objects: Json, reason: str
) -> None:
    folder = cluster(**objects)
    result = probe_node(run)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: node n01.example.edu was not probed: {reason}\n"
    assert "delete --namespace default job/gpu-commons-probe-" in (folder / "calls").read_text()


@pytest.mark.slow
def test_a_job_that_waits_too_long_is_deleted_and_says_what_for(cluster: Callable[..., Path]) -> None:
    busy = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes: 1 Insufficient nvidia.com/gpu"}
    folder = cluster(pods=[pod(conditions=[busy])])
    request = ProbeRequest(Cluster(None, None), "n01.example.edu", IMAGE, "0a")
    with pytest.raises(ProbeFailed, match=r"waited for a GPU of its node: 0/3 nodes: 1 Insufficient nvidia\.com/gpu"):
        by_kubernetes(request, within_s=-1, show=lambda _: None)
    assert "delete --namespace default job/gpu-commons-probe-0a" in (folder / "calls").read_text()


@pytest.mark.slow
def test_a_job_that_may_not_be_deleted_is_named(run: Run, cluster: Callable[..., Path]) -> None:
    cluster(fails={"logs": "pods/log is forbidden", "delete": "no"})
    errors = probe_node(run).stderr
    assert "pods/log is forbidden; its job is left: kubectl --namespace default delete job gpu-commons-" in errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--kubernetes", "n01"), "--kubernetes needs --image"),
        (("--image", IMAGE), "--image needs --kubernetes"),
        (("--namespace", "ops"), "--namespace needs --kubernetes"),
        (("--kubernetes", "n01", "--image", IMAGE, "--ssh", "box"), "--kubernetes and --ssh cannot be combined"),
        (("--kubernetes", "n01", "--image", "Python:3"), '"Python:3" is not an image reference'),
        (("--kubernetes", "n", "--image", IMAGE, "--stack", "comet"), "the site of this stack is of kind slurm"),
        (
            ("--kubernetes", "n18", "--image", IMAGE, "--stack", "dsmlp-fall", "--pool", "gtx1080ti"),
            "n18 is neither pool gtx1080ti nor one of its nodes",
        ),
    ],
)
def test_a_mistake_in_the_options_is_reported_before_any_call_to_the_cluster(
    run: Run, cluster: Callable[..., Path], words: tuple[str, ...], message: str
) -> None:
    folder = cluster()
    result = run("probe", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in " ".join(result.stderr.split())
    assert not (folder / "calls").exists()


def test_a_container_that_runs_or_is_made_is_waited_for() -> None:
    assert progress_of(IMAGE, pod({"running": {}})).waits == "for its output"
    assert (
        progress_of(IMAGE, pod({"waiting": {"reason": "ContainerCreating"}})).waits
        == "for its container, whose image is pulled first"
    )
    assert progress_of(IMAGE, None).waits == "for its pod"


def test_a_cordoned_node_that_is_named_is_probed() -> None:
    nodes = [node("n01", cordoned=True)]
    assert chosen(nodes, "n01") is nodes[0]
