"""The hub's configuration and objects, as texts that a reviewer reads, and the file that runs inside the hub."""

from __future__ import annotations

import base64
import json
import os
import runpy
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
import trustme
import yaml
from rows import each_row

from components.on_kubernetes.notebook_hub import hub_files
from errors.problems import SettingsError
from platforms.kubernetes import home_export, hub_access, hub_availability, hub_core_pods, hub_entry
from platforms.kubernetes import hub as objects
from platforms.kubernetes.hub import parse_hub
from platforms.kubernetes.hub_files.availability import count
from platforms.kubernetes.user_pods import render_availability, render_options, render_page
from workloads.exposure import Gateway, Ingress
from workloads.hub import Hub
from workloads.hub_programs import PACKAGE

GOLDEN = Path(__file__).parents[2] / "golden" / "hub"
DIGEST = "sha256:" + "0" * 64


def image(name: str) -> str:
    return f"registry.example.edu/gpu-commons/{name}@{DIGEST}"


CPU: dict[str, Any] = {
    "name": "cpu",
    "title": "CPU only",
    "image": image("datahub-base-notebook"),
    "image_name": "datahub-base-notebook",
    "cpu": 1,
    "memory_gib": 2,
    "is_default": True,
}
GPU: dict[str, Any] = {
    "name": "rtx2080ti",
    "title": "RTX 2080 Ti",
    "image": image("scipy-ml-notebook"),
    "image_name": "scipy-ml-notebook",
    "pool": "rtx2080ti",
    "gpus": 1,
    "cpu": 4,
    "memory_gib": 16,
    "gpu": "GeForce RTX 2080 Ti",
    "gpu_memory_gb": 11,
    "contents": {
        "title": "SciPy and machine learning notebook",
        "cuda_lines": ["10.1"],
        "frameworks": ["TensorFlow 2.3.4", "PyTorch 1.7.1"],
        "packages": ["NumPy 2.4.6", "SciPy 1.17.1"],
        "stands_on": "jupyter/datascience-notebook",
        "missing": ["nbgitpuller 1.3.0"],
        "missing_reason": "not reachable from here",
    },
}
ARGS: dict[str, Any] = {
    "hub_image": image("hub"),
    "proxy_image": image("proxy"),
    "profiles": [CPU, GPU],
    "expose": {"kind": "node_port", "port": 30080},
    "authenticator": {"kind": "dummy"},
    "cull": {"idle_s": 3600, "max_age_s": 43200, "every_s": 600},
    "core_pool": "gtx1080ti",
}
OAUTH = {
    "kind": "oauth",
    "authorize_url": "https://login.example.edu/authorize",
    "token_url": "https://login.example.edu/token",
    "userdata_url": "https://login.example.edu/me",
    "callback_url": "https://datahub.example.edu/hub/oauth_callback",
    "client_id": "datahub",
    "client_secret": {"secret": "login", "key": "client-secret"},
    "allowed_users": ["ada"],
}
WITH_ADMIN = {"kind": "dummy", "admins": ["root"]}
LTI = {
    "kind": "lti13",
    "authorize_url": "https://lms.example.edu/auth",
    "client_ids": ["10000000001"],
    "issuer": "https://lms.example.edu",
    "jwks_endpoint": "https://lms.example.edu/jwks",
}


OWN_NAME: Final = {"host": "hub.example.edu", "certificate": {"secret": "campus"}}


def hub(**changes: Any) -> Hub:
    return parse_hub("datahub", {**ARGS, **changes})


def options(**changes: Any) -> dict[str, Any]:
    return dict(json.loads(render_options(hub(**changes))))


def profile(**changes: Any) -> dict[str, Any]:
    (only,) = options(profiles=[{**GPU, **changes}])["KubeSpawner"]["profile_list"]
    return dict(only)


def options_page(**changes: Any) -> dict[str, Any]:
    return dict(json.loads(render_page(hub(**changes))))


def same_as_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("GPU_COMMONS_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs: `make golden` rewrites it, for you to read as a diff"


def as_yaml(*manifests: Mapping[str, Any]) -> str:
    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, _data: Any) -> bool:
            return True

    return "---\n".join(yaml.dump(dict(each), Dumper=Plain, sort_keys=False) for each in manifests)


# What a reviewer reads


