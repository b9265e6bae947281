"""Reads the API server's address and credentials from a kubeconfig."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lab.providers.vocabulary import PluginError

try:
    from yaml import CSafeLoader as Loader
except ImportError:  # PyYAML without libyaml is slower, but not different
    from yaml import SafeLoader as Loader  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Cluster:
    """One context of a kubeconfig. Secrets are left out of the repr."""

    server: str
    namespace: str
    origin: str  # for messages: the file and the context
    verify: bool = True
    server_name: str | None = None
    ca: bytes = b""  # PEM; empty: the system's
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    token: str = field(default="", repr=False)
    token_file: str = ""
    basic: tuple[str, str] | None = field(default=None, repr=False)
    plugin: tuple[dict[str, Any], str] | None = field(
        default=None, repr=False
    )  # kubeconfig and context of a login program


def load_cluster(text: str, *, context: str = "", cluster: str = "") -> Cluster:
    """The cluster in `text` (a path, several joined by ":", or the content) and its active context name.

    Raises PluginError with the missing part.
    """
    config, origin, folder = _read(text)
    name = context or str(config.get("current-context") or "")
    if not name:
        raise PluginError(f"{origin}: no current-context; name one with the provider's setting context")
    chosen = _named(config, "contexts", "context", name, origin)
    cluster_name = cluster or str(chosen.get("cluster") or "")
    place = _named(config, "clusters", "cluster", cluster_name, origin)
    user = _named(config, "users", "user", str(chosen["user"]), origin) if chosen.get("user") else {}
    if not place.get("server"):
        raise PluginError(f'{origin}: cluster "{cluster_name}" has no server')
    return Cluster(
        server=str(place["server"]).rstrip("/"),
        namespace=str(chosen.get("namespace") or ""),
        origin=f"{origin}, context {name}",
        verify=not place.get("insecure-skip-tls-verify", False),
        server_name=place.get("tls-server-name"),
        ca=_bytes(place, "certificate-authority", folder),
        certificate=_bytes(user, "client-certificate", folder),
        key=_bytes(user, "client-key", folder),
        token=str(user.get("token") or ""),
        token_file=str(folder / user["tokenFile"]) if user.get("tokenFile") else "",
        basic=(str(user["username"]), str(user.get("password", ""))) if user.get("username") else None,
        plugin=(config, name) if user.get("exec") or user.get("auth-provider") else None,
    )


def _read(text: str) -> tuple[dict[str, Any], str, Path]:
    """The parsed kubeconfig, its name for messages, and the folder for its relative paths."""
    if "\n" in text or text.lstrip().startswith("{"):
        return _parse(text, "the kubeconfig given as text"), "the kubeconfig given as text", Path.cwd()
    paths = [Path(each).expanduser() for each in (text or "~/.kube/config").split(":") if each]
    found = [path for path in paths if path.is_file()]
    if not found:
        missing = ", ".join(str(path) for path in paths)
        raise PluginError(f"no kubeconfig: {missing} does not exist; set the provider's kubeconfig or $KUBECONFIG")
    merged: dict[str, Any] = {}
    for path in found:
        for key, value in _parse(path.read_text(), str(path)).items():
            if isinstance(value, list):
                merged[key] = [*merged.get(key, []), *value]
            elif not merged.get(key):
                merged[key] = value
    return merged, str(found[0]), found[0].parent


def _parse(text: str, origin: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text) if text.lstrip().startswith("{") else yaml.load(text, Loader)
    except (ValueError, yaml.YAMLError) as error:
        raise PluginError(f"{origin} is not a kubeconfig: {str(error).splitlines()[0]}") from error
    if not isinstance(parsed, dict):
        raise PluginError(f"{origin} is not a kubeconfig: it must be a mapping with clusters, contexts and users")
    return parsed


def _named(config: dict[str, Any], group: str, key: str, name: str, origin: str) -> dict[str, Any]:
    entries = {str(each.get("name")): each.get(key) or {} for each in config.get(group) or ()}
    if name not in entries:
        raise PluginError(f'{origin}: no {key} "{name}"; it has {", ".join(sorted(entries)) or "none"}')
    found: dict[str, Any] = entries[name]
    return found


def _bytes(entry: dict[str, Any], key: str, folder: Path) -> bytes:
    if entry.get(f"{key}-data"):
        return base64.b64decode(entry[f"{key}-data"])
    if not entry.get(key):
        return b""
    path = folder / str(entry[key])
    try:
        return path.read_bytes()
    except OSError as error:
        raise PluginError(f"{path} ({key} of the kubeconfig) cannot be read: {error.strerror}") from error
