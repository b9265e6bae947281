"""Runs inside the built image, without network: is the proxy what its spec says, and does it answer?"""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

FACTS = json.loads(pathlib.Path("/usr/local/share/gpu-commons/image.json").read_text())
MODULES = pathlib.Path("/opt/node/node_modules")
API = "http://127.0.0.1:8001/api/routes"


def wrong() -> list[str]:
    """What is not as it should be."""
    found = [] if os.getuid() else ["runs as root"]
    for pin in FACTS["packages"]:
        name, _, version = pin.rpartition("@")
        installed = json.loads((MODULES / name / "package.json").read_text())["version"]
        if installed != version:
            found.append(f"{name} is {installed}, the spec says {version}")
    return found + proxy_problems()


def proxy_problems() -> list[str]:
    """Start it, and ask its API for the routes, with and without the token."""
    env = {**os.environ, "CONFIGPROXY_AUTH_TOKEN": "verify"}
    command = ["configurable-http-proxy", "--ip", "127.0.0.1", "--api-ip", "127.0.0.1"]
    proxy = subprocess.Popen(command, env=env)
    try:
        if status({"Authorization": "token verify"}) != 200:
            return ["the API does not answer"]
        return [] if status({}) == 403 else ["the API lets everybody in"]
    finally:
        proxy.terminate()
        proxy.wait(30)


def status(headers: dict[str, str]) -> int:
    """HTTP status of the API; 0 if nothing answers within a minute."""
    for _ in range(120):
        try:
            with urllib.request.urlopen(urllib.request.Request(API, headers=headers), timeout=5) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.5)
    return 0


if __name__ == "__main__":
    problems = wrong()
    print("\n".join(problems) or f"{FACTS['image']} {FACTS['version']}: as its spec says; the proxy answers")
    sys.exit(1 if problems else 0)