def test_the_options_of_a_hub_with_a_cpu_and_a_gpu_profile() -> None:
    same_as_golden("options.json", render_options(hub()))


def test_the_page_of_a_hub_with_a_cpu_and_a_gpu_profile() -> None:
    same_as_golden("page.json", render_page(hub(site_name="dsmlp", help_url="https://help.example.edu/gpus")))


def test_the_pods_of_a_hub() -> None:
    same_as_golden(
        "pods.yaml",
        as_yaml(
            hub_core_pods.hub_stateful_set(hub(), config_checksum="<checksum>"),
            hub_core_pods.proxy_deployment(hub()),
            hub_core_pods.credentials_job(hub(), script="<hub_credentials.py>"),
        ),
    )


def test_the_service_that_counts_what_is_free() -> None:
    one = hub()
    same_as_golden(
        "availability.yaml",
        as_yaml(
            hub_availability.cluster_role(one),
            hub_availability.cluster_role_binding(one),
            hub_access.service_account(one, "availability", "availability"),
            hub_availability.network_policy(one),
            hub_availability.service(one),
            hub_availability.deployment(one, program="<availability.py>"),
        ),
    )
    same_as_golden("availability.json", render_availability(one))


def test_who_may_do_what_in_the_namespace() -> None:
    one = hub()
    same_as_golden(
        "access.yaml",
        as_yaml(
            objects.namespace(one),
            hub_access.hub_role(one),
            hub_access.role_binding(one, "hub", "hub"),
            hub_access.credentials_role(one),
            *hub_access.network_policies(one).values(),
        ),
    )


# A Gateway


def test_a_gateway_gets_a_route_to_the_proxy_and_one_from_http_to_https() -> None:
    expose = Gateway(
        kind="gateway", host="hub.example.edu", gateway="campus", gateway_namespace="gateways",
        listener="secure", http_listener="web",
    )  # fmt: skip
    one = hub(expose=expose.model_dump(exclude_none=True))
    found = hub_entry.routes(one, expose)
    parents = {name: each["spec"]["parentRefs"] for name, each in found.items()}
    assert parents == {
        "hub": [{"name": "campus", "namespace": "gateways", "sectionName": "secure"}],
        "hub-redirect": [{"name": "campus", "namespace": "gateways", "sectionName": "web"}],
    }
    assert found["hub"]["spec"]["rules"][0]["backendRefs"] == [{"name": "proxy-public", "port": 80}]
    assert hub_entry.url(one) == "https://hub.example.edu/"
    assert not one.in_clear
    alone = expose.model_copy(update={"listener": None, "http_listener": None, "gateway_namespace": None})
    (only,) = hub_entry.routes(one, alone).values()
    assert only["spec"]["parentRefs"] == [{"name": "campus"}]


# Homes

ON_EXPORT = {"homes": {"nfs": {"server": "nfs.example.edu", "path": "/export/homes", "options": ["hard"]}}}


def test_homes_of_a_class_have_its_access_mode() -> None:
    found = options(storage={"homes": {"storage_class": "campus", "access": "ReadWriteMany", "size_gib": 20}})
    of_claims = {key: value for key, value in found["KubeSpawner"].items() if key.startswith("storage_")}
    assert of_claims == {
        "storage_access_modes": ["ReadWriteMany"],
        "storage_capacity": "20Gi",
        "storage_class": "campus",
        "storage_pvc_ensure": True,
    }


def test_a_home_on_an_export_is_a_folder_that_its_user_makes() -> None:
    spawner = options(storage=ON_EXPORT, profiles=[GPU])["KubeSpawner"]
    assert spawner["storage_pvc_ensure"] is False
    assert spawner["volume_mounts"]["home"]["subPath"] == "{username}"
    assert spawner["volumes"]["home"]["persistentVolumeClaim"] == {"claimName": "homes"}
    ((maker,),) = (each["kubespawner_override"]["init_containers"] for each in spawner["profile_list"])
    assert maker["command"][-1] == "/homes/{username}"
    assert maker["image"] == GPU["image_name"]
    rights = {key: maker["securityContext"][key] for key in ("runAsUser", "runAsGroup", "allowPrivilegeEscalation")}
    assert rights == {"runAsUser": 1000, "runAsGroup": 100, "allowPrivilegeEscalation": False}


