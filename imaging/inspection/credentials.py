"""Finds registry credentials: Docker's and Podman's config files, credential helpers. Kept in memory only."""

import base64
import binascii
import json
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from imaging.inspection.faults import InspectError

HELPER_TIMEOUT_S: Final = 10.0
_HUB: Final = "docker.io"
_HUB_KEY: Final = "https://index.docker.io/v1/"
_LONGEST_CONFIG: Final = 4 << 20
_REFRESH_USER: Final = "<token>"  # a helper's mark that the secret is an identity token


@dataclass(frozen=True, slots=True)
class Login:
    """User and password, or a token for other tokens. Never printed: `repr` leaves both out."""

    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)

    @property
    def basic(self) -> str:
        """The value of an `Authorization` header."""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


def config_files(environment: Mapping[str, str]) -> list[Path]:
    """Possible credential files; the first wins."""
    home = Path(environment.get("HOME") or Path.home())
    runtime = environment.get("XDG_RUNTIME_DIR")
    found = [Path(environment["REGISTRY_AUTH_FILE"])] if environment.get("REGISTRY_AUTH_FILE") else []
    found.append(Path(environment.get("DOCKER_CONFIG") or home / ".docker") / "config.json")
    return [*found, *([Path(runtime) / "containers" / "auth.json"] if runtime else [])]


def find_login(
    registry: str, environment: Mapping[str, str], *, helper_timeout_s: float = HELPER_TIMEOUT_S
) -> Login | None:
    """Credentials for this registry and no other; None if there are none. Raises InspectError."""
    for path in config_files(environment):
        if path.is_file():
            login = _in_config(path, registry, environment, helper_timeout_s)
            if login is not None:
                return login
    return None


def _in_config(path: Path, registry: str, environment: Mapping[str, str], timeout_s: float) -> Login | None:
    config = _read(path)
    helpers = config.get("credHelpers")
    store = config.get("credsStore")
    keys = _keys(registry)
    helper = next((helpers[key] for key in keys if key in helpers), None) if isinstance(helpers, dict) else None
    if helper or store:
        login = _from_helper(str(helper or store), keys[0], environment, timeout_s)
        if login is not None:
            return login
    entries = config.get("auths")
    entry = next((entries[key] for key in keys if key in entries), None) if isinstance(entries, dict) else None
    return _from_entry(path, registry, entry) if isinstance(entry, dict) and entry else None


def _keys(registry: str) -> list[str]:
    """Keys that tools use for a registry; the one for helpers comes first."""
    names = [
        registry,
        f"https://{registry}",
        f"https://{registry}/",
        f"https://{registry}/v1/",
        f"https://{registry}/v2/",
    ]
    return [_HUB_KEY, "index.docker.io", "registry-1.docker.io", *names] if registry == _HUB else names


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            config = json.loads(file.read(_LONGEST_CONFIG))
    except OSError as error:
        raise InspectError(str(path), f"cannot be read: {error.strerror}", "let your user read it") from None
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise InspectError(
            str(path), "is not a Docker configuration", "repair the file, or move it and log in again"
        ) from None
    return config


def _from_entry(path: Path, registry: str, entry: dict[str, Any]) -> Login:
    token = str(entry.get("identitytoken") or "")
    if entry.get("username") or not entry.get("auth"):
        return Login(str(entry.get("username") or ""), str(entry.get("password") or ""), token)
    try:
        user, colon, password = base64.b64decode(str(entry["auth"]), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        colon = ""
    if not colon:
        raise InspectError(str(path), f"has credentials for {registry} that cannot be read", f"docker login {registry}")
    return Login(user, password.rstrip("\0"), token)


def _from_helper(name: str, key: str, environment: Mapping[str, str], timeout_s: float) -> Login | None:
    program = f"docker-credential-{name}"
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name):
        raise InspectError(
            "credential helper", "is not the name of a helper", "repair Docker's config.json", value=name
        )
    code, output = _run_helper(program, key, environment, timeout_s)
    if code != 0:
        # The protocol's messages; helpers print them on stdout, and other output may be a secret.
        if b"not found" in output.lower() or b"no credentials" in output.lower():
            return None
        raise InspectError(
            program,
            f"ended with {code} when asked for {key}",
            "try it by hand, or add --anonymous if the image is public",
        )
    try:
        answer = json.loads(output)
        user, secret = str(answer["Username"]), str(answer["Secret"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InspectError(program, "gave an answer that is not a credential", "update the helper") from None
    return Login(identity_token=secret) if user == _REFRESH_USER else Login(user, secret)


def _run_helper(program: str, key: str, environment: Mapping[str, str], timeout_s: float) -> tuple[int, bytes]:
    try:
        # Its own session: helpers start helpers, and all of them end with it.
        process = subprocess.Popen(
            [program, "get"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError as error:
        raise InspectError(
            program,
            f"is named in Docker's config.json and cannot be started: {error.strerror}",
            "install it, or add --anonymous if the image is public",
        ) from None
    try:
        output, _ = process.communicate(key.encode(), timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise InspectError(
            program,
            f"gave no answer within {timeout_s:g} s when asked for {key}",
            "see what it waits for (an agent, a window), or add --anonymous if the image is public",
        ) from None
    finally:
        _end(process)
    return process.returncode, output


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
