"""Every kind of login of a stack file, deployed one after the other in one stack: the hub starts and its login answers.

OAuth, with a provider and a browser, is test_login.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import own_stack
import pytest
import yaml
from own_stack import Project, succeeded
from pydantic import TypeAdapter
from running_lab import STACK_FILE, RunningLab, wait_for

from workloads.authenticator import Authenticator

NAME = "e2e-kinds"
PORT = 30083
URL = f"http://127.0.0.1:{PORT}"


def shipped() -> dict[str, Any]:
    """The login that the shipped stack has, which the lab replaces: LTI of a learning platform."""
    return dict(yaml.safe_load(STACK_FILE.read_text())["config"]["gpu-commons:site"]["authenticator"])


LOGINS: dict[str, dict[str, Any]] = {"lti13": shipped(), "dummy": {"kind": "dummy"}}


@pytest.fixture(scope="module")
def deployed(lab: RunningLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], httpx.Client]]:
    """Deploys the stack with a login of that kind; it is gone afterwards."""
    assert lab.outputs
    folder = tmp_path_factory.mktemp("kinds")
    stack = Project(lab, folder, NAME)
    site = folder / "site.yaml"
    variables = {"GPU_COMMONS_SITE": str(site)}

    def deploy(kind: str) -> httpx.Client:
        overlay = yaml.safe_load(Path(lab.environ["GPU_COMMONS_SITE"]).read_text())
        site.write_text(yaml.safe_dump({**overlay, "authenticator": LOGINS[kind]}))
        succeeded(stack.pulumi("up", "--yes", "--skip-preview", "--suppress-progress", **variables))
        client = clients.enter_context(httpx.Client(base_url=URL, timeout=30))
        wait_for(lambda: _answers(client), what=f"the hub with login {kind} answers", within_s=120)
        return client

    settings = own_stack.settings(NAME, port=PORT)
    config = settings["config"]
    config["gpu-commons:hubs"][0].update(pre_pull=False)
    del config["gpu-commons:jobs"], config["gpu-commons:courses"]
    stack.make()
    stack.write(settings)
    with _without_namespace(lab), ExitStack() as clients:
        try:
            succeeded(stack.pulumi("stack", "init", "--no-select"))
            yield deploy
        finally:
            stack.pulumi("destroy", "--yes", "--skip-preview", "--suppress-progress", **variables)


@contextmanager
def _without_namespace(lab: RunningLab) -> Iterator[None]:
    """Before, of a run that was killed, and afterwards, because it outlives a stack."""
    gone = ("kubectl", "delete", "namespace", NAME, "--ignore-not-found")
    succeeded(lab.run(*gone))
    try:
        yield
    finally:
        succeeded(lab.run(*gone))


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/hub/health").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def test_every_kind_of_login_is_deployed_by_some_test() -> None:
    assert {*LOGINS, "oauth"} == set(TypeAdapter(Authenticator).json_schema()["discriminator"]["mapping"])
    assert LOGINS["lti13"]["kind"] == "lti13"


def test_the_shipped_login_by_lti_sends_a_launch_to_the_platform(deployed: Callable[[str], httpx.Client]) -> None:
    hub, login = deployed("lti13"), shipped()
    configuration = hub.get("/hub/lti13/config").json()
    assert configuration["target_link_uri"].startswith(URL)
    launch = {
        "iss": login["issuer"],
        "client_id": login["client_ids"][0],
        "login_hint": "somebody",
        "target_link_uri": configuration["target_link_uri"],
    }
    answer = hub.post("/hub/lti13/oauth_login", data=launch)
    assert answer.status_code == httpx.codes.FOUND, answer.text
    assert answer.headers["location"].startswith(login["authorize_url"])
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    assert (query["client_id"], query["login_hint"]) == ([login["client_ids"][0]], ["somebody"])
    state = query["state"][0]
    forged = hub.post("/hub/lti13/oauth_callback", data={"id_token": "e30.e30.e30", "state": state})
    assert forged.is_client_error, forged.status_code
    assert "jupyterhub-hub-login" not in hub.cookies


def test_a_login_with_a_password_asks_for_name_and_password(deployed: Callable[[str], httpx.Client]) -> None:
    page = deployed("dummy").get("/hub/login")
    assert page.status_code == httpx.codes.OK
    for name in ("username", "password"):
        assert f'name="{name}"' in page.text
