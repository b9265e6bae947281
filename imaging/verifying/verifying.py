"""What the checks of all images share: mounted beside verify.py while it runs inside the built image, part of none."""  # noqa: INP001 - a script, no package

from __future__ import annotations

import http.server
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from typing import Final

FACTS = json.loads(pathlib.Path("/usr/local/share/gpu-commons/image.json").read_text())
START_S = 120.0  # that a server may take to answer
END_S = 60.0  # that it may take to end
_NODE = pathlib.Path("/opt/node/node_modules")


def check(problems: Iterable[str], works: str) -> None:
    """Print what is wrong, or what works, and end with the code of it: called once, at the end of a verify.py."""
    found = list(_all(user_problems(), version_problems(), problems))
    name = "-".join(filter(None, (FACTS["image"], FACTS.get("target"))))
    print("\n".join(found) or f"{name} {FACTS['version']}: as its spec says; {works}")  # noqa: T201 - the answer
    sys.exit(1 if found else 0)


def _all(*checks: Iterable[str]) -> Iterator[str]:
    """Every problem; where a check breaks down itself, what was found before is told as well."""
    for problems in checks:
        try:
            yield from problems
        except Exception:  # noqa: BLE001 - whatever it is, the image does not do what the check counts on
            yield traceback.format_exc()


def skipped(what: str, why: str) -> None:
    """Say that something was not checked."""
    print(f"skipped: {what}, because {why}")  # noqa: T201 - the answer


def user_problems() -> Iterator[str]:
    """Not root, a home and folders to write in, programs that are not; root only where kernel modules are loaded."""
    if "modules" in FACTS:
        return
    if os.getuid() == 0 or os.getgid() == 0:
        yield f"runs as root: user {os.getuid()}, group {os.getgid()}"
    for name, folder in (("home", pathlib.Path.home()), *(("folder", each) for each in FACTS.get("folders", ()))):
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            yield f"cannot write to its {name} {folder}: {error.strerror}"
    for folder in ("/opt/venv", "/opt/conda", "/opt/node", "/usr/local"):
        if pathlib.Path(folder).is_dir() and os.access(folder, os.W_OK):
            # The Jupyter base images give /opt/conda to their user: it is not ours to take it away again.
            if folder == "/opt/conda" and FACTS["layout"] == "jupyter":
                continue
            yield f"can write to {folder}: what a user installs belongs into the home"


def version_problems() -> Iterator[str]:
    """Packages of Python and of Node are installed in the versions of the spec."""
    for pin in FACTS["packages"]:
        name, equals, version = pin.partition("==")
        if not equals:
            name, _, version = pin.rpartition("@")
        found = _installed(name.partition("[")[0]) if equals else _node_installed(name)
        if found != version:
            yield f"{name} is {found or 'not installed'}, the spec says {version}"


def import_problems(*modules: str) -> Iterator[str]:
    """Modules that cannot be imported."""
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:  # noqa: BLE001 - whatever a module raises, it cannot be used
            yield f"{module} cannot be imported: {error!r}"


def extra_problems(*starts: str) -> Iterator[str]:
    """Distributions that must not be there, by the start of their names."""
    names = sorted({str(each.metadata["Name"]).lower().replace("_", "-") for each in metadata.distributions()})
    for name in names:
        if name.startswith(starts):
            yield f"{name} is installed, and this image is to be without"


def run_problems(command: Sequence[str], said: str, *, given: str = "") -> Iterator[str]:
    """A program that ends with an error, or does not say what it should."""
    try:
        ran = subprocess.run(command, input=given, capture_output=True, text=True, timeout=START_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        yield f"{' '.join(command)}: {error}"
        return
    if ran.returncode or said not in ran.stdout:
        yield f"{' '.join(command)} ends with {ran.returncode} and says {ran.stdout!r}: {ran.stderr}"


_HUB: Final = """
from jupyterhub.proxy import Proxy


class NoProxy(Proxy):
    should_start = False

    async def add_route(self, routespec, target, data):
        pass

    async def delete_route(self, routespec):
        pass

    async def get_all_routes(self):
        return {{}}


c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.hub_ip = "127.0.0.1"
c.JupyterHub.spawner_class = "{spawner}"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.cookie_secret_file = "cookie"
"""


def hub_problems(spawner: str) -> Iterator[str]:
    """Start a JupyterHub with that spawner and a database of its own, wait for its login page, and end it.

    A spawner asks for nothing before somebody starts a server, so that its cluster or engine is not needed.
    """
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "config.py")
        config.write_text(_HUB.format(spawner=spawner))
        command = ["jupyterhub", "--config", str(config)]
        yield from server_problems(command, {"http://127.0.0.1:8081/hub/login": "<form"})


