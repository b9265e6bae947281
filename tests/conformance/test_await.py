"""Waiting until an object is ready; what is reported when it is not; what is kept."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from conversation import Conversation, NotReady, landing

if TYPE_CHECKING:
    from conftest import Cluster

Values = dict[str, Any]
NOWHERE = {"conformance.example.com/no-such-node": "true"}


def pod_spec(**more: Any) -> Values:
    return {"containers": [{"name": "main", "image": "nginx:1.27"}], **landing(), **more}


def workload(kind: str, namespace: str, pod: Values, spec: Values | None = None, **annotations: str) -> Values:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"namespace": namespace, "name": "web", "annotations": annotations},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod},
            **(spec or {}),
        },
    }


def job(namespace: str, pod: Values, **spec: Any) -> Values:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": namespace, "name": "job"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", **pod}}, **spec},
    }


def service(namespace: str, **spec: Any) -> Values:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": namespace, "name": "web"},
        "spec": {"ports": [{"port": 80}], **spec},
    }


def test_a_deployment_is_done_when_its_pods_are_available(plugin: Conversation, namespace: str) -> None:
    """Provider docs, "Await logic", Deployment: all replicas of the new version are available."""
    outputs = plugin.resource("apps/v1:Deployment").create(
        workload("Deployment", namespace, pod_spec(), {"replicas": 2}), timeout_s=60
    )
    assert outputs["status"]["availableReplicas"] == 2


def test_a_new_version_of_a_deployment_is_waited_for(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Provider docs, "Await logic", Deployment. Outputs may be older than the wait: the new version is there soon."""
    resource = plugin.resource("apps/v1:Deployment")
    resource.create(workload("Deployment", namespace, pod_spec()), timeout_s=60)
    changed = pod_spec(containers=[{"name": "main", "image": "nginx:1.28"}])
    outputs = resource.update(workload("Deployment", namespace, changed), timeout_s=60)
    assert outputs["metadata"]["generation"] == 2
    deadline = time.monotonic() + 60
    status: Values = {}
    while (status.get("observedGeneration"), status.get("availableReplicas"), status.get("replicas")) != (2, 1, 1):
        assert time.monotonic() < deadline, status
        time.sleep(0.5)
        live = cluster.get("apps/v1", "Deployment", "web", namespace)
        assert live is not None
        status = live["status"]
    assert status["updatedReplicas"] == 1


def test_a_stateful_set_is_done_when_its_pods_are_ready(plugin: Conversation, namespace: str) -> None:
    """Provider docs, "Await logic", StatefulSet."""
    body = workload("StatefulSet", namespace, pod_spec(), {"serviceName": "web", "replicas": 2})
    outputs = plugin.resource("apps/v1:StatefulSet").create(body, timeout_s=60)
    assert outputs["status"]["readyReplicas"] == 2


def test_a_daemon_set_is_done_when_its_pods_are_available(plugin: Conversation, namespace: str) -> None:
    """Provider docs, "Await logic", DaemonSet."""
    body = workload("DaemonSet", namespace, pod_spec())
    status = plugin.resource("apps/v1:DaemonSet").create(body, timeout_s=60)["status"]
    assert status["numberAvailable"] == status["desiredNumberScheduled"] > 0


def test_a_daemon_set_that_matches_no_node_is_done_at_once(plugin: Conversation, namespace: str) -> None:
    """Provider docs, "Await logic", DaemonSet: none wanted, none awaited."""
    body = workload("DaemonSet", namespace, pod_spec(nodeSelector=NOWHERE))
    outputs = plugin.resource("apps/v1:DaemonSet").create(body, timeout_s=20)
    assert outputs["status"]["desiredNumberScheduled"] == 0


def test_a_job_is_done_when_it_is_complete(plugin: Conversation, namespace: str) -> None:
    """Provider docs, "Await logic", Job: the Complete condition."""
    outputs = plugin.resource("batch/v1:Job").create(job(namespace, pod_spec()), timeout_s=60)
    assert outputs["status"]["succeeded"] == 1


