"""The provider's own configuration: typed settings, and whether a change means another cluster. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lab.providers.values import UNKNOWN, Properties, Secret
from lab.providers.vocabulary import Change, Difference, Failure

TEXTS: Final = ("kubeconfig", "context", "cluster", "namespace", "clusterIdentifier")
# The official provider's environment variables.
FLAGS: Final = {
    "enableServerSideApply": "PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY",
    "enablePatchForce": "PULUMI_K8S_ENABLE_PATCH_FORCE",
    "enableConfigMapMutable": "PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE",
    "enableSecretMutable": "PULUMI_K8S_ENABLE_SECRET_MUTABLE",
    "upsertExistingObjects": "PULUMI_K8S_UPSERT_EXISTING_OBJECTS",
    "deleteUnreachable": "PULUMI_K8S_DELETE_UNREACHABLE",
    "skipUpdateUnreachable": "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE",
    "suppressDeprecationWarnings": "PULUMI_K8S_SUPPRESS_DEPRECATION_WARNINGS",
    "suppressHelmHookWarnings": "PULUMI_K8S_SUPPRESS_HELM_HOOK_WARNINGS",
    "suppressHelmReleaseWarnings": "PULUMI_K8S_SUPPRESS_HELM_RELEASE_WARNINGS",
    "alwaysRenderHelm": "",
}
# Known to the official provider; without effect in this stand-in.
OTHERS: Final = ("kubeClientSettings", "helmReleaseSettings", "renderYamlToDirectory", "version", "pluginDownloadURL")


@dataclass(frozen=True, slots=True)
class Settings:
    kubeconfig: str = ""  # a path or the content; empty: $KUBECONFIG, else ~/.kube/config
    context: str = ""
    cluster: str = ""
    namespace: str = ""
    enable_patch_force: bool = False
    config_map_mutable: bool = False
    secret_mutable: bool = False
    upsert_existing_objects: bool = False
    delete_unreachable: bool = False
    skip_update_unreachable: bool = False
    suppress_deprecation_warnings: bool = False


def parse_settings(config: Properties, environment: Mapping[str, str]) -> Settings:
    """The settings of a checked configuration; unset flags come from the environment."""
    text = {key: str(_value(config.get(key)) or "") for key in TEXTS}
    flag = {key: _flag(config.get(key), environment.get(variable, "")) for key, variable in FLAGS.items()}
    return Settings(
        kubeconfig=text["kubeconfig"] or environment.get("KUBECONFIG", ""),
        context=text["context"],
        cluster=text["cluster"],
        namespace=text["namespace"],
        enable_patch_force=flag["enablePatchForce"],
        config_map_mutable=flag["enableConfigMapMutable"],
        secret_mutable=flag["enableSecretMutable"],
        upsert_existing_objects=flag["upsertExistingObjects"],
        delete_unreachable=flag["deleteUnreachable"],
        skip_update_unreachable=flag["skipUpdateUnreachable"],
        suppress_deprecation_warnings=flag["suppressDeprecationWarnings"],
    )


def check_settings(config: Properties) -> list[Failure]:
    """Mistakes in a configuration, all at once."""
    failures = []
    for key, raw in config.items():
        value = _value(raw)
        if key in FLAGS and value not in (True, False, UNKNOWN, None):
            failures.append(Failure(key, f'{key}: "{value}" is neither true nor false'))
        elif key in TEXTS and not isinstance(value, str | dict) and value not in (UNKNOWN, None):
            failures.append(Failure(key, f"{key}: must be a text"))
        elif key not in FLAGS and key not in TEXTS and key not in OTHERS and not key.startswith("__"):
            allowed = ", ".join(sorted([*TEXTS, *FLAGS]))
            failures.append(Failure(key, f"{key}: the provider has no such setting; it has {allowed}"))
    if _value(config.get("enableServerSideApply")) is False:
        reason = "enableServerSideApply: this stand-in knows server-side apply only; leave it out or set true"
        failures.append(Failure("enableServerSideApply", reason))
    if _value(config.get("renderYamlToDirectory")):
        reason = "renderYamlToDirectory: this stand-in applies to a server; it does not render files"
        failures.append(Failure("renderYamlToDirectory", reason))
    return failures


def compare_settings(old: Properties, new: Properties, *, old_server: str, new_server: str) -> Difference:
    """What changed; another cluster means that everything in it is created again.

    A cluster has no identity of its own: it is the same if `clusterIdentifier` says so, else if the address of the
    active cluster (`old_server`, `new_server`) is the same.
    """
    changed = [
        key for key in {**old, **new} if not key.startswith("__") and _value(old.get(key)) != _value(new.get(key))
    ]
    old_name, new_name = (_value(side.get("clusterIdentifier")) for side in (old, new))
    if old_name or new_name:
        moved = old_name != new_name and bool(old_name)
        decisive = {"clusterIdentifier"}
    else:
        moved = old_server != new_server
        decisive = {"kubeconfig", "context", "cluster"}
    return Difference({key: _change(old.get(key), new.get(key), replaces=moved and key in decisive) for key in changed})


def _change(old: Any, new: Any, *, replaces: bool) -> Change:
    if old is None:
        return Change.ADD_REPLACE if replaces else Change.ADD
    if new is None:
        return Change.DELETE_REPLACE if replaces else Change.DELETE
    return Change.UPDATE_REPLACE if replaces else Change.UPDATE


def _value(raw: Any) -> Any:
    """Provider configuration arrives as JSON (true, a quoted text) inside a text, or as the text itself."""
    value = raw.value if isinstance(raw, Secret) else raw
    if isinstance(value, str) and value[:1] in '"tf{' and value[-1:] in '"e}':
        try:
            decoded = json.loads(value)
        except ValueError:
            return value
        return value if isinstance(decoded, dict) else decoded  # a kubeconfig may be JSON: keep its text
    return value


def _flag(raw: Any, from_environment: str) -> bool:
    value = _value(raw)
    return value if isinstance(value, bool) else from_environment.lower() in ("1", "true")
