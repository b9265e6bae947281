"""Why pods are not ready, as an update that fails says it."""

from __future__ import annotations

from typing import Any

from lab.unready_pods import lines


def pod(**status: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "datahub", "name": "proxy-1"}, "status": status}


def test_what_the_scheduler_says_is_passed_on() -> None:
    said = "0/15 nodes are available: 15 node(s) didn't match Pod's node affinity/selector."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
    assert [*lines([pod(conditions=[condition])])] == [f"  datahub/proxy-1: Unschedulable: {said}"]


def test_a_container_that_cannot_be_pulled_or_keeps_ending_is_named() -> None:
    pulled = {"name": "proxy", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "back-off"}}}
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    looping = {"name": "hub", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended}
    assert [*lines([pod(containerStatuses=[pulled, looping])])] == [
        "  datahub/proxy-1, container proxy: ImagePullBackOff: back-off",
        "  datahub/proxy-1, container hub: CrashLoopBackOff; exit code 137 (OOMKilled)",
    ]


def test_a_secret_that_a_pod_waits_for_is_named() -> None:
    said = 'MountVolume.SetUp failed for volume "tls" : secret "campus" not found'
    waiting = {"metadata": {"namespace": "datahub", "name": "proxy-1", "uid": "1"}, "status": {"phase": "Pending"}}
    event = {"reason": "FailedMount", "message": said, "involvedObject": {"kind": "Pod", "uid": "1"}}
    assert [*lines([waiting], [event])] == [f"  datahub/proxy-1: FailedMount: {said}"]
    assert not [*lines([{**waiting, "status": {"phase": "Running"}}], [event])]


def test_a_pod_that_starts_or_runs_has_no_line() -> None:
    starting = {"name": "hub", "state": {"waiting": {"reason": "ContainerCreating"}}}
    running = {"name": "proxy", "ready": True, "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 1}}}
    assert not [*lines([pod(containerStatuses=[starting]), pod(containerStatuses=[running]), pod()])]
