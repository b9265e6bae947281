from __future__ import annotations

import os
import signal
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from lab import certificates, control_plane, processes
from lab.cluster import ApiError, Cluster, wait_until
from lab.instance import Instance, LabError
from lab.servers import apiserver, etcd, scheduler
from lab.toolchain import Toolchain


@pytest.fixture
def instance(claimed: Instance) -> Instance:
    """A running control plane: made ready again after a test that broke it."""
    control_plane.start(claimed, Toolchain(), real_node=None)
    return claimed


@pytest.fixture
def cluster(instance: Instance) -> Iterator[Cluster]:
    with Cluster(instance) as cluster:
        yield cluster


def test_pods_prefer_the_real_node_but_may_land_elsewhere(tmp_path: Path) -> None:
    profile = scheduler.configuration(Instance("default", 0, tmp_path, {}))["profiles"][0]
    affinity = profile["pluginConfig"][0]["args"]["addedAffinity"]
    assert list(affinity) == ["preferredDuringSchedulingIgnoredDuringExecution"]
    assert affinity["preferredDuringSchedulingIgnoredDuringExecution"][0]["preference"]["matchExpressions"] == [
        {"key": "gpu-commons.org/lab-node", "operator": "In", "values": ["real"]}
    ]


@pytest.mark.lab
def test_the_api_server_is_of_the_pinned_version_and_all_of_it_is_ready(cluster: Cluster) -> None:
    assert cluster.get("/version")["gitVersion"] == "v1.34.2"  # type: ignore[index] # it is always there
    assert cluster.text("/readyz?verbose").endswith("readyz check passed\n")


@pytest.mark.lab
def test_nothing_listens_beyond_loopback_and_the_node_address(instance: Instance) -> None:
    allowed = {"127.0.0.1", instance.networks.node_address}
    heard = {
        (record.name, connection.laddr.ip)
        for record in processes.records(instance)
        for connection in psutil.Process(record.pid).net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    assert {name for name, _ in heard} == set(control_plane.SERVERS)
    assert {address for _, address in heard} <= allowed


@pytest.mark.lab
def test_pods_find_the_api_server_behind_its_service(instance: Instance, cluster: Cluster) -> None:
    service = cluster.get("/api/v1/namespaces/default/services/kubernetes")
    slices = cluster.items("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices")
    assert service is not None
    assert service["spec"]["clusterIP"] == instance.networks.first_service_address
    assert [(endpoint["addresses"], one["ports"][0]["port"]) for one in slices for endpoint in one["endpoints"]] == [
        ([instance.networks.node_address], instance.ports["apiserver"])
    ]


@pytest.mark.lab
@pytest.mark.parametrize("client", ["kwok", "kube-proxy", "scheduler"])
def test_a_server_may_do_its_own_work_and_no_more(instance: Instance, client: str) -> None:
    with Cluster(instance, client) as cluster:
        assert cluster.nodes() == []
        with pytest.raises(ApiError, match="403 secrets is forbidden"):
            cluster.items("/api/v1/secrets")


@pytest.mark.lab
def test_nobody_speaks_to_the_api_server_or_etcd_without_a_certificate(instance: Instance) -> None:
    trust = ssl.create_default_context(cafile=certificates.authority(instance))
    with httpx.Client(verify=trust, trust_env=False) as stranger:
        assert stranger.get(f"{instance.apiserver_url}/api").status_code == httpx.codes.UNAUTHORIZED
        with pytest.raises(httpx.TransportError, match=r"certificate|reset"):
            stranger.get(f"{etcd.url(instance)}/version")


@pytest.mark.lab
def test_a_pods_token_is_accepted_at_the_service_name_and_has_no_rights_of_its_own(
    instance: Instance, cluster: Cluster
) -> None:
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    wait_until(lambda: set() if cluster.get(account) else {"default"}, within_s=20, what="service account missing")
    token = cluster.create(f"{account}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"})
    trust = ssl.create_default_context(cafile=certificates.authority(instance))
    bearer = {"authorization": f"Bearer {token['status']['token']}"}
    with httpx.Client(base_url=instance.apiserver_url, verify=trust, trust_env=False, headers=bearer) as pod:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        who = pod.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json=review).json()
        secrets = pod.get("/api/v1/namespaces/default/secrets")
    assert who["status"]["userInfo"]["username"] == "system:serviceaccount:default:default"
    assert secrets.status_code == httpx.codes.FORBIDDEN


