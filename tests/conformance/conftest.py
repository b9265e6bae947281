"""A real API server, a plugin from the environment, a namespace for each case.

GPU_COMMONS_KUBERNETES_PLUGIN    the plugin's executable; without it the one that the lab of PULUMI_HOME has
GPU_COMMONS_TEST_KUBECONFIG      the cluster, else KUBECONFIG; it needs a node that kwok simulates: no image is pulled,
                                 pods become ready and those of Jobs succeed
GPU_COMMONS_TEST_NODE_SELECTOR   a label of those nodes (kwok.x-k8s.io/node=fake) when there are real ones besides
GPU_COMMONS_PULUMI               the engine, else `pulumi` on PATH
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import config as kubernetes_config
from kubernetes import dynamic
from kubernetes.client import ApiClient
from kubernetes.client.exceptions import ApiException
from pulumi import automation

sys.path.insert(0, str(Path(__file__).parent))  # for conversation.py and others: folders of tests are no packages here
from conversation import Conversation


class Cluster:
    """The API server as somebody else sees it: what is really there, and changes behind the provider's back."""

    def __init__(self, client: dynamic.DynamicClient) -> None:
        self._client = client

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        try:
            return self._kind(api_version, kind).get(name=name, namespace=namespace).to_dict()
        except ApiException as error:
            if error.status == 404:
                return None
            raise

    def list(self, api_version: str, kind: str, namespace: str | None = None) -> list[dict[str, Any]]:
        return self._kind(api_version, kind).get(namespace=namespace).to_dict()["items"]

    def create(self, body: dict[str, Any], namespace: str | None = None) -> dict[str, Any]:
        return self._kind(body["apiVersion"], body["kind"]).create(body=body, namespace=namespace).to_dict()

    def merge(self, body: dict[str, Any], namespace: str | None = None) -> dict[str, Any]:
        """A merge patch by a field manager that is not Pulumi's."""
        kind = self._kind(body["apiVersion"], body["kind"])
        patched = kind.patch(
            body=body,
            name=body["metadata"]["name"],
            namespace=namespace,
            content_type="application/merge-patch+json",
            field_manager="somebody-else",
        )
        return patched.to_dict()

    def delete(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> None:
        try:
            self._kind(api_version, kind).delete(name=name, namespace=namespace)
        except ApiException as error:
            if error.status != 404:
                raise

    def _kind(self, api_version: str, kind: str) -> dynamic.Resource:
        return self._client.resources.get(api_version=api_version, kind=kind)


@pytest.fixture(scope="session")
def kubeconfig() -> Path:
    named = os.environ.get("GPU_COMMONS_TEST_KUBECONFIG") or os.environ.get("KUBECONFIG")
    if not named or not Path(named).is_file():
        pytest.fail(
            "the conformance suite needs a cluster: set GPU_COMMONS_TEST_KUBECONFIG (or KUBECONFIG) to a kubeconfig; "
            f"it is {named or 'not set'}",
            pytrace=False,
        )
    return Path(named)


@pytest.fixture(scope="session")
def cluster(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    client: ApiClient = kubernetes_config.new_client_from_config(str(kubeconfig))
    cache = tmp_path_factory.mktemp("discovery") / "cache.json"
    try:
        found = Cluster(dynamic.DynamicClient(client, cache_file=str(cache)))
        found.get("v1", "Namespace", "default")
    except Exception as error:  # noqa: BLE001 - whatever is wrong with the cluster, the user gets one line
        pytest.fail(f"the cluster of {kubeconfig} does not answer: {str(error).splitlines()[0][:300]}", pytrace=False)
    yield found
    client.close()


@pytest.fixture(scope="session")
def executable() -> Path:
    named = os.environ.get("GPU_COMMONS_KUBERNETES_PLUGIN")
    if named:
        return Path(named)
    installed = Path(os.environ.get("PULUMI_HOME", "")) / "plugins"
    found = sorted(installed.glob("resource-kubernetes-v*/pulumi-resource-kubernetes"))
    if not found:
        pytest.fail(
            "the conformance suite needs Pulumi's plugin for Kubernetes: run `make up`, then "
            '`eval "$(make -s env)"`, or set GPU_COMMONS_KUBERNETES_PLUGIN',
            pytrace=False,
        )
    return found[-1]


Configured = Callable[..., Conversation]
NewWorkspace = Callable[[str, Path], automation.LocalWorkspaceOptions]


@pytest.fixture(scope="session")
def configured(executable: Path, kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configured]:
    """A plugin with that configuration besides the kubeconfig; one process for each configuration."""
    folder = tmp_path_factory.mktemp("home")
    running: dict[str, Conversation] = {}

    def start(**settings: Any) -> Conversation:
        config = {"kubeconfig": kubeconfig.read_text(), **settings}
        key = json.dumps(config, sort_keys=True)
        if key not in running:
            running[key] = Conversation(executable, config, folder)
            running[key].configure()
        return running[key]

    yield start
    for conversation in running.values():
        conversation.close()


@pytest.fixture
def plugin(configured: Configured, cluster: Cluster) -> Conversation:
    del cluster  # first of all the cluster must answer
    return configured()


@pytest.fixture
def own_plugin(executable: Path, kubeconfig: Path, tmp_path: Path) -> Iterator[Conversation]:
    """A plugin that this case may cancel or end."""
    conversation = Conversation(executable, {"kubeconfig": kubeconfig.read_text()}, tmp_path)
    conversation.configure()
    yield conversation
    conversation.close()


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace of the case's own. Its end is not waited for: the name is never used again."""
    name = f"conformance-{secrets.token_hex(4)}"
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    cluster.delete("v1", "Namespace", name)


@pytest.fixture
def unique() -> str:
    """A name for objects without a namespace."""
    return f"conformance-{secrets.token_hex(4)}"


@pytest.fixture
def new_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NewWorkspace:
    """A project of the real engine with a backend and a home of its own, and on its PATH the plugin of that name."""
    cli = os.environ.get("GPU_COMMONS_PULUMI") or shutil.which("pulumi")
    if not cli:
        pytest.fail("pulumi is not on PATH: run `make up`, or set GPU_COMMONS_PULUMI", pytrace=False)

    def make(provider: str, executable: Path) -> automation.LocalWorkspaceOptions:
        tools = tmp_path / "tools"
        tools.mkdir()
        (tools / "pulumi").symlink_to(cli)
        # On PATH it wins over every installed version, whatever its own version is.
        (tools / f"pulumi-resource-{provider}").symlink_to(executable)
        (tmp_path / "state").mkdir()
        for key, value in {
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PULUMI_HOME": str(tmp_path / "home"),
            "PULUMI_CONFIG_PASSPHRASE": "",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_AUTOMATION_API_SKIP_VERSION_CHECK": "true",
        }.items():
            monkeypatch.setenv(key, value)
        # In the shell of a lab these name its cluster, its state and its policies: none is this project's business.
        for key in ("KUBECONFIG", "PULUMI_BACKEND_URL", "PULUMI_OPTION_POLICY_PACK"):
            monkeypatch.delenv(key, raising=False)
        project = automation.ProjectSettings(
            name="conformance", runtime="python", backend=automation.ProjectBackend(f"file://{tmp_path}/state")
        )
        return automation.LocalWorkspaceOptions(work_dir=str(tmp_path), project_settings=project)

    return make


@pytest.fixture
def workspace(executable: Path, new_workspace: NewWorkspace) -> automation.LocalWorkspaceOptions:
    """One with the plugin of Kubernetes."""
    return new_workspace("kubernetes", executable)
