"""NotebookHub registers a whole hub, keeps its secrets out of Pulumi, and leaves people's data behind."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
import trustme

from components.on_kubernetes.notebook_hub import NotebookHub
from components.on_kubernetes.notebook_hub_args import NotebookHubArgs

DIGEST = "sha256:" + "0" * 64
BASE = f"registry.example.edu/datahub-base-notebook@{DIGEST}"
ML = f"registry.example.edu/scipy-ml-notebook@{DIGEST}"
ARGS: NotebookHubArgs = {
    "hub_image": f"registry.example.edu/hub@{DIGEST}",
    "proxy_image": f"registry.example.edu/proxy@{DIGEST}",
    "profiles": [
        {
            "name": "cpu",
            "title": "CPU only",
            "image": BASE,
            "image_name": "datahub-base-notebook",
            "cpu": 1,
            "memory_gib": 2,
        },
        {
            "name": "gtx1080ti",
            "title": "GTX 1080 Ti",
            "image": ML,
            "image_name": "scipy-ml-notebook",
            "pool": "gtx1080ti",
            "gpus": 1,
            "cpu": 4,
            "memory_gib": 16,
        },
    ],
    "expose": {"kind": "node_port", "port": 30080},
    "authenticator": {"kind": "dummy"},
    "core_pool": "gtx1080ti",
}


def unknown() -> pulumi.Output[str]:
    """An image that a preview does not build."""

    async def resolved(value: Any) -> Any:
        await asyncio.sleep(0)
        return value

    return pulumi.Output(resolved(set()), resolved(pulumi.UNKNOWN), resolved(False))


def run(recorded: Callable[..., Any], args: NotebookHubArgs = ARGS, *, preview: bool = False) -> Any:
    def program() -> dict[str, pulumi.Output[Any]]:
        hub = NotebookHub("datahub", args)
        return {"url": hub.url, "namespace": hub.namespace, "credentials_secret": hub.credentials_secret}

    return recorded(program, preview=preview)


def template(recording: Any, kind: str) -> dict[str, Any]:
    """Of the only one of a kind; of Deployments, of the one with this name."""
    kinds = [each for each in recording.resources if "template" in (each.inputs.get("spec") or {})]
    (only,) = (each for each in kinds if kind in (each.name, each.type.rpartition(":")[2]))
    return dict(only.inputs["spec"]["template"])


@pytest.mark.slow
@pytest.mark.parametrize("preview", [False, True], ids=["update", "preview"])
def test_a_hub_is_these_objects_and_no_other(recorded: Callable[..., Any], *, preview: bool) -> None:
    recording = run(recorded, preview=preview)
    assert sorted((each.type.split(":", 1)[1], each.name) for each in recording.resources) == [
        ("apps/v1:Deployment", "datahub-availability"),
        ("apps/v1:Deployment", "datahub-proxy"),
        ("apps/v1:StatefulSet", "datahub-hub"),
        ("batch/v1:Job", "datahub-credentials"),
        ("core/v1:ConfigMap", "datahub-config"),
        ("core/v1:NamespacePatch", "datahub-namespace"),
        ("core/v1:Service", "datahub-availability"),
        ("core/v1:Service", "datahub-hub"),
        ("core/v1:Service", "datahub-proxy-api"),
        ("core/v1:Service", "datahub-proxy-public"),
        ("core/v1:ServiceAccount", "datahub-availability"),
        ("core/v1:ServiceAccount", "datahub-credentials"),
        ("core/v1:ServiceAccount", "datahub-hub"),
        ("index:NotebookHub", "datahub"),
        ("networking.k8s.io/v1:NetworkPolicy", "datahub-availability"),
        ("networking.k8s.io/v1:NetworkPolicy", "datahub-hub"),
        ("networking.k8s.io/v1:NetworkPolicy", "datahub-hub-credentials"),
        ("networking.k8s.io/v1:NetworkPolicy", "datahub-proxy"),
        ("networking.k8s.io/v1:NetworkPolicy", "datahub-singleuser"),
        ("rbac.authorization.k8s.io/v1:ClusterRole", "datahub-availability"),
        ("rbac.authorization.k8s.io/v1:ClusterRoleBinding", "datahub-availability"),
        ("rbac.authorization.k8s.io/v1:Role", "datahub-credentials"),
        ("rbac.authorization.k8s.io/v1:Role", "datahub-hub"),
        ("rbac.authorization.k8s.io/v1:RoleBinding", "datahub-credentials"),
        ("rbac.authorization.k8s.io/v1:RoleBinding", "datahub-hub"),
    ]
    assert recording.outputs == {
        "url": "http://127.0.0.1:30080/",
        "namespace": "datahub",
        "credentials_secret": "hub-credentials",
    }


def test_objects_reach_the_provider_as_kubernetes_writes_them(recorded: Callable[..., Any]) -> None:
    recording = run(recorded)
    hub = recording.only("StatefulSet").inputs["spec"]
    assert hub["template"]["spec"]["serviceAccountName"] == "hub"
    assert hub["template"]["metadata"]["labels"]["hub.jupyter.org/network-access-proxy-api"] == "true"
    assert hub["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    bindings = {
        each.inputs["metadata"]["name"]: each.inputs["roleRef"]["name"] for each in recording.of_type(":RoleBinding")
    }
    assert bindings == {"hub": "hub", "hub-credentials": "hub-credentials"}
    counting = recording.only(":ClusterRoleBinding").inputs
    assert counting["roleRef"]["name"] == recording.only(":ClusterRole").inputs["metadata"]["name"]
    accounts = recording.of_type("ServiceAccount")
    assert [each.inputs["automountServiceAccountToken"] for each in accounts] == [False, False, False]


@pytest.mark.slow
def test_a_hub_that_does_not_count_needs_no_right_outside_its_namespace(recorded: Callable[..., Any]) -> None:
    recording = run(recorded, {**ARGS, "availability": False})
    assert recording.of_type(":ClusterRole") == recording.of_type(":ClusterRoleBinding") == []
    assert not [each.name for each in recording.resources if "availability" in each.name]
    page = json.loads(recording.only("ConfigMap").inputs["data"]["page.json"])
    assert page["availability_url"] is None


@pytest.mark.slow
def test_namespace_and_database_are_not_pulumis_to_delete(recorded: Callable[..., Any]) -> None:
    recording = run(recorded)
    assert recording.of_type("core/v1:Namespace") == []
    assert recording.of_type("PersistentVolumeClaim") == []
    (claim,) = recording.only("StatefulSet").inputs["spec"]["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == "database"


def test_no_secret_is_registered_and_pods_only_name_one(recorded: Callable[..., Any]) -> None:
    recording = run(recorded)
    assert recording.of_type(":Secret") == []
    for kind, variables in (
        ("datahub-proxy", ["CONFIGPROXY_AUTH_TOKEN"]),
        ("StatefulSet", ["CONFIGPROXY_AUTH_TOKEN", "JPY_COOKIE_SECRET", "DUMMY_PASSWORD"]),
    ):
        environment = template(recording, kind)["spec"]["containers"][0]["env"]
        assert [variable["name"] for variable in environment] == variables
        assert {variable["valueFrom"]["secretKeyRef"]["name"] for variable in environment} == {"hub-credentials"}


@pytest.mark.slow
def test_a_changed_profile_restarts_the_hub_and_nothing_else_does(recorded: Callable[..., Any]) -> None:
    def fingerprint(args: NotebookHubArgs) -> str:
        annotations = template(run(recorded, args), "StatefulSet")["metadata"]["annotations"]
        return str(annotations["gpu-commons.org/config"])

    cpu, gpu = ARGS["profiles"]
    assert fingerprint(ARGS) == fingerprint({**ARGS})
    assert fingerprint({**ARGS, "profiles": [cpu, {**gpu, "memory_gib": 8}]}) != fingerprint(ARGS)
    assert fingerprint({**ARGS, "profiles": [cpu, {**gpu, "image": ML.replace("0", "1")}]}) != fingerprint(ARGS)


@pytest.mark.slow
def test_pods_name_the_image_that_policies_look_up(recorded: Callable[..., Any]) -> None:
    recording = run(recorded)
    named = {
        kind: template(recording, kind)["metadata"]["annotations"]["gpu-commons.org/image"]
        for kind in ("Job", "StatefulSet", "datahub-proxy", "datahub-availability")
    }
    assert named == {"Job": "hub", "StatefulSet": "hub", "datahub-proxy": "proxy", "datahub-availability": "hub"}


@pytest.mark.slow
def test_a_preview_that_builds_still_shows_every_profile(recorded: Callable[..., Any]) -> None:
    def program() -> None:
        cpu, gpu = ARGS["profiles"]
        NotebookHub("datahub", {**ARGS, "hub_image": unknown(), "profiles": [cpu, {**gpu, "image": unknown()}]})

    recording = recorded(program, preview=True)
    data = recording.only("ConfigMap").inputs["data"]
    titles = [each["display_name"] for each in json.loads(data["options.json"])["KubeSpawner"]["profile_list"]]
    assert titles == ["CPU only", "GTX 1080 Ti"]
    assert not isinstance(data.get("images.json"), str)
    assert len(recording.resources) == 25


@pytest.mark.slow
def test_images_reach_the_hub_once_they_are_built(recorded: Callable[..., Any]) -> None:
    def program() -> None:
        cpu, gpu = ARGS["profiles"]
        NotebookHub("datahub", {**ARGS, "profiles": [cpu, {**gpu, "image": pulumi.Output.from_input(ML)}]})

    data = recorded(program).only("ConfigMap").inputs["data"]
    assert json.loads(data["images.json"]) == {"datahub-base-notebook": BASE, "scipy-ml-notebook": ML}


@pytest.mark.slow
def test_the_url_of_a_load_balancer_is_the_address_it_was_given(
    recorded: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expose: NotebookHubArgs = {**ARGS, "expose": {"kind": "load_balancer"}}
    assert run(recorded, expose).outputs["url"] == "http://proxy-public.datahub.svc/"

    given = {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}
    registered = recorded.__globals__["Recording"].new_resource

    def with_address(self: Any, args: Any) -> tuple[str, dict[str, Any]]:
        identity, state = registered(self, args)
        return identity, {**state, "status": given} if args.name == "datahub-proxy-public" else state

    monkeypatch.setattr(recorded.__globals__["Recording"], "new_resource", with_address)
    assert run(recorded, expose).outputs["url"] == "http://192.0.2.7/"


def test_a_wrong_argument_stops_the_program_before_anything_is_registered(recorded: Callable[..., Any]) -> None:
    wrong: NotebookHubArgs = {**ARGS, "start_timeout_s": 0, "expose": {"kind": "node_port", "port": 80}}
    with pytest.raises(pulumi.RunError, match=re.escape("datahub.start_timeout_s: 0 is out of range")) as caught:
        run(recorded, wrong)
    assert "datahub.expose.port: 80 is out of range" in str(caught.value)


@pytest.mark.slow
def test_a_certificate_of_files_becomes_a_secret_that_is_one_in_the_state_too(
    recorded: Callable[..., Any], tmp_path: Path
) -> None:
    leaf = trustme.CA().issue_cert("hub.example.edu")
    leaf.private_key_pem.write_to_path(tmp_path / "hub.key")
    leaf.cert_chain_pems[0].write_to_path(tmp_path / "hub.pem")
    files = {"certificate": str(tmp_path / "hub.pem"), "key": str(tmp_path / "hub.key")}
    expose = {"kind": "ingress", "host": "hub.example.edu", "certificate": {"files": files}}
    recording = run(recorded, {**ARGS, "expose": expose})  # type: ignore[arg-type]
    data = recording.only("Secret").inputs["stringData"]
    assert {*data["value"]} == {"tls.crt", "tls.key"}, "the engine's mark of a secret stands beside its value"
    assert recording.only("Ingress").inputs["spec"]["tls"] == [
        {"hosts": ["hub.example.edu"], "secretName": "hub-tls-files"}
    ]
    assert recording.outputs["url"] == "https://hub.example.edu/"


def test_files_that_do_not_fit_stop_the_program(recorded: Callable[..., Any], tmp_path: Path) -> None:
    files = {"certificate": str(tmp_path / "gone.pem"), "key": str(tmp_path / "gone.key")}
    expose = {"kind": "ingress", "host": "hub.example.edu", "certificate": {"files": files}}
    with pytest.raises(pulumi.RunError, match=r"gone\.pem does not exist"):
        run(recorded, {**ARGS, "expose": expose})  # type: ignore[arg-type]


@pytest.mark.slow
def test_cert_manager_is_asked_for_a_certificate_of_the_host(recorded: Callable[..., Any]) -> None:
    expose = {"kind": "ingress", "host": "hub.example.edu", "certificate": {"cluster_issuer": "letsencrypt"}}
    recording = run(recorded, {**ARGS, "expose": expose})  # type: ignore[arg-type]
    (requested,) = (each for each in recording.resources if each.type == "kubernetes:cert-manager.io/v1:Certificate")
    assert requested.inputs["spec"]["dnsNames"] == ["hub.example.edu"]
    assert requested.inputs["spec"]["secretName"] == "hub-tls"