@pytest.mark.lab
def test_an_admission_policy_refuses_what_it_forbids(cluster: Cluster) -> None:
    group = "/apis/admissionregistration.k8s.io/v1"
    cluster.apply(
        f"{group}/validatingadmissionpolicies/no-privileged",
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "no-privileged"},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["configmaps"],
                        }
                    ]
                },
                "validations": [{"expression": "object.metadata.name != 'refused'", "message": "not this name"}],
            },
        },
    )
    cluster.apply(
        f"{group}/validatingadmissionpolicybindings/no-privileged",
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "no-privileged"},
            "spec": {"policyName": "no-privileged", "validationActions": ["Deny"]},
        },
    )

    def still_allowed() -> set[str]:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "refused"}}
        try:
            cluster.create("/api/v1/namespaces/default/configmaps?dryRun=All", body)
        except ApiError as error:
            return set() if "not this name" in str(error) else {str(error)}
        return {"refused"}

    wait_until(still_allowed, within_s=20, what="the policy does not refuse")


@pytest.mark.lab
def test_a_second_start_restarts_nothing(instance: Instance) -> None:
    before = pids(instance)
    control_plane.start(instance, Toolchain(), real_node=None)
    assert pids(instance) == before


@pytest.mark.lab
def test_a_changed_configuration_restarts_its_server_and_no_other(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pids(instance)
    monkeypatch.setattr(scheduler, "PREFERENCE", 7)
    control_plane.start(instance, Toolchain(), real_node=None)
    after = pids(instance)
    assert {name for name in after if after[name] != before[name]} == {"kube-scheduler"}


@pytest.mark.lab
def test_after_kill_9_of_everything_a_start_finds_the_data_again(instance: Instance) -> None:
    with Cluster(instance) as cluster:
        cluster.apply("/api/v1/namespaces/kept", namespace("kept"))
    for pid in pids(instance).values():
        os.kill(pid, signal.SIGKILL)
    wait_until(
        lambda: {name for name in control_plane.SERVERS if processes.is_running(instance, name)},
        within_s=5,
        what="still alive",
    )
    control_plane.start(instance, Toolchain(), real_node=None)
    with Cluster(instance) as cluster:
        assert cluster.get("/api/v1/namespaces/kept") is not None


@pytest.mark.lab
def test_stop_leaves_no_process(instance: Instance) -> None:
    control_plane.stop(instance)
    assert processes_of(instance) == []
    assert processes.records(instance) == []


@pytest.mark.lab
def test_a_server_that_cannot_start_shows_the_last_lines_of_its_log(instance: Instance) -> None:
    processes.stop(instance, "kube-apiserver")
    server = apiserver.server(instance, Toolchain())
    wrong = replace(server, argv=[*server.argv, "--no-such-flag"])
    with pytest.raises(LabError) as failure:
        processes.start(instance, wrong)
    text = str(failure.value)
    assert text.startswith("kube-apiserver ended; the last lines of ")
    assert "unknown flag: --no-such-flag" in text


@pytest.mark.lab
def test_an_api_server_that_is_down_is_one_clear_error(instance: Instance) -> None:
    processes.stop(instance, "kube-apiserver")
    with Cluster(instance) as cluster, pytest.raises(LabError, match=r"does not answer .*: `make up`"):
        cluster.nodes()


def pids(instance: Instance) -> dict[str, int]:
    return {record.name: record.pid for record in processes.records(instance)}


def processes_of(instance: Instance) -> list[list[str]]:
    """Command lines of all processes that name this instance's folder."""
    lines: list[list[str]] = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [line for line in lines if any(str(instance.home) in word for word in line)]


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
