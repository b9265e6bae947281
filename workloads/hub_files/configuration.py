"""The part of a hub's configuration that is the same everywhere: options, pages, login. Platform files call it.

Runs inside the hub only: jupyterhub 5.5.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .pages import HANDLERS, page_variables

HERE = Path(__file__).parent


def configure(
    c: Any, options: Mapping[str, Mapping[str, Any]], page: Mapping[str, Any], secrets: Mapping[str, str | None]
) -> None:
    """`options`: values by section; `page`: that of `workloads.hub_page`; `secrets`: those of the login."""
    for section, values in options.items():
        for option, value in values.items():
            setattr(c[section], option, value)
    c.JupyterHub.template_paths = [str(HERE)]
    c.JupyterHub.template_vars = {"gpu_commons": page_variables(page)}
    # JupyterHub would rather have a service; one would need every user's right to end servers, and a login of its own.
    c.JupyterHub.extra_handlers = HANDLERS
    if c.JupyterHub.authenticator_class == "shared-password":
        c.SharedPasswordAuthenticator.user_password = secrets["login-password"]
        # Without it nobody is an administrator: the users' password never makes one.
        c.SharedPasswordAuthenticator.admin_password = secrets.get("admin-password")


def configure_from_files(c: Any, credentials: Path) -> None:
    """A hub described by hub.json, with its secrets in files of a folder."""
    hub = json.loads(HERE.with_name("hub.json").read_text())
    secrets = {file.name: file.read_text().strip() for file in credentials.iterdir() if file.is_file()}
    configure(c, hub["options"], hub["page"], secrets)
    c.JupyterHub.cookie_secret = bytes.fromhex(secrets["cookie-secret"])
    c.ConfigurableHTTPProxy.auth_token = secrets["proxy-token"]
    if "client-secret" in secrets:
        os.environ["OAUTH_CLIENT_SECRET"] = secrets["client-secret"]  # where the OAuth authenticator reads it
    if hub["login_ca"]:
        trusted = Path(tempfile.mkdtemp()) / "login-ca.pem"
        trusted.write_text(hub["login_ca"])
        trust(c, trusted)


def trust(c: Any, authority: Path) -> None:
    """Whose certificates an OAuth login believes."""
    c.GenericOAuthenticator.http_request_kwargs = {"ca_certs": str(authority)}
