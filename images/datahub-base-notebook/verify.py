"""Runs inside the built image, without network and without a GPU: is the notebook server what its spec says?"""

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

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import run_kernel

FACTS = json.loads(pathlib.Path("/usr/local/share/gpu-commons/image.json").read_text())
MODULES = ("jupyterlab", "jupyterhub.singleuser", "nbgitpuller", "ipykernel")


def wrong() -> list[str]:
    """What is not as it should be."""
    found = [] if os.getuid() else ["runs as root"]
    for pin in FACTS["packages"]:
        name, _, version = pin.partition("==")
        if metadata.version(name) != version:
            found.append(f"{name} is {metadata.version(name)}, the spec says {version}")
    for module in MODULES:
        import_module(module)
    for program in (["jupyterhub-singleuser", "--version"], ["git", "--version"]):
        subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
    pathlib.Path.home().joinpath(".verify").touch()
    return found + server_problems() + kernel_problems()


def server_problems() -> list[str]:
    """Start JupyterLab and ask for its status."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["jupyter", "lab", "--no-browser", "--ip=127.0.0.1", "--port=8888", "--IdentityProvider.token=verify"]
        with pathlib.Path(folder, "log").open("w") as log:
            server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            url = "http://127.0.0.1:8888/api/status?token=verify"
            return [] if answers(url) else ["JupyterLab does not start:", pathlib.Path(folder, "log").read_text()]
        finally:
            server.terminate()
            server.wait(30)


def kernel_problems() -> list[str]:
    """Run one cell in the default kernel, and compare the kernels that are offered with the spec."""
    offered = set(KernelSpecManager().find_kernel_specs())
    found = [f"kernel {name} is missing" for name in {"python3", *FACTS["kernels"]} - offered]
    with run_kernel() as client:
        said: list[str] = []
        client.execute_interactive("print(6 * 7)", timeout=60, output_hook=lambda m: said.append(str(m["content"])))
    return found if any("42" in text for text in said) else [*found, f"a cell that prints 42 printed {said}"]


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
    print("\n".join(problems) or f"{FACTS['image']} {FACTS['version']}: as its spec says; server and kernel start")
    sys.exit(1 if problems else 0)