def test_an_export_is_a_volume_of_that_hub_alone() -> None:
    one = hub(storage=ON_EXPORT)
    volume, claim = home_export.export_volume(one, one.storage.homes.nfs), home_export.export_claim(one)  # type: ignore[arg-type]  # given
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert volume["spec"]["claimRef"]["namespace"] == claim["metadata"]["namespace"] == one.namespace
    assert volume["spec"]["claimRef"]["name"] == claim["metadata"]["name"]
    assert volume["spec"]["nfs"] == {"server": "nfs.example.edu", "path": "/export/homes"}
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


# Rights


def test_the_hub_reads_no_secrets_and_keeps_homes_of_accounts_that_go() -> None:
    rules = {rule["resources"][0]: set(rule["verbs"]) for rule in hub_access.hub_role(hub())["rules"]}
    assert rules == {
        "events": {"list", "watch"},
        "persistentvolumeclaims": {"create", "delete", "get"},  # delete: of a start that never ran
        "pods": {"create", "delete", "list", "watch"},
    }
    assert options()["KubeSpawner"]["delete_pvc"] is False


def test_the_account_that_counts_lists_nodes_and_pods_and_does_nothing_else() -> None:
    (rule,) = hub_availability.cluster_role(hub())["rules"]
    assert rule == {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}
    (who,) = hub_availability.cluster_role_binding(hub())["subjects"]
    assert who == {"kind": "ServiceAccount", "name": "availability", "namespace": "datahub"}
    pods = [hub_core_pods.hub_stateful_set(hub(), config_checksum=""), hub_core_pods.proxy_deployment(hub())]
    assert "availability" not in [pod["spec"]["template"]["spec"].get("serviceAccountName") for pod in pods]


def test_two_hubs_of_a_cluster_have_counting_rights_of_their_own() -> None:
    names = {hub_availability.cluster_role(hub(namespace=name))["metadata"]["name"] for name in ("one", "two")}
    assert len(names) == 2