def server_problems(
    command: Sequence[str],
    asks: Mapping[str, str],
    *,
    env: Mapping[str, str] = {},
    token: str = "",
    closed: Sequence[str] = (),
) -> Iterator[str]:
    """Start a server, wait for an answer to each URL that has the text beside it, and end it.

    URLs that are `closed` refuse whoever has no token.
    """
    shown = " ".join(command)
    headers = {"Authorization": f"token {token}"} if token else {}
    with tempfile.TemporaryDirectory() as folder, pathlib.Path(folder, "log").open("w+") as log:
        try:
            server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env={**os.environ, **env})
        except OSError as error:
            yield f"{shown}: {error}"
            return
        try:
            for url, text in asks.items():
                status, body = answer(url, headers, within_s=START_S, alive=lambda: server.poll() is None)
                if status != 200 or text not in body:
                    log.seek(0)  # the statement comes last: builders show the end of what is said
                    yield f"{log.read()}\n{shown}: {url} answers {status or 'nothing'}, not 200 with {text!r}: {body}"
                    break
            else:
                for url in closed:
                    if (status := answer(url, {}, within_s=END_S)[0]) not in {401, 403}:
                        yield f"{shown}: {url} answers {status} to whoever has no token"
        finally:
            server.terminate()
            try:
                server.wait(END_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
                log.seek(0)
                yield f"{shown} does not end within {END_S:.0f} s\n{log.read()}"


def answer(
    url: str, headers: Mapping[str, str], *, within_s: float, alive: Callable[[], bool] = lambda: True
) -> tuple[int, str]:
    """HTTP status and text of `url`; 0 where nothing answers in that time, or where who should is gone."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers)), timeout=5) as found:  # noqa: S310 - our own http:// URL
                return found.status, found.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            if error.code != 503:  # a server that is still starting
                return error.code, ""
        except (urllib.error.URLError, OSError):
            pass
        if not alive():
            break
        time.sleep(0.3)
    return 0, ""


@contextmanager
def stand_in(answers: Mapping[str, object], headers: Mapping[str, str] = {}) -> Iterator[int]:
    """A server that answers these paths with JSON, in place of a hub or a gateway; gives its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = answers.get(self.path.partition("?")[0].rstrip("/"))
            body = json.dumps(found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the library's name

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


# --- Jupyter


def single_user_problems() -> Iterator[str]:
    """Start the server as a hub starts it, with a stand-in for the hub, and ask it for its version."""
    version = _installed("jupyterhub")
    hub = {"/hub/api": {"version": version}, "/hub/api/users/verify/activity": {}}
    with stand_in(hub, {"X-JupyterHub-Version": version}) as port:
        env = {
            "JUPYTERHUB_API_TOKEN": "verify",
            "JUPYTERHUB_API_URL": f"http://127.0.0.1:{port}/hub/api",
            "JUPYTERHUB_ACTIVITY_URL": f"http://127.0.0.1:{port}/hub/api/users/verify/activity",
            "JUPYTERHUB_CLIENT_ID": "jupyterhub-user-verify",
            "JUPYTERHUB_USER": "verify",
            "JUPYTERHUB_SERVER_NAME": "",
            "JUPYTERHUB_SERVICE_PREFIX": "/user/verify/",
            "JUPYTERHUB_SERVICE_URL": "http://127.0.0.1:8888/user/verify/",
        }
        yield from server_problems(
            ["jupyterhub-singleuser"], {"http://127.0.0.1:8888/user/verify/api": '"version"'}, env=env
        )


def lab_problems(asks: Mapping[str, str], *, env: Mapping[str, str] = {}) -> Iterator[str]:
    """Start JupyterLab by itself and ask it for these paths, each with a text of its answer."""
    command = ["jupyter", "lab", "--no-browser", "--ip=127.0.0.1", "--port=8889", "--IdentityProvider.token=verify"]
    urls = {f"http://127.0.0.1:8889{path}": text for path, text in asks.items()}
    yield from server_problems(command, urls, env=env, token="verify")  # noqa: S106 - of this server alone


def kernel_problems(program: str = "print(6 * 7)", said: str = "42") -> Iterator[str]:
    """Run one cell in the default kernel, and compare the kernels that are offered with the spec."""
    kernelspec = importlib.import_module("jupyter_client.kernelspec")  # here: images without Jupyter have none
    manager = importlib.import_module("jupyter_client.manager")
    offered = set(kernelspec.KernelSpecManager().find_kernel_specs())
    yield from (f"kernel {name} is missing" for name in sorted({"python3", *FACTS["kernels"]} - offered))
    heard: list[str] = []
    with manager.run_kernel() as client:
        client.execute_interactive(program, timeout=START_S, output_hook=lambda message: heard.append(str(message)))
    if not any(said in text for text in heard):
        yield f"a cell that should say {said} said {heard}"


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _node_installed(name: str) -> str:
    try:
        return str(json.loads((_NODE / name / "package.json").read_text())["version"])
    except OSError:
        return ""
