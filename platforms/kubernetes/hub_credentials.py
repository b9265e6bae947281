"""Creates the credentials of a hub, once. Runs inside the cluster, as `python3 -c <this file> NAMESPACE NAME [NAME]`.

The second name is that of the administrators' password, a Secret of its own: a hub that gets administrators later
keeps its other credentials. The values are born here and go nowhere but into immutable Secrets: Pulumi never sees
them, and nothing, this step included, can change them later. Standard library only.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import ssl
import sys
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def new_values() -> dict[str, str]:
    """Fresh values. The password is for the dummy authenticator only; with another one it opens nothing."""
    return {
        "cookie-secret": secrets.token_hex(32),
        "dummy-password": secrets.token_urlsafe(18),
        "proxy-token": secrets.token_hex(32),
    }


def admin_values() -> dict[str, str]:
    """The password of administrators. JupyterHub wants 32 characters or more."""
    return {"admin-password": secrets.token_urlsafe(27)}


def ensure(server: str, namespace: str, name: str, values: dict[str, str], account: Path = ACCOUNT) -> str:
    """Makes sure that the Secret is there with every key, and says what was done.

    Raises SystemExit for a Secret that lacks a key, OSError when the API server refuses or cannot be reached: the Job
    then tries again. Killed at any point, the next run finds either no Secret or a complete one.
    """
    url = f"{server}/api/v1/namespaces/{namespace}/secrets/{name}"
    found = _call("GET", url, account)
    if found is None:
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/name": "jupyterhub"}},
            "type": "Opaque",
            "immutable": True,
            "data": {key: base64.b64encode(value.encode()).decode() for key, value in values.items()},
        }
        # Server-side apply names the Secret in the path, so that rights can be bound to that name. Should another run
        # have been faster, the server refuses: the Secret is immutable.
        _call("PATCH", f"{url}?fieldManager={name}", account, secret)
        return f"created Secret {namespace}/{name}"
    missing = [key for key in values if key not in (found.get("data") or {})]
    if missing:
        sys.exit(f"Secret {namespace}/{name} lacks {', '.join(missing)}: delete it, or make it again with all keys")
    return f"Secret {namespace}/{name} is already there: nothing changed"


def _call(method: str, url: str, account: Path, body: dict[str, Any] | None = None) -> dict[str, Any] | None:
    headers = {"Authorization": f"Bearer {(account / 'token').read_text()}", "Accept": "application/json"}
    if body is not None:
        headers["Content-Type"] = "application/apply-patch+yaml"
    request = urllib.request.Request(  # noqa: S310 - the API server's address comes from the kubelet
        url, method=method, headers=headers, data=None if body is None else json.dumps(body).encode()
    )
    authority = ssl.create_default_context(cafile=str(account / "ca.crt")) if url.startswith("https:") else None
    try:
        with urllib.request.urlopen(request, timeout=30, context=authority) as response:  # noqa: S310
            answer: dict[str, Any] = json.load(response)
            return answer
    except urllib.error.HTTPError as error:
        if error.code == HTTPStatus.NOT_FOUND and method == "GET":
            return None
        raise OSError(f"{method} {url}: {error.code} {error.read().decode(errors='replace')[:500]}") from None


if __name__ == "__main__":
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    address = f"[{host}]" if ":" in host else host
    api = f"https://{address}:{os.environ['KUBERNETES_SERVICE_PORT']}"
    try:
        for secret_name, wanted in zip(sys.argv[2:], (new_values(), admin_values()), strict=False):
            print(ensure(api, sys.argv[1], secret_name, wanted))  # noqa: T201
    except OSError as error:
        sys.exit(str(error))