def test_a_profile_of_several_pools_is_counted_on_all_of_them() -> None:
    one = hub(profiles=[{**{key: value for key, value in GPU.items() if key != "pool"}, "pools": ["a", "b"]}])
    nodes = [
        {
            "metadata": {"name": pool, "labels": {"gpu-commons.org/pool": pool}},
            "status": {
                "allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "2"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for pool in ("a", "b", "c")
    ]
    assert count(json.loads(render_availability(one))["profiles"], nodes, [])["rtx2080ti"].servers == 4


def test_only_the_hub_may_ask_what_is_free() -> None:
    (ingress,) = hub_availability.network_policy(hub())["spec"]["ingress"]
    (who,) = ingress["from"]
    template = hub_core_pods.hub_stateful_set(hub(), config_checksum="")["spec"]["template"]["metadata"]["labels"]
    assert who["podSelector"]["matchLabels"].items() <= template.items()
    proxy = hub_core_pods.proxy_deployment(hub())["spec"]["template"]["metadata"]["labels"]
    assert not who["podSelector"]["matchLabels"].items() <= proxy.items()
    url = options_page()["availability_url"]
    service = hub_availability.service(hub())
    assert url == f"http://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}/counts"


def test_a_changed_profile_restarts_the_service_that_counts_it_and_a_title_does_not() -> None:
    def fingerprint(**changes: Any) -> str:
        made = hub_availability.deployment(hub(profiles=[{**GPU, **changes}]), program="")
        return str(made["spec"]["template"]["metadata"]["annotations"]["gpu-commons.org/config"])

    assert fingerprint(gpus=2) != fingerprint() == fingerprint(title="Another")


def test_the_step_that_creates_credentials_has_rights_on_one_secret_by_name() -> None:
    (rule,) = hub_access.credentials_role(hub())["rules"]
    assert rule["resources"] == ["secrets"]
    assert rule["resourceNames"] == ["hub-credentials"]
    assert "delete" not in rule["verbs"]


@each_row(
    "pod",
    [
        hub_core_pods.hub_stateful_set(hub(), config_checksum="")["spec"]["template"]["spec"],
        hub_core_pods.proxy_deployment(hub())["spec"]["template"]["spec"],
        hub_core_pods.credentials_job(hub(), script="")["spec"]["template"]["spec"],
        hub_availability.deployment(hub(), program="")["spec"]["template"]["spec"],
    ],
    ids=["hub", "proxy", "credentials", "availability"],
)
def test_core_pods_keep_to_the_core_pool_and_tolerate_its_gpu_taint(pod: dict[str, Any]) -> None:
    assert pod["nodeSelector"] == {"gpu-commons.org/pool": "gtx1080ti"}
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"]["allowPrivilegeEscalation"] is False


def test_a_notebook_reaches_the_hub_and_public_addresses_but_no_private_network() -> None:
    egress = hub_access.network_policies(hub())["singleuser"]["spec"]["egress"]
    assert egress[0]["to"][0]["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "hub"
    blocked = egress[-1]["to"][0]["ipBlock"]["except"]
    assert {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"} <= set(blocked)


@pytest.mark.slow
def test_network_policies_select_the_pods_that_kubespawner_makes() -> None:
    selected = hub_access.network_policies(hub())["singleuser"]["spec"]["podSelector"]["matchLabels"]
    assert selected == {"app.kubernetes.io/component": "singleuser-server", "app.kubernetes.io/name": "jupyterhub"}
    assert options()["KubeSpawner"]["extra_labels"] == {"hub.jupyter.org/network-access-hub": "true"}


# Profiles


def test_a_gpu_profile_asks_for_its_gpus_on_its_pool() -> None:
    override = profile(gpus=2)["kubespawner_override"]
    assert override["extra_resource_limits"] == override["extra_resource_guarantees"] == {"nvidia.com/gpu": "2"}
    assert override["node_selector"] == {"gpu-commons.org/pool": "rtx2080ti"}
    assert override["extra_pod_config"] == {"runtimeClassName": "nvidia"}
    assert "environment" not in override


def test_a_profile_of_several_pools_lands_on_a_node_of_any_of_them() -> None:
    override = profile(pool=None, pools=["rtx2080ti", "gtx1080ti"])["kubespawner_override"]
    term = {"key": "gpu-commons.org/pool", "operator": "In", "values": ["rtx2080ti", "gtx1080ti"]}
    assert override["node_affinity_required"] == [{"matchExpressions": [term]}]
    assert override["node_selector"] == {}
    assert "node_affinity_required" not in profile(pool=None, pools=["rtx2080ti"])["kubespawner_override"]


def test_a_profile_without_gpus_sees_none_and_lands_on_the_core_pool() -> None:
    override = options(profiles=[CPU])["KubeSpawner"]["profile_list"][0]["kubespawner_override"]
    assert override["environment"] == {"NVIDIA_VISIBLE_DEVICES": "void"}
    assert override["node_selector"] == {"gpu-commons.org/pool": "gtx1080ti"}
    assert not {"extra_pod_config", "extra_resource_limits", "extra_resource_guarantees"} & override.keys()


def test_a_gpu_profile_has_shared_memory_for_data_loaders() -> None:
    assert profile()["kubespawner_override"]["volumes"]["shm"]["emptyDir"] == {
        "medium": "Memory",
        "sizeLimit": "4096Mi",
    }
    assert "volumes" not in profile(shm_gib=0)["kubespawner_override"]


def test_people_read_gpus_cores_and_memory_and_no_name_of_a_pool() -> None:
    assert profile()["description"] == "1 GPU, 4 CPU cores, 16 GiB memory"
    assert profile(title="<b>big</b>")["display_name"] == "&lt;b&gt;big&lt;/b&gt;"


def test_numbers_of_a_hosted_component_give_the_same_text() -> None:
    floats = {**GPU, "gpus": 1.0, "cpu": 4.0, "memory_gib": 16.0}
    assert render_options(hub(profiles=[floats])) == render_options(hub(profiles=[GPU]))


# Who gets in


def test_a_list_of_users_is_the_list_of_all_users() -> None:
    assert options()["Authenticator"]["allow_all"] is True
    assert options(authenticator={"kind": "dummy", "allowed_users": ["grace", "ada"]})["Authenticator"] == {
        "admin_users": [],
        "allow_all": False,
        "allowed_users": ["ada", "grace"],
    }


def test_the_secret_of_a_login_service_is_a_reference() -> None:
    one = hub(authenticator=OAUTH)
    pod = hub_core_pods.hub_stateful_set(one, config_checksum="")["spec"]["template"]["spec"]
    variables = pod["containers"][0]["env"]
    assert {
        "name": "OAUTH_CLIENT_SECRET",
        "valueFrom": {"secretKeyRef": {"name": "login", "key": "client-secret"}},
    } in variables
    assert "client_secret" not in json.loads(render_options(one))["GenericOAuthenticator"]
    assert "DUMMY_PASSWORD" not in [variable["name"] for variable in variables]


def test_lti_options_reach_their_authenticator() -> None:
    section = options(authenticator=LTI)["LTI13Authenticator"]
    assert section["client_id"] == ["10000000001"]
    assert section["username_key"] == "email"


# Ways in


@each_row(
    ("expose", "names"),
    [
        ({"kind": "ingress", "ingress_class": "nginx", "certificate": {"cluster_issuer": "letsencrypt"}}, "ingress"),
        ({"kind": "load_balancer", "port": 443, "certificate": {"secret": "campus"}}, "load-balancer"),
        ({"kind": "node_port", "port": 30443, "certificate": {"issuer": "campus"}}, "node-port"),
    ],
)
def test_a_way_in_with_tls_is_these_objects(expose: dict[str, Any], names: str) -> None:
    made = hub(expose={"host": "hub.example.edu", **expose})
    parts = [
        hub_entry.public_service(made),
        hub_entry.ingress(made, made.expose) if isinstance(made.expose, Ingress) else None,
        hub_entry.requested_certificate(made),
        hub_core_pods.proxy_deployment(made),
        hub_access.network_policies(made)["proxy"],
    ]
    same_as_golden(f"entry-{names}.yaml", as_yaml(*filter(None, parts)))


@each_row(
    ("changes", "is_warned"),
    [
        ({"authenticator": LTI}, True),
        ({"authenticator": LTI, "expose": {"kind": "load_balancer"}}, True),
        ({"authenticator": LTI, "public_url": "https://hub.example.edu"}, False),
        ({"authenticator": LTI, "public_url": "http://hub.example.edu"}, True),
        ({"authenticator": LTI, "expose": {"kind": "cluster_ip"}}, False),
        ({"authenticator": LTI, "expose": {"kind": "node_port", "port": 30443, **OWN_NAME}}, False),
        ({}, False),
    ],
)
def test_logins_that_cross_the_network_in_clear_are_a_warning(changes: dict[str, Any], is_warned: bool) -> None:
    assert ("in clear" in hub(**changes).in_clear) is is_warned


@each_row(
    ("expose", "said"),
    [
        ({"certificate": {}}, "names no source"),
        ({"certificate": {"secret": "a", "issuer": "b"}}, "names secret and issuer"),
        ({"host": None, "certificate": {"secret": "a"}}, "is missing beside a certificate"),
        ({"host": "hub.example.edu:443"}, "is not a host name"),
        ({"host": "192.0.2.7"}, "is not a host name"),
        ({"kind": "load_balancer", "port": 80, "certificate": {"secret": "a"}}, "is 80, but with a certificate"),
    ],
)
def test_a_certificate_has_one_source_and_a_host(expose: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        hub(expose={"kind": "node_port", "port": 30443, "host": "hub.example.edu", **expose})


# Addresses


@each_row(
    ("changes", "address", "url"),
    [
        ({}, None, "http://127.0.0.1:30080/"),
        ({"expose": {"kind": "load_balancer"}}, "hub.lb.example.edu", "http://hub.lb.example.edu/"),
        ({"expose": {"kind": "load_balancer", "port": 8080}}, "192.0.2.7", "http://192.0.2.7:8080/"),
        ({"expose": {"kind": "cluster_ip"}}, None, "http://proxy-public.datahub.svc/"),
        ({"public_url": "https://datahub.example.edu"}, None, "https://datahub.example.edu/"),
        ({"expose": {"kind": "ingress", "host": "hub.example.edu"}}, None, "http://hub.example.edu/"),
        ({"expose": {"kind": "ingress", **OWN_NAME}}, None, "https://hub.example.edu/"),
        ({"expose": {"kind": "node_port", "port": 30443, **OWN_NAME}}, None, "https://hub.example.edu:30443/"),
        ({"expose": {"kind": "load_balancer", "port": 443, **OWN_NAME}}, "192.0.2.7", "https://hub.example.edu/"),
    ],
)
def test_the_url_is_where_people_open_the_hub(changes: dict[str, Any], address: str | None, url: str) -> None:
    assert hub_entry.url(hub(**changes), address) == url


# The file that runs inside the hub


class Sections(defaultdict[str, SimpleNamespace]):
    """As much of a traitlets Config as the file uses."""

    def __init__(self) -> None:
        super().__init__(SimpleNamespace)

    def __getattr__(self, name: str) -> SimpleNamespace:
        return self[name]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Runs jupyterhub_config.py on the files of one hub: its globals, with the configuration as `c`."""
    monkeypatch.setenv("DUMMY_PASSWORD", "born in the cluster")
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = tmp_path / PACKAGE
    folder.mkdir()

    def start(**changes: Any) -> dict[str, Any]:
        one = hub(**changes)
        data = objects.config_data(one, files=hub_files(), images=objects.image_table(one.images))
        for name, text in data.items():
            (folder / name).write_text(text)
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            monkeypatch.delitem(sys.modules, name)
        return runpy.run_path(str(folder / objects.CONFIG_FILE), init_globals={"get_config": Sections})

    return start


@pytest.mark.slow
def test_profiles_start_the_image_that_was_pushed(started: Callable[..., dict[str, Any]]) -> None:
    profiles = started()["c"].KubeSpawner.profile_list
    assert [each["kubespawner_override"]["image"] for each in profiles] == [
        image("datahub-base-notebook"),
        image("scipy-ml-notebook"),
    ]


@pytest.mark.slow
def test_only_the_dummy_authenticator_has_the_password(started: Callable[..., dict[str, Any]]) -> None:
    section = started()["c"].SharedPasswordAuthenticator
    assert (section.user_password, section.admin_password) == ("born in the cluster", None)
    assert "SharedPasswordAuthenticator" not in started(authenticator=LTI)["c"]


@pytest.mark.slow  # loads JupyterHub
def test_an_administrator_has_a_password_that_users_do_not_know(
    started: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", "another one")
    section = started(authenticator=WITH_ADMIN)["c"].SharedPasswordAuthenticator
    assert (section.user_password, section.admin_password) == ("born in the cluster", "another one")


def test_the_administrators_password_is_a_secret_of_its_own_where_there_are_administrators() -> None:
    for authenticator, secrets in (
        ({"kind": "dummy"}, ["hub-credentials"]),
        (WITH_ADMIN, ["hub-credentials", "hub-admin"]),
        ({**LTI, "admins": ["root"]}, ["hub-credentials"]),
    ):
        one = hub(authenticator=authenticator)
        (rule,) = hub_access.credentials_role(one)["rules"]
        assert rule["resourceNames"] == secrets
        job = hub_core_pods.credentials_job(one, script="")["spec"]["template"]["spec"]["containers"][0]
        assert job["command"][3:] == ["datahub", *secrets]
        variables = hub_core_pods.hub_stateful_set(one, config_checksum="")["spec"]["template"]["spec"]["containers"][0]
        named = [variable["name"] for variable in variables["env"]]
        assert ("ADMIN_PASSWORD" in named) is ("hub-admin" in secrets)


@pytest.mark.slow
def test_a_hub_trusts_the_authority_that_signed_its_identity_provider_and_no_other_hub_does(
    started: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    assert not hasattr(started(authenticator=OAUTH)["c"].GenericOAuthenticator, "http_request_kwargs")
    pem = trustme.CA().cert_pem.bytes().decode()
    section = started(authenticator={**OAUTH, "ca_certificates": pem})["c"].GenericOAuthenticator
    trusted = Path(section.http_request_kwargs["ca_certs"])
    assert (trusted.parent, trusted.read_text()) == (tmp_path / PACKAGE, pem)


@pytest.mark.slow
def test_servers_belong_to_the_account_that_destroy_removes(
    started: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    claims = {"kubernetes.io": {"serviceaccount": {"name": "hub", "uid": "3b1c"}}}
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    token = tmp_path / "token"
    token.write_text(f"header.{payload}.signature")
    hook = started()["owned_by_the_hub"]
    hook.__globals__["SERVICE_ACCOUNT_TOKEN"] = token
    pod = hook(None, SimpleNamespace(metadata=SimpleNamespace()))
    assert pod.metadata.owner_references == [
        {"apiVersion": "v1", "kind": "ServiceAccount", "name": "hub", "uid": "3b1c"}
    ]
