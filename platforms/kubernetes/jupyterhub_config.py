"""Configures every hub from the files beside this one, with the secrets in the environment.

Read by JupyterHub inside the hub's pod, never imported by this project.
"""

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

c = get_config()  # type: ignore[name-defined]  # noqa: F821 - traitlets puts it there

HERE = Path(__file__).parent
SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")

sys.path.insert(0, str(HERE.parent))  # options.json names classes as hub_files.spawner.CommonsSpawner
from hub_files.configuration import configure, trust  # type: ignore[import-not-found]  # noqa: E402 - found by the path above

page = json.loads((HERE / "page.json").read_text())
# JupyterHub itself reads JPY_COOKIE_SECRET and CONFIGPROXY_AUTH_TOKEN, the OAuth authenticator OAUTH_CLIENT_SECRET.
secrets = {"login-password": os.environ.get("DUMMY_PASSWORD"), "admin-password": os.environ.get("ADMIN_PASSWORD")}
configure(c, json.loads((HERE / "options.json").read_text()), page, secrets)
c.CommonsSpawner.availability_url = page["availability_url"]

images = json.loads((HERE / "images.json").read_text())
for profile in c.KubeSpawner.profile_list:
    override = profile["kubespawner_override"]
    for container in (override, *override.get("init_containers", ())):
        container["image"] = images[container["image"]]

if (trusted := HERE / "login-ca.pem").exists():
    trust(c, trusted)


def owned_by_the_hub(_spawner: Any, pod: Any) -> Any:
    """Servers belong to the hub's service account: when `destroy` removes it, the garbage collector ends them all.

    Otherwise they would hold their GPUs with no hub left to stop them. A restart of the hub does not touch the account.
    """
    claims = SERVICE_ACCOUNT_TOKEN.read_text().split(".")[1]
    account = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["kubernetes.io"]["serviceaccount"]
    owner = {"apiVersion": "v1", "kind": "ServiceAccount", "name": account["name"], "uid": account["uid"]}
    pod.metadata.owner_references = [owner]
    return pod


c.KubeSpawner.modify_pod_hook = owned_by_the_hub