def test_a_job_that_fails_is_reported_and_kept(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Provider docs, "Await logic", Job: the Failed condition ends the wait; the object stays in the state."""
    resource = plugin.resource("batch/v1:Job")
    started = time.monotonic()
    with pytest.raises(NotReady, match=r"(?i)fail|deadline"):
        resource.create(job(namespace, pod_spec(nodeSelector=NOWHERE), activeDeadlineSeconds=1), timeout_s=60)
    assert time.monotonic() - started < 30
    assert resource.id == f"{namespace}/job"
    assert cluster.get("batch/v1", "Job", "job", namespace) is not None


def test_a_job_that_failed_can_be_replaced_on_the_next_update(plugin: Conversation, namespace: str) -> None:
    """Provider docs, annotation pulumi.com/replaceUnready: a new Job instead of waiting for the old one."""
    body = job(namespace, pod_spec(nodeSelector=NOWHERE), activeDeadlineSeconds=1)
    patient, impatient = plugin.resource("batch/v1:Job", "patient"), plugin.resource("batch/v1:Job", "impatient")
    with pytest.raises(NotReady):
        patient.create(body, timeout_s=30)
    assert patient.diff(body).replaces == []
    named = {"namespace": namespace, "name": "other", "annotations": {"pulumi.com/replaceUnready": "true"}}
    with pytest.raises(NotReady):
        impatient.create({**body, "metadata": named}, timeout_s=30)
    assert impatient.diff({**body, "metadata": named}).replaces


def test_a_pod_is_done_when_it_is_ready(plugin: Conversation, namespace: str) -> None:
    """Provider docs, "Await logic", Pod."""
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": "pod"},
        "spec": pod_spec(),
    }
    assert plugin.resource("core/v1:Pod").create(body, timeout_s=60)["status"]["phase"] == "Running"


def test_a_pod_that_fits_no_node_is_reported(plugin: Conversation, namespace: str) -> None:
    """Provider docs, "Await logic", Deployment: an error at the time-out, without why no node takes the pod."""
    body = workload("Deployment", namespace, pod_spec(nodeSelector=NOWHERE))
    with pytest.raises(NotReady) as failed:
        plugin.resource("apps/v1:Deployment").create(body, timeout_s=4)
    assert "'web' timed out waiting to be Ready" in str(failed.value)
    assert "[MinimumReplicasUnavailable]" in str(failed.value)


def test_what_is_not_ready_is_kept_and_corrected_by_the_next_update(plugin: Conversation, namespace: str) -> None:
    """Pulumi protocol, ErrorResourceInitFailed: id and properties are kept, the next update goes on from them."""
    resource = plugin.resource("apps/v1:Deployment")
    with pytest.raises(NotReady) as failed:
        resource.create(workload("Deployment", namespace, pod_spec(nodeSelector=NOWHERE)), timeout_s=3)
    assert failed.value.identifier == f"{namespace}/web"
    assert failed.value.properties["metadata"]["uid"]
    outputs = resource.update(workload("Deployment", namespace, pod_spec()), timeout_s=60)
    assert outputs["status"]["availableReplicas"] == 1
    assert outputs["metadata"]["uid"] == failed.value.properties["metadata"]["uid"]


def test_waiting_can_be_skipped(plugin: Conversation, namespace: str) -> None:
    """Provider docs, annotation pulumi.com/skipAwait."""
    started = time.monotonic()
    annotations = {"pulumi.com/skipAwait": "true"}
    body = workload("Deployment", namespace, pod_spec(nodeSelector=NOWHERE), **annotations)
    plugin.resource("apps/v1:Deployment").create(body)
    assert time.monotonic() - started < 5


def test_the_annotation_says_how_long_to_wait(plugin: Conversation, namespace: str) -> None:
    """Provider docs, annotation pulumi.com/timeoutSeconds."""
    started = time.monotonic()
    annotations = {"pulumi.com/timeoutSeconds": "3"}
    with pytest.raises(NotReady):
        plugin.resource("apps/v1:Deployment").create(
            workload("Deployment", namespace, pod_spec(nodeSelector=NOWHERE), **annotations)
        )
    assert 2 < time.monotonic() - started < 20


def test_the_resources_time_out_beats_the_annotation(plugin: Conversation, namespace: str) -> None:
    """Provider docs, `customTimeouts`: they come first, then the annotation, then ten minutes."""
    started = time.monotonic()
    annotations = {"pulumi.com/timeoutSeconds": "300"}
    with pytest.raises(NotReady):
        plugin.resource("apps/v1:Deployment").create(
            workload("Deployment", namespace, pod_spec(nodeSelector=NOWHERE), **annotations), timeout_s=3
        )
    assert time.monotonic() - started < 20


def test_progress_is_shown_while_waiting(plugin: Conversation, namespace: str) -> None:
    """Pulumi protocol, Engine.Log: status lines beside the resource."""
    before = len(plugin.log)
    with pytest.raises(NotReady):
        plugin.resource("apps/v1:Deployment").create(
            workload("Deployment", namespace, pod_spec(nodeSelector=NOWHERE)), timeout_s=4
        )
    assert len(plugin.log) > before


def test_a_service_waits_for_a_pod_that_answers(plugin: Conversation, namespace: str) -> None:
    """Provider docs, "Await logic", Service: endpoints that are ready."""
    waiting = plugin.resource("core/v1:Service").create_later(service(namespace, selector={"app": "web"}))
    time.sleep(2)
    assert not waiting.done()
    plugin.resource("apps/v1:Deployment").create(workload("Deployment", namespace, pod_spec()), timeout_s=60)
    assert waiting.result(timeout=60)["spec"]["clusterIP"]


@pytest.mark.parametrize(
    "spec",
    [{}, {"clusterIP": "None", "selector": {"app": "none"}}, {"type": "ExternalName", "externalName": "a.example.com"}],
    ids=["no-selector", "headless", "external-name"],
)
def test_a_service_without_endpoints_of_its_own_is_done_at_once(
    plugin: Conversation, namespace: str, spec: Values
) -> None:
    """Provider docs, "Await logic", Service: headless, external and selector-less services are not waited for."""
    started = time.monotonic()
    plugin.resource("core/v1:Service").create(service(namespace, **spec), timeout_s=30)
    assert time.monotonic() - started < 10


def test_a_cancelled_wait_ends_at_once_and_keeps_the_object(own_plugin: Conversation, namespace: str) -> None:
    """Pulumi protocol, Cancel: a provider ends what it waits for; what was made is kept in the state."""
    resource = own_plugin.resource("apps/v1:Deployment")
    waiting = resource.create_later(workload("Deployment", namespace, pod_spec(nodeSelector=NOWHERE)))
    time.sleep(2)
    own_plugin.cancel()
    with pytest.raises(NotReady):
        waiting.result(timeout=15)
    assert resource.id == f"{namespace}/web"


def test_a_plugin_that_is_ended_prints_nothing(own_plugin: Conversation) -> None:
    """Pulumi protocol: the engine ends plugins with a signal; no traceback may show."""
    own_plugin.process.terminate()
    own_plugin.process.wait(15)
    assert "Traceback" not in own_plugin.stderr()
