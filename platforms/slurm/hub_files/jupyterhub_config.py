"""Start of a hub on a cluster with Slurm: what it is lies in hub.json, its secrets in /state/credentials.

Read by JupyterHub inside the hub's image, never imported by this project.
"""

import json
import os
import tempfile
from pathlib import Path

c = get_config()  # type: ignore[name-defined]  # noqa: F821 - traitlets puts it there

HERE = Path(__file__).parent
STATE = Path("/state")
CREDENTIALS = STATE / "credentials"
hub = json.loads(HERE.with_name("hub.json").read_text())
cull = hub["cull"]


def secret(name: str) -> str | None:
    """A credential; None where this hub has none of that name."""
    path = CREDENTIALS / name
    return path.read_text().strip() if path.exists() else None


c.JupyterHub.spawner_class = "hub_files.slurm_spawner.CommonsSlurmSpawner"
c.JupyterHub.hub_bind_url = f"http://{hub['inside']}:{hub['hub_port']}"
c.JupyterHub.hub_connect_url = f"http://{hub['inside']}:{hub['hub_port']}"
c.JupyterHub.db_url = f"sqlite:///{STATE}/jupyterhub.sqlite"
c.JupyterHub.upgrade_db = True
# A restart of the hub ends no server, and the proxy, a process of its own, keeps the routes.
c.JupyterHub.cleanup_servers = False
c.JupyterHub.cleanup_proxy = False
# Also how often the routes are compared with the proxy's: a restarted proxy has lost them all.
c.JupyterHub.last_activity_interval = 60
# Show the progress page at once: a job waits in a queue.
c.JupyterHub.tornado_settings = {"slow_spawn_timeout": 0}
c.JupyterHub.cookie_secret = bytes.fromhex(secret("cookie-secret") or "")
c.ConfigurableHTTPProxy.should_start = False
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{hub['proxy_api_port']}"
c.ConfigurableHTTPProxy.auth_token = secret("proxy-token")
c.Spawner.default_url = "/lab"
c.Spawner.poll_interval = 60  # each look is a login and a question to Slurm

culler = [f"--timeout={cull['idle_s']}", f"--cull-every={cull['every_s']}", f"--max-age={cull['max_age_s']}"]
c.JupyterHub.services = [{"name": "idle-culler", "command": ["python3", "-m", "jupyterhub_idle_culler", *culler]}]
c.JupyterHub.load_roles = [
    {
        "name": "idle-culler",
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        "services": ["idle-culler"],
    },
    # The whole list: who was an administrator and is none of these loses it with the next start.
    {"name": "admin", "users": hub["admins"]},
]

for section, options in hub["options"].items():
    for option, value in options.items():
        setattr(c[section], option, value)

if c.JupyterHub.authenticator_class == "shared-password":
    c.SharedPasswordAuthenticator.user_password = secret("login-password")
    # Without it nobody is an administrator: the users' password never makes one.
    c.SharedPasswordAuthenticator.admin_password = secret("admin-password")
if (client_secret := secret("client-secret")) is not None:
    os.environ["OAUTH_CLIENT_SECRET"] = client_secret  # where the OAuth authenticator reads it
if hub.get("login_ca"):
    trusted = Path(tempfile.mkdtemp()) / "login-ca.pem"
    trusted.write_text(hub["login_ca"])
    c.GenericOAuthenticator.http_request_kwargs = {"ca_certs": str(trusted)}
