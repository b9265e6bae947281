"""Runs inside the built image, without network and without a GPU: is the hub what its spec says, and does it start?

A spawner asks Slurm for nothing before somebody starts a server: the hub shows its page without one.
"""

import pathlib
import tempfile
from collections.abc import Iterator

import verifying

MODULES = (
    "jupyterhub",
    "batchspawner",
    "jupyterhub_idle_culler",
    "oauthenticator.generic",
    "ltiauthenticator.lti13",
)
CONFIG = """
from jupyterhub.proxy import Proxy


class NoProxy(Proxy):
    should_start = False

    async def add_route(self, routespec, target, data):
        pass

    async def delete_route(self, routespec):
        pass

    async def get_all_routes(self):
        return {}


c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.hub_ip = "127.0.0.1"
c.JupyterHub.spawner_class = "batchspawner.SlurmSpawner"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.cookie_secret_file = "cookie"
"""


def problems() -> Iterator[str]:
    """What is not as it should be: a hub with a database of its own shows its login page."""
    yield from verifying.import_problems(*MODULES)
    yield from verifying.extra_problems("jupyterhub-kubespawner", "kubernetes", "jupyterlab", "ipykernel")
    yield from verifying.run_problems(["ssh", "-V"], "")
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "config.py")
        config.write_text(CONFIG)
        command = ["jupyterhub", "--config", str(config)]
        yield from verifying.server_problems(command, {"http://127.0.0.1:8081/hub/login": "<form"})


if __name__ == "__main__":
    verifying.check(problems(), "the hub starts")
