"""The stand-in's await conditions and what it says about pods: pure functions of objects."""

from __future__ import annotations

from typing import Any

import pytest

from lab.providers.kubernetes.pod_problems import has_log, troubles
from lab.providers.kubernetes.readiness import State, readiness, waited_for
from lab.providers.kubernetes.waiting import timeout_of

Values = dict[str, Any]


def live(kind: str, status: Values, api_version: str = "apps/v1", **spec: Any) -> Values:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"generation": 2}, "spec": spec, "status": status}


SEEN = {"observedGeneration": 2}
LOAD_BALANCER = {"loadBalancer": {"ingress": [{"ip": "10.0.0.9"}]}}
WAITING, READY, FAILED = State.WAITING, State.READY, State.FAILED

CASES = [
    (
        "deployment: new version not seen",
        live("Deployment", {"observedGeneration": 1, "availableReplicas": 1}),
        WAITING,
    ),
    ("deployment: default of one pod", live("Deployment", {**SEEN, "updatedReplicas": 1}), WAITING),
    (
        "deployment: available",
        live("Deployment", {**SEEN, "updatedReplicas": 1, "availableReplicas": 1, "replicas": 1}),
        READY,
    ),
    (
        "deployment: old pod left",
        live("Deployment", {**SEEN, "updatedReplicas": 1, "availableReplicas": 2, "replicas": 2}),
        WAITING,
    ),
    ("deployment: scaled to nothing", live("Deployment", SEEN, replicas=0), READY),
    ("deployment: paused", live("Deployment", {}, paused=True), READY),
    (
        "deployment: deadline",
        live("Deployment", {"conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]}),
        FAILED,
    ),
    ("stateful set: two of three", live("StatefulSet", {**SEEN, "readyReplicas": 2}, replicas=3), WAITING),
    (
        "stateful set: rolling",
        live(
            "StatefulSet",
            {**SEEN, "readyReplicas": 3, "updatedReplicas": 1, "updateRevision": "b", "currentRevision": "a"},
            replicas=3,
        ),
        WAITING,
    ),
    (
        "stateful set: partition reached",
        live(
            "StatefulSet",
            {**SEEN, "readyReplicas": 3, "updatedReplicas": 1, "updateRevision": "b", "currentRevision": "a"},
            replicas=3,
            updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
        ),
        READY,
    ),
    ("daemon set: no node matches", live("DaemonSet", SEEN), READY),
    (
        "daemon set: one of two",
        live("DaemonSet", {**SEEN, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberAvailable": 1}),
        WAITING,
    ),
    (
        "daemon set: old version runs",
        live("DaemonSet", {**SEEN, "desiredNumberScheduled": 1, "updatedNumberScheduled": 0, "numberAvailable": 1}),
        WAITING,
    ),
    ("job: running", live("Job", {"active": 1}, "batch/v1"), WAITING),
    ("job: suspended", live("Job", {}, "batch/v1", suspend=True), READY),
    ("job: complete", live("Job", {"conditions": [{"type": "Complete", "status": "True"}]}, "batch/v1"), READY),
    ("job: failed", live("Job", {"conditions": [{"type": "Failed", "status": "True"}]}, "batch/v1"), FAILED),
    ("pod: pending", live("Pod", {"phase": "Pending"}, "v1"), WAITING),
    ("pod: succeeded", live("Pod", {"phase": "Succeeded"}, "v1"), READY),
    ("pod: failed", live("Pod", {"phase": "Failed"}, "v1"), FAILED),
    ("claim: pending", live("PersistentVolumeClaim", {"phase": "Pending"}, "v1"), WAITING),
    ("claim: lost", live("PersistentVolumeClaim", {"phase": "Lost"}, "v1"), FAILED),
    ("volume: released", live("PersistentVolume", {"phase": "Released"}, "v1"), READY),
    ("service: headless", live("Service", {}, "v1", clusterIP="None", selector={"a": "b"}), READY),
    ("service: no endpoint", live("Service", {}, "v1", selector={"a": "b"}), WAITING),
    ("service: no address", live("Service", {}, "v1", type="LoadBalancer"), WAITING),
    ("service: address", live("Service", LOAD_BALANCER, "v1", type="LoadBalancer"), READY),
    ("ingress: no controller", live("Ingress", {}, "networking.k8s.io/v1"), WAITING),
    (
        "definition: names taken",
        live(
            "CustomResourceDefinition",
            {"conditions": [{"type": "NamesAccepted", "status": "False", "message": "taken"}]},
            "apiextensions.k8s.io/v1",
        ),
        FAILED,
    ),
    ("another kind of the same name", live("Deployment", {}, "example.com/v1"), READY),
    ("a kind without a rule", live("ConfigMap", {}, "v1"), READY),
]


@pytest.mark.parametrize(("found", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_an_object_is_ready_when_its_kind_says_so(found: Values, expected: State) -> None:
    answer = readiness(found)
    assert answer.state is expected
    assert bool(answer.message) is (expected is not READY), "what is missing must be reported"


def test_a_claim_that_waits_for_its_pod_is_ready() -> None:
    claim = live("PersistentVolumeClaim", {"phase": "Pending"}, "v1")
    assert readiness(claim, [{"volumeBindingMode": "WaitForFirstConsumer"}]).state is READY
    assert readiness(claim, [{"volumeBindingMode": "Immediate"}]).state is WAITING


@pytest.mark.parametrize(
    ("endpoints", "state"),
    [
        (None, WAITING),
        ([{"conditions": {"ready": False}}], WAITING),
        ([{"conditions": {"ready": True}}], READY),
        ([{"conditions": {"ready": True}}, {"conditions": {"ready": False}}], WAITING),
        ([{"conditions": {"ready": True}}, {"conditions": {"ready": False, "terminating": True}}], READY),
    ],
)
def test_a_service_is_ready_when_every_endpoint_that_stays_is(endpoints: list[Values] | None, state: State) -> None:
    service = live("Service", {}, "v1", selector={"a": "b"})
    assert readiness(service, [{"endpoints": endpoints}]).state is state


def test_a_quota_that_refuses_pods_is_named() -> None:
    failure = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: course-a"}
    answer = readiness(live("Deployment", {**SEEN, "conditions": [failure]}))
    assert answer.message == "0 of 1 pods are created: exceeded quota: course-a"


@pytest.mark.parametrize(
    ("expression", "state"),
    [
        ("condition=Ready", READY),
        ("condition=Ready=False", WAITING),
        ("condition=Missing", WAITING),
        ("jsonpath={.status.phase}=Running", READY),
        ("jsonpath={.status.phase}", READY),
        ("jsonpath={.status.nothing}", WAITING),
        ('["condition=Ready", "jsonpath={.status.phase}=Failed"]', WAITING),
        ('["condition=Ready", "jsonpath={.status.phase}=Running"]', READY),
    ],
)
def test_the_users_own_condition_is_waited_for(expression: str, state: State) -> None:
    found = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    assert waited_for(found, expression).state is state


def test_an_invalid_condition_is_refused() -> None:
    with pytest.raises(ValueError, match='neither "condition=TYPE" nor'):
        waited_for({}, "ready")


def status_of(**state: Any) -> Values:
    return {"status": {"containerStatuses": [{"name": "main", "ready": False, **state}]}}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (
            status_of(state={"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}),
            [("main", "ImagePullBackOff: not found")],
        ),
        (status_of(state={"waiting": {"reason": "ContainerCreating"}}), []),
        (
            status_of(state={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
            [("main", "exit code 137 (OOMKilled)")],
        ),
        (
            status_of(
                state={"waiting": {"reason": "CrashLoopBackOff"}},
                lastState={"terminated": {"exitCode": 1, "reason": "Error"}},
            ),
            [("main", "CrashLoopBackOff; exit code 1")],
        ),
        (
            {
                "status": {
                    "conditions": [
                        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes"}
                    ]
                }
            },
            [("", "Unschedulable: 0/2 nodes")],
        ),
        ({}, []),
    ],
)
def test_a_pods_trouble_names_container_and_reason(pod: Values, expected: list[tuple[str, str]]) -> None:
    assert list(troubles(pod)) == expected


def test_a_log_is_read_only_of_what_has_run() -> None:
    assert has_log("exit code 1")
    assert not has_log("ImagePullBackOff: not found")


def test_the_resources_time_out_beats_the_annotation_and_both_beat_the_default() -> None:
    annotated = {"metadata": {"annotations": {"pulumi.com/timeoutSeconds": "30"}}}
    assert timeout_of(annotated, 5) == 5
    assert timeout_of(annotated, 0) == 30
    assert timeout_of({}, 0) == 600
