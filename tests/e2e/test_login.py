"""A hub with single sign-on: a stack of its own that deploys with OAuth, and a browser that logs in through it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import identity_provider
import own_stack
import pictures
import pytest
import yaml
from identity_provider import Provider
from own_stack import Project, succeeded
from playwright.sync_api import Page, expect
from running_lab import RunningLab

from lab.instance import open_instance

# The provider runs in this process, and authlib's next version is not its concern today.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*module is deprecated")

NAME = "e2e-login"
PORT = 30082
SECRET = "single-sign-on"  # noqa: S105 - the name of a Kubernetes Secret


@dataclass(frozen=True)
class SignOn:
    """The address of a hub whose users come from a provider, and how a preview of its stack ended."""

    url: str
    second_preview: str


@pytest.fixture(scope="module")
def provider(lab: RunningLab) -> Iterator[Provider]:
    """On the address of the lab's real node: the hub's pod reaches it as well as the browser."""
    assert lab.outputs
    address = open_instance(os.environ["GPU_COMMONS_LAB"]).networks.node_address
    with identity_provider.provider(address) as running:
        yield running


@pytest.fixture(scope="module")
def hub(lab: RunningLab, provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignOn]:
    """Deployed as docs/write-a-stack.md says: the Secret first, then the stack. It is gone afterwards."""
    folder = tmp_path_factory.mktemp("login")
    stack = Project(lab, folder, NAME)
    with identity_provider.tls_before(PORT, provider.authority) as url:
        client = provider.register(f"{url}/hub/oauth_callback")
        overlay = yaml.safe_load(Path(lab.environ["GPU_COMMONS_SITE"]).read_text())
        overlay["authenticator"] = {
            "kind": "oauth",
            "client_id": client.id,
            "client_secret": {"secret": SECRET, "key": "client-secret"},
            "callback_url": f"{url}/hub/oauth_callback",
            "authorize_url": f"{provider.url}/oauth2/authorize",
            "token_url": f"{provider.url}/oauth2/token",
            "userdata_url": f"{provider.url}/userinfo",
            "username_claim": "sub",
            "login_service": "Example University",
            "allowed_users": ["grace"],
            "admins": ["ada"],
            "ca_certificates": provider.certificates,
        }
        site = folder / "site.yaml"
        site.write_text(yaml.safe_dump(overlay))
        settings = own_stack.settings(NAME, port=PORT)
        config = settings["config"]
        config["gpu-commons:hubs"][0].update(pre_pull=False, public_url=url)
        del config["gpu-commons:jobs"], config["gpu-commons:courses"]
        variables = {"GPU_COMMONS_SITE": str(site)}
        stack.make()
        stack.write(settings)
        try:
            lab.run("kubectl", "delete", "namespace", NAME, "--ignore-not-found")  # of a run that was killed
            succeeded(lab.run("kubectl", "create", "namespace", NAME))
            literal = f"--from-literal=client-secret={client.secret}"
            succeeded(lab.run("kubectl", "-n", NAME, "create", "secret", "generic", SECRET, literal))
            succeeded(stack.pulumi("stack", "init", "--no-select"))
            up = succeeded(stack.pulumi("up", "--yes", "--skip-preview", "--suppress-progress", **variables))
            assert client.secret not in up
            yield SignOn(f"{url}/", stack.pulumi("preview", "--diff", "--expect-no-changes", **variables).shown)
        finally:
            stack.pulumi("destroy", "--yes", "--skip-preview", "--suppress-progress", **variables)
            succeeded(lab.run("kubectl", "delete", "namespace", NAME, "--ignore-not-found"))


def sign_on(page: Page, hub: str, who: str) -> None:
    page.goto(hub)
    page.get_by_role("button", name="Sign in with Example University").click()
    page.get_by_placeholder("sub").fill(who)
    page.get_by_role("button", name="Authorize").click()


@pytest.fixture
def certificates_are_trusted() -> bool:
    """Provider and hub have certificates of the test's own authority."""
    return True


@pytest.mark.browser
@pytest.mark.parametrize("who", ["grace", "ada"])
def test_a_listed_user_logs_in_at_the_provider_and_chooses_a_profile(
    page: Page, hub: SignOn, artefacts: Path, who: str
) -> None:
    sign_on(page, hub.url, who)
    expect(page.get_by_role("radio", name=re.compile("CPU only"))).to_be_visible()
    expect(page.get_by_text(who)).to_be_visible()
    expect(page.get_by_role("link", name="Admin")).to_have_count(1 if who == "ada" else 0)
    pictures.take(page, artefacts / f"login-{who}.png")


@pytest.mark.browser
def test_a_user_who_is_not_listed_is_kept_out(page: Page, hub: SignOn) -> None:
    sign_on(page, hub.url, "mallory")
    expect(page.get_by_text("403")).to_be_visible()


def test_a_hub_with_single_sign_on_is_quiet_in_the_next_preview(hub: SignOn) -> None:
    assert "unchanged" in hub.second_preview
    assert not re.search(r"to (create|update|replace|delete)", hub.second_preview), hub.second_preview
