"""Runs inside the built image, without network and without a GPU: is the hub what its spec says, and does it start?"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from importlib import import_module, metadata

FACTS = json.loads(pathlib.Path("/usr/local/share/gpu-commons/image.json").read_text())
MODULES = ("jupyterhub", "kubespawner", "jupyterhub_idle_culler", "oauthenticator.generic", "ltiauthenticator.lti13")
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
c.JupyterHub.spawner_class = "kubespawner.KubeSpawner"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.cookie_secret_file = "cookie"
"""


def wrong() -> list[str]:
    """What is not as it should be."""
    found = [] if os.getuid() else ["runs as root"]
    for pin in FACTS["packages"]:
        name, _, version = pin.partition("==")
        if metadata.version(name) != version:
            found.append(f"{name} is {metadata.version(name)}, the spec says {version}")
    for module in MODULES:
        import_module(module)
    return found + hub_problems()


def hub_problems() -> list[str]:
    """Start the hub with a database of its own and ask for the login page."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "config.py").write_text(CONFIG)
        log = (path / "log").open("w")
        hub = subprocess.Popen(["jupyterhub", "--config", "config.py"], cwd=folder, stdout=log, stderr=log)
        try:
            return [] if answers("http://127.0.0.1:8081/hub/login") else ["no login page:", (path / "log").read_text()]
        finally:
            hub.terminate()
            hub.wait(30)


def answers(url: str) -> bool:
    """Whether `url` answers 200 within a minute."""
    for _ in range(120):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - our own http:// URL
                return answer.status == 200
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.5)
    return False


if __name__ == "__main__":
    problems = wrong()
    print("\n".join(problems) or f"{FACTS['image']} {FACTS['version']}: as its spec says; the hub starts")
    sys.exit(1 if problems else 0)
