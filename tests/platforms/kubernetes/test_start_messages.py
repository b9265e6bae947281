"""What a student reads while a server starts, and when it does not.

Texts of pods and events are those of Kubernetes 1.34 and containerd, as their documentation and the lab show them.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rows import each_row

from platforms.kubernetes.hub_files.start_messages import situation
from platforms.kubernetes.hub_files.start_refusals import refused
from workloads.hub_files.start_words import Situation

TITLE = "One RTX 2080 Ti (11 GB)"
IMAGE = "registry.example.edu/gpu-commons/scipy-ml-notebook@sha256:" + "0" * 64
NOW = datetime(2026, 11, 22, 15, 10, 0, tzinfo=UTC)
TELL = "please tell the people who run this hub."
AGAIN = f"Try again in a few minutes; if it happens again, {TELL}"
NO_USE = f"Starting it again will not help: choose another option, and {TELL}"
SOON = "Your server starts by itself as soon as this changes."


def event(reason: str, message: str, *, at: str = "15:00:00", **more: Any) -> dict[str, Any]:
    return {"reason": reason, "message": message, "lastTimestamp": f"2026-11-22T{at}Z", "eventTime": None, **more}


def pod(node: str | None = "n18", gpus: int = 1, **status: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": str(gpus), "memory": str(16 * 2**30)}
    spec: dict[str, Any] = {"containers": [{"name": "notebook", "image": IMAGE, "resources": {"limits": limits}}]}
    if node:
        spec["nodeName"] = node
    annotations = {"gpu-commons.org/image": "scipy-ml-notebook"}
    metadata = {"name": "jupyter-ada", "uid": "3b1c", "annotations": annotations}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending", **status}}


def unplaced(message: str, gpus: int = 1) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return pod(node=None, gpus=gpus, conditions=[condition])


def waits(reason: str, message: str = "") -> dict[str, Any]:
    return container({"waiting": {"reason": reason, "message": message}})


def container(state: dict[str, Any], **more: Any) -> dict[str, Any]:
    return pod(containerStatuses=[{"name": "notebook", "state": state, "restartCount": 0, **more}])


def seen(pod: dict[str, Any] | None, *events: dict[str, Any], was_there: bool = False) -> Situation:
    return situation(pod, events, TITLE, was_there=was_there)


def end(found: Situation) -> str:
    return found.given_up_at(NOW, 600)


# An image that is not there

PULL = f'Failed to pull image "{IMAGE}": '
NOT_FOUND = (
    f'rpc error: code = NotFound desc = failed to pull and unpack image "{IMAGE}": failed to resolve reference '
    f'"{IMAGE}": {IMAGE}: not found'
)
UNAUTHORISED = (
    f'failed to pull and unpack image "{IMAGE}": failed to resolve reference "{IMAGE}": failed to authorize: '
    "failed to fetch anonymous token: unexpected status from GET request to "
    "https://auth.example.edu/token?scope=repository%3Agpu-commons&client_secret=hunter2: 401 Unauthorized"
)
DENIED = (
    'failed to resolve reference "docker.io/library/nope:1": pull access denied, repository does not exist or may '
    "require authorization: server message: insufficient_scope: authorization failed"
)
X509 = (
    'failed to do request: Head "https://registry.example.edu/v2/": tls: failed to verify certificate: x509: '
    "certificate signed by unknown authority"
)
PLATFORM = "no match for platform in manifest: not found"
HTTP = 'failed to do request: Head "https://r:5000/v2/x": http: server gave HTTP response to HTTPS client'


@each_row(
    ("text", "phrase"),
    [
        (NOT_FOUND, "the registry does not have it"),
        (UNAUTHORISED, "the registry refuses access to it"),
        (DENIED, "the registry does not have it, or refuses access to it"),
        (X509, "the registry's certificate is not trusted"),
        (PLATFORM, "it is for another kind of machine"),
        (HTTP, "the registry does not speak HTTPS"),
    ],
)
def test_an_image_that_can_never_be_downloaded_ends_the_start_at_once(text: str, phrase: str) -> None:
    found = seen(waits("ErrImagePull", text), event("Failed", PULL + text, at="15:00:01"))
    assert found.is_final
    assert end(found) == f"The image scipy-ml-notebook of “{TITLE}” cannot be downloaded: {phrase}. {NO_USE}"


@pytest.mark.parametrize(
    ("reason", "phrase"),
    [
        ("InvalidImageName", "its name is not valid"),
        ("ErrImageNeverPull", "it is not on the machine, and must not be downloaded"),
        ("SignatureValidationFailed", "its signature is not valid"),
    ],
)
def test_some_reasons_need_no_text(reason: str, phrase: str) -> None:
    found = seen(waits(reason, "whatever"))
    assert (found.is_final, phrase in end(found)) == (True, True)


@each_row(
    ("text", "phrase"),
    [
        ("dial tcp: lookup registry.example.edu on 10.0.0.10:53: no such host", "the registry's name is not known"),
        ('Head "https://r/v2/": dial tcp 192.0.2.7:443: i/o timeout', "the registry does not answer"),
        ("failed to authorize: failed to fetch anonymous token: dial tcp: i/o timeout", "the registry does not answer"),
        ("dial tcp 127.0.0.1:5000: connect: connection refused", "the registry does not answer"),
        ("unexpected status from HEAD request to https://r/v2/x: 503 Service Unavailable", "the registry returned"),
        ("429 Too Many Requests - toomanyrequests: You have reached your pull rate limit", "limits requests"),
        ("failed to extract layer: write /var/lib: no space left on device", "the machine has no room left for it"),
    ],
)
def test_an_image_that_may_still_come_is_waited_for(text: str, phrase: str) -> None:
    # The back-off says nothing of the reason on older clusters: the event before it does.
    found = seen(waits("ImagePullBackOff", f'Back-off pulling image "{IMAGE}"'), event("Failed", PULL + text))
    assert not found.is_final
    waiting = found.waiting_at(NOW)
    assert waiting.startswith("The image scipy-ml-notebook could not be downloaded yet: ")
    assert phrase in waiting
    assert waiting.endswith("The cluster keeps trying.")
    assert end(found).startswith("The image scipy-ml-notebook could not be downloaded within 10 minutes: ")
    assert end(found).endswith(AGAIN)


def test_a_reason_that_nobody_knows_is_quoted_shortly_and_without_secrets() -> None:
    text = f"{PULL}odd: see https://ada:hunter2@r.example.edu/v2/x?token=abc123: the flux capacitor is cold"
    waiting = seen(waits("ErrImagePull", text)).waiting_at(NOW)
    assert waiting == (
        "The image scipy-ml-notebook could not be downloaded yet: its machine says “the flux capacitor is cold”. "
        "The cluster keeps trying."
    )
    long = seen(waits("ErrImagePull", "https://r/?sig=hunter2 " + "very " * 60)).waiting_at(NOW)
    assert "hunter2" not in long
    assert len(long) < 260


def test_a_download_says_for_how_long_it_goes_on_and_at_the_end_how_far_that_was() -> None:
    found = seen(
        waits("ContainerCreating"),
        event("Scheduled", "Successfully assigned datahub/jupyter-ada to n18", at="15:00:00"),
        event("Pulling", f'Pulling image "{IMAGE}"', at="15:00:20"),
    )
    assert found.waiting_at(NOW) == (
        "A machine was found; it is downloading the image scipy-ml-notebook (9 min 40 s so far). "
        "The first time on a machine, this takes several minutes."
    )
    assert end(found) == (
        "The image scipy-ml-notebook was still being downloaded after 9 min 40 s, and a start may take 10 minutes. "
        f"How much of it had arrived, the machine does not tell. {AGAIN}"
    )


@pytest.mark.parametrize("pulled_at", ["15:00:20", "15:00:33"])
def test_after_the_download_the_machine_prepares_the_server(pulled_at: str) -> None:
    # Events have whole seconds, and come in any order.
    text = f'Successfully pulled image "{IMAGE}" in 300ms (300ms including waiting).'
    found = seen(
        waits("ContainerCreating"),
        event("Pulled", text, at=pulled_at),
        event("Pulling", f'Pulling image "{IMAGE}"', at="15:00:20"),
    )
    assert found.waiting_at(NOW) == "A machine was found; it is preparing your server."


def test_without_a_name_an_image_is_the_last_part_of_its_reference() -> None:
    one = waits("ErrImagePull", NOT_FOUND)
    one["metadata"]["annotations"] = {}
    assert end(seen(one)).startswith("The image scipy-ml-notebook of")


# No node


PREEMPTION = " preemption: 0/15 nodes are available: 15 No preemption victims found for incoming pod."


@each_row(
    ("message", "cause"),
    [
        (
            (
                "0/15 nodes are available: 4 Insufficient nvidia.com/gpu, "
                "11 node(s) didn't match Pod's node affinity/selector."
            ),
            f"All GPUs for “{TITLE}” are in use.",
        ),
        (
            "0/15 nodes are available: 1 node(s) were unschedulable, 3 Insufficient nvidia.com/gpu.",
            f"All GPUs for “{TITLE}” are in use.",
        ),
        (
            "0/4 nodes are available: 4 Insufficient cpu.",
            f"The machines for “{TITLE}” are full: they have no CPU left.",
        ),
        (
            "0/4 nodes are available: 4 Insufficient memory.",
            f"The machines for “{TITLE}” are full: they have no memory left.",
        ),
        (
            "0/4 nodes are available: 4 Too many pods.",
            f"The machines for “{TITLE}” are full: they run as many servers as they may.",
        ),
        (
            (
                "0/2 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, "
                "1 node(s) didn't match Pod's node affinity/selector."
            ),
            f"The machines for “{TITLE}” are not ready: they are down, or under maintenance.",
        ),
        (
            "0/15 nodes are available: 15 node(s) didn't match Pod's node affinity/selector.",
            f"This hub has no machine for “{TITLE}” at present.",
        ),
        (
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
            "The storage for your home directory is not ready.",
        ),
        (
            "0/2 nodes are available: 2 node(s) had volume node affinity conflict.",  # before Kubernetes 1.34
            f"Your home directory is on a machine that cannot run “{TITLE}”.",
        ),
        (
            "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity.",
            f"Your home directory is on a machine that cannot run “{TITLE}”.",
        ),
        ("something that a later scheduler says", f"The cluster has no place for “{TITLE}” at present."),
    ],
)
def test_a_server_without_a_place_says_what_it_waits_for(message: str, cause: str) -> None:
    found = seen(unplaced(message + PREEMPTION))
    assert not found.is_final
    assert found.waiting_at(NOW) == f"{cause} {SOON}"


def test_what_others_would_have_to_give_up_is_no_reason() -> None:
    message = (
        "0/2 nodes are available: 2 Insufficient cpu. "
        "preemption: 0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    )
    assert "no CPU left" in seen(unplaced(message)).waiting_at(NOW)


def test_a_gpu_that_never_became_free_is_shown_with_the_time_waited() -> None:
    assert end(seen(unplaced("0/4 nodes are available: 4 Insufficient nvidia.com/gpu."))) == (
        f"No GPU for “{TITLE}” became free within 10 minutes, so your server was not started. "
        "Try again later, or choose another option."
    )
    assert end(seen(unplaced("0/4 nodes are available: 4 Insufficient nvidia.com/gpu.", gpus=4))) == (
        f"No machine had enough free GPUs for “{TITLE}” within 10 minutes. Try again later, or choose another option."
    )


def test_a_machine_that_is_being_added_is_worth_waiting_for() -> None:
    found = seen(
        pod(node=None),
        event("FailedScheduling", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
        event("TriggeredScaleUp", "pod triggered scale-up: [{asg 1->2 (max: 4)}]", at="15:00:09"),
    )
    assert found.waiting_at(NOW) == (
        f"All machines for “{TITLE}” are in use: the cluster is adding one, which takes some minutes."
    )


@each_row("name", ["rtx2080ti", "n18", "gpu-commons.org", "sha256"])
def test_internal_names_are_not_shown(name: str) -> None:
    gpus = "0/15 nodes are available: 4 Insufficient nvidia.com/gpu, 11 node(s) didn't match Pod's node affinity."
    for found in (seen(unplaced(gpus)), seen(waits("ErrImagePull", NOT_FOUND)), seen(waits("ContainerCreating"))):
        assert name not in found.waiting_at(NOW) + end(found)


# A node that cannot


@each_row(
    ("reason", "message", "cause"),
    [
        (
            "FailedAttachVolume",
            'Multi-Attach error for volume "pvc-1f" Volume is already used by pod(s) jupyter-ada',
            "Your home directory is still in use on another machine.",
        ),
        (
            "FailedMount",
            (
                "Unable to attach or mount volumes: unmounted volumes=[home], unattached volumes=[], failed to process "
                "volumes=[]: timed out waiting for the condition"
            ),
            "The machine that was chosen cannot reach your home directory.",
        ),
        (
            "FailedMount",
            'MountVolume.SetUp failed for volume "config" : configmap "course-data" not found',
            "The machine that was chosen misses a file that every server needs.",
        ),
        ("NodeNotReady", "Node is not ready", "The machine that was chosen for your server has stopped answering."),
        (
            "FailedCreatePodSandBox",
            'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "8f"',
            "The machine that was chosen could not set up your server.",
        ),
    ],
)
def test_a_machine_in_trouble_is_shown_while_the_cluster_retries(reason: str, message: str, cause: str) -> None:
    found = seen(
        waits("ContainerCreating"), event("Scheduled", "Successfully assigned"), event(reason, message, at="15:00:05")
    )
    assert found.waiting_at(NOW) == f"{cause} The cluster keeps trying."
    assert end(found).startswith(cause)


def test_a_home_that_cannot_be_made_ends_the_start_with_the_reason() -> None:
    said = "mkdir: cannot create directory '/homes/ada': Permission denied\n"
    maker = {"name": "home", "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": said}}}
    waits_for_it = {"name": "notebook", "state": {"waiting": {"reason": "PodInitializing"}}, "restartCount": 0}
    found = seen(pod(initContainerStatuses=[maker], containerStatuses=[waits_for_it]))
    assert found.is_final
    assert end(found) == f"Your home directory could not be made: Permission denied. Nothing is lost; {TELL}"
    made = {**maker, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
    assert not seen(pod(initContainerStatuses=[made], containerStatuses=[waits_for_it])).is_final


def test_storage_that_came_in_the_end_is_no_trouble_any_more() -> None:
    found = seen(
        waits("ContainerCreating"),
        event("FailedAttachVolume", "Multi-Attach error for volume", at="15:00:05"),
        event("SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "pvc-1f"', at="15:00:40"),
    )
    assert found.waiting_at(NOW) == "A machine was found; it is preparing your server."


@each_row(
    ("reason", "message", "sentence"),
    [
        (
            "Evicted",
            "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 2Gi.",
            f"The machine ran out of disk space and ended your server. {AGAIN}",
        ),
        (
            "UnexpectedAdmissionError",
            (
                "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, "
                "which is unexpected"
            ),
            f"The machine that was chosen could not give your server what “{TITLE}” needs. {AGAIN}",
        ),
        (
            "OutOfmemory",
            "Node didn't have enough resource: memory, requested: 1, used: 2, capacity: 2",
            f"The machine that was chosen could not give your server what “{TITLE}” needs. {AGAIN}",
        ),
        ("NodeShutdown", "Pod was rejected", f"The machine that was chosen is being shut down. {AGAIN}"),
        (
            "Simulated",
            "node n18 is simulated, so nothing runs there",
            (
                "The machine that was chosen did not run your server: node n18 is simulated, so nothing runs there. "
                "Choose another option."
            ),
        ),
    ],
)
def test_a_server_that_its_machine_gave_up_is_over(reason: str, message: str, sentence: str) -> None:
    found = seen(pod(phase="Failed", reason=reason, message=message))
    assert found.is_final
    assert end(found) == sentence


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("PreemptionByScheduler", "to make room for more important work"),
        ("DeletionByTaintManager", "because its machine failed"),
        ("EvictionByEvictionAPI", "because its machine is being emptied"),
    ],
)
def test_a_server_that_is_taken_away_says_for_what(reason: str, why: str) -> None:
    one = pod(conditions=[{"type": "DisruptionTarget", "status": "True", "reason": reason}])
    one["metadata"]["deletionTimestamp"] = "2026-11-22T15:05:00Z"
    assert end(seen(one)) == f"Your server was removed while it started, {why}. {AGAIN}"


def test_a_server_that_somebody_deleted_does_not_come_back() -> None:
    assert not seen(None).is_final
    found = seen(None, was_there=True)
    assert found.is_final
    assert "by the cluster or by somebody who runs it" in end(found)


# A container that does not start, or ends


def terminated(code: int, reason: str = "Error") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason}}


CRASH_LOOP = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}}


def test_one_crash_is_retried_and_the_second_one_is_shown() -> None:
    first = seen(container(terminated(1)))
    assert not first.is_final
    assert first.waiting_at(NOW) == "Your server ended as it started (exit code 1). It is being started once more."
    second = seen(container(CRASH_LOOP, restartCount=1, lastState=terminated(1)))
    assert second.is_final
    assert end(second) == (
        "Your server ended as it started (exit code 1). "
        f"Packages in your home directory (~/.local) are a common cause. {AGAIN}"
    )


def test_running_out_of_memory_is_shown_with_the_limit() -> None:
    found = seen(container(CRASH_LOOP, restartCount=1, lastState=terminated(137, "OOMKilled")))
    assert end(found) == (
        f"Your server ran out of memory as it started (it may use 16 GiB). Choose an option with more memory, or {TELL}"
    )


def test_an_image_without_a_notebook_server_is_shown_at_once() -> None:
    message = 'runc create failed: exec: "jupyterhub-singleuser": executable file not found in $PATH: unknown'
    ended = terminated(128, "StartError")
    ended["terminated"]["message"] = message
    found = seen(container(ended))
    assert found.is_final
    assert end(found) == f"The image scipy-ml-notebook has no notebook server that can be started. {NO_USE}"


def test_a_machine_that_cannot_start_a_container_is_not_taken_for_a_broken_image() -> None:
    ended = terminated(128, "StartError")
    ended["terminated"]["message"] = (
        "error running hook: nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown"
    )
    assert end(seen(container(ended))) == f"The machine could not start “{TITLE}”: driver not loaded. {AGAIN}"


def test_a_container_that_cannot_be_made_says_why_shortly() -> None:
    text = 'failed to generate container "8f" spec: failed to inject devices: unresolvable CDI devices nvidia.com/gpu=3'
    found = seen(waits("CreateContainerError", text))
    assert found.is_final
    assert end(found) == (f"The machine could not start “{TITLE}”: unresolvable CDI devices nvidia.com/gpu=3. {NO_USE}")


def test_a_server_that_ended_with_its_pod_says_its_exit_code() -> None:
    found = seen(pod(phase="Succeeded", containerStatuses=[{"state": terminated(0, "Completed")}]))
    assert found.is_final
    assert end(found).startswith("Your server ended as it started (exit code 0).")


def test_a_server_that_runs_and_does_not_answer_has_a_time_out_of_its_own() -> None:
    found = seen(container({"running": {"startedAt": "2026-11-22T15:09:30Z"}}))
    assert found.waiting_at(NOW) == "Your server runs and is getting ready (30 seconds so far)."
    assert found.given_up_at(NOW, 120) == f"Your server runs, but did not answer within 2 minutes. {AGAIN}"


# What the lab's real node reported, with kubelet 1.34 and containerd: starts_of_the_lab.json


@each_row(
    ("name", "is_final", "sentence"),
    [
        ("badname", True, "The image probe-image of “Probe” cannot be downloaded: its name is not valid."),
        ("missing", True, "The image probe-image of “Probe” cannot be downloaded: the registry does not have it."),
        ("nohost", False, "The image probe-image could not be downloaded yet: the registry's name is not known."),
        ("refused", False, "The image probe-image could not be downloaded yet: the registry does not answer."),
        ("crash", True, "Your server ended as it started (exit code 3)."),
        ("oom", True, "Your server ran out of memory as it started (it may use 64 MiB)."),
        ("nocmd", True, "The image probe-image has no notebook server that can be started."),
    ],
)
def test_what_a_real_node_reports_becomes_a_sentence(name: str, is_final: bool, sentence: str) -> None:
    recorded = json.loads(Path(__file__).with_name("starts_of_the_lab.json").read_text())[name]
    found = situation(recorded["pod"], recorded["events"], "Probe")
    assert found.is_final == is_final
    assert found.waiting_at(NOW).startswith(sentence)


# What the API server does not take


@each_row(
    ("status", "message", "sentence"),
    [
        (
            403,
            (
                'pods "jupyter-ada" is forbidden: exceeded quota: ml-intro, requested: requests.nvidia.com/gpu=1, '
                "used: requests.nvidia.com/gpu=36, limited: requests.nvidia.com/gpu=36"
            ),
            (
                f"The quota of this hub is used up: 36 of 36 GPUs are in use, and “{TITLE}” needs 1 GPU. "
                "Stop a server that you no longer need, try again later, or choose another option."
            ),
        ),
        (
            403,
            (
                'pods "jupyter-ada" is forbidden: exceeded quota: q, requested: limits.memory=16Gi,pods=1, '
                "used: limits.memory=60Gi,pods=4, limited: limits.memory=64Gi,pods=4"
            ),
            (
                f"The quota of this hub is used up: 60Gi of 64Gi memory are in use and 4 of 4 servers are in use, "
                f"and “{TITLE}” needs 16Gi memory and 1 server. "
                "Stop a server that you no longer need, try again later, or choose another option."
            ),
        ),
        (
            403,
            'pods "jupyter-ada" is forbidden: violates PodSecurity "restricted:latest": privileged',
            f"The cluster's security rules do not allow “{TITLE}”. {NO_USE}",
        ),
        (
            403,
            'pods "jupyter-ada" is forbidden: maximum memory usage per Container is 8Gi, but limit is 16Gi',
            f"“{TITLE}” asks for more or less than the cluster allows one server. {NO_USE}",
        ),
        (
            400,
            'admission webhook "gate.example.edu" denied the request: servers need a cost centre',
            f"A rule of the cluster refused “{TITLE}”: servers need a cost centre. {NO_USE}",
        ),
        (
            403,
            'pods is forbidden: User "system:serviceaccount:datahub:hub" cannot create resource "pods"',
            f"The hub is not allowed to start “{TITLE}” in its cluster. {NO_USE}",
        ),
        (
            422,
            'Pod "jupyter-ada" is invalid: spec.containers[0].image: Required value',
            f"The cluster does not accept the settings of “{TITLE}”. {NO_USE}",
        ),
        (
            500,
            "etcdserver: request timed out",
            "The hub could not reach its cluster, so your server was not started. " + AGAIN,
        ),
    ],
)
def test_a_refusal_of_the_cluster_says_what_it_refuses(status: int, message: str, sentence: str) -> None:
    assert refused(status, message, TITLE) == sentence
