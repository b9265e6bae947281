"""The stand-in for Pulumi's Kubernetes provider: answers the engine.

It follows the behaviour of pulumi-kubernetes 4.34 with server-side apply; `tests/conformance` lists it case by case. It
has no Helm, no Kustomize, no client-side apply and no schema. docs/lab.md explains intended differences, and the suite
says what each of the two does (`tests/conformance/differences.py`).
"""

from __future__ import annotations

import os
import threading
from typing import Any, Final

import yaml

from lab.providers.kubernetes import difference, state, waiting
from lab.providers.kubernetes.api import GLANCE_S, ApiServer, UnreachableError
from lab.providers.kubernetes.configuration import Settings, check_settings, compare_settings, parse_settings
from lab.providers.kubernetes.kinds import CLUSTER_KINDS, ObjectKind
from lab.providers.kubernetes.kubeconfig import load_cluster
from lab.providers.kubernetes.naming import NameNeededError, annotation, with_name
from lab.providers.kubernetes.operations import Operation
from lab.providers.kubernetes.readiness import waited_for
from lab.providers.plugin import Engine
from lab.providers.values import UNKNOWN, Properties, has_unknown, plain, without_nulls
from lab.providers.vocabulary import (
    Change,
    Checked,
    Created,
    Difference,
    Failure,
    PluginError,
    ReadBack,
    Request,
)

REPLACE_UNREADY: Final = "pulumi.com/replaceUnready"
YAML_DECODE: Final = "kubernetes:yaml:decode"


class KubernetesProvider:
    """One configured provider of one engine run."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._settings = Settings()
        self._api: ApiServer | None = None
        self._api_fault = "the provider is not configured"
        self._warned = threading.Event()

    def check_config(self, request: Request) -> Checked:
        return Checked(request.inputs, check_settings(request.inputs))

    def diff_config(self, request: Request) -> Difference:
        old, new = request.old_inputs or request.state, request.inputs
        old_server = _server_of(old)
        new_server = old_server if has_unknown(new) else _server_of(new)  # nothing is replaced on a guess
        return compare_settings(old, new, old_server=old_server, new_server=new_server)

    def configure(self, config: Properties) -> None:
        self._settings = parse_settings(plain(config), os.environ)
        try:
            cluster = load_cluster(
                self._settings.kubeconfig, context=self._settings.context, cluster=self._settings.cluster
            )
            self._api = ApiServer(cluster, self._engine.wait, lambda message: self._engine.info("", message))
        except PluginError as error:
            # Not an error yet: a preview works without a server, and this very program may create the cluster.
            self._api_fault = str(error)

    def check(self, request: Request) -> Checked:
        try:
            kind = ObjectKind.of_token(request.type)
        except ValueError as error:
            return Checked(request.inputs, [Failure("", str(error))])
        inputs = without_nulls({key: value for key, value in request.inputs.items() if not key.startswith("__")})
        failures = _check_kind(kind, inputs)
        inputs = {
            **inputs,
            "apiVersion": inputs.get("apiVersion", kind.api_version),
            "kind": inputs.get("kind", kind.kind),
        }
        if kind.is_patch:
            if _metadata(inputs).get("name") in (None, "") and inputs.get("metadata") is not UNKNOWN:
                reason = "metadata.name: a patch changes an object that exists; name that object"
                failures.append(Failure("metadata", reason))
        else:
            try:
                inputs = with_name(
                    inputs,
                    request.old_inputs,
                    resource_name=request.name,
                    seed=request.seed or os.urandom(16),
                    autonaming=request.autonaming,
                )
            except NameNeededError as error:
                failures.append(Failure("metadata", str(error)))
        failures.extend(_check_annotations(inputs))
        return Checked(inputs if failures else self._with_namespace(kind, inputs), failures)

    def diff(self, request: Request) -> Difference:
        kind = ObjectKind.of_token(request.type)
        old, new = dict(request.old_inputs), request.inputs
        is_import = bool(old.pop(state.IMPORTED_INPUTS_KEY, False))
        found = difference.compare(
            kind,
            old,
            new,
            config_map_mutable=self._settings.config_map_mutable,
            secret_mutable=self._settings.secret_mutable,
        )
        changes = dict(found.changes)
        if is_import:  # what the program omits was filled in by the server
            changes = {path: change for path, change in changes.items() if change is not Change.DELETE}
        may_replace = kind.kind == "Job" and annotation(new, REPLACE_UNREADY) == "true"
        if may_replace and self._api and not self._operation(request).is_ready_now():
            changes["status"] = Change.UPDATE_REPLACE
        undecided = changes and not kind.is_patch and not any(change.replaces for change in changes.values())
        if undecided and self._api and not has_unknown(new):
            causes = self._operation(request).causes_of_dry_run()
            changes = difference.refused_by_server(changes, causes)
        return difference.finished(changes, old, new)

    def create(self, request: Request) -> Created:
        try:
            return self._operation(request).create()
        except UnreachableError as error:
            if not request.is_preview:
                raise
            self._warn_once(error)
            return Created("", state.echoed(request.inputs))

    def update(self, request: Request) -> Properties:
        try:
            return self._operation(request).update()
        except UnreachableError as error:
            if request.is_preview:
                self._warn_once(error)
                return {**request.state, **request.inputs}
            if self._settings.skip_update_unreachable:
                self._engine.warning(request.urn, f"not updated: {error}")
                return request.state
            raise

    def read(self, request: Request) -> ReadBack | None:
        try:
            return self._operation(request).read()
        except ValueError as error:
            raise PluginError(str(error)) from error
        except UnreachableError as error:
            if self._settings.delete_unreachable:
                self._engine.warning(request.urn, f"treated as deleted (deleteUnreachable): {error}")
                return None
            if self._settings.skip_update_unreachable and request.state:
                self._engine.warning(request.urn, f"not read: {error}")
                return ReadBack(request.identifier, request.state, request.old_inputs)
            raise

    def delete(self, request: Request) -> None:
        try:
            self._operation(request).delete()
        except UnreachableError as error:
            if not self._settings.delete_unreachable:
                hint = "or set deleteUnreachable on the provider, if the cluster is gone for good"
                raise PluginError(f"{error}; {hint}") from error
            self._engine.warning(request.urn, f"treated as deleted (deleteUnreachable): {error}")

    def invoke(self, token: str, arguments: Properties) -> Properties:
        if token != YAML_DECODE:
            raise PluginError(f"{token}: this stand-in has no Helm and no Kustomize; it has {YAML_DECODE}")
        text = plain(arguments.get("text", ""))
        try:
            # Manifests contain empty documents and incomplete ones; the official plugin skips both.
            read = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)]
            documents = [each for each in read if each.get("kind") and each.get("apiVersion")]
        except yaml.YAMLError as error:
            raise PluginError(f"{YAML_DECODE}: {error}") from error
        return {"result": documents}

    def _operation(self, request: Request) -> Operation:
        if self._api is None:
            raise UnreachableError(self._api_fault, may_have_arrived=False)
        return Operation(self._api, self._engine, self._settings, request)

    def _with_namespace(self, kind: ObjectKind, inputs: Properties) -> Properties:
        metadata = inputs.get("metadata", {})
        if not isinstance(metadata, dict) or metadata.get("namespace") not in (None, ""):
            return inputs
        is_namespaced = kind.kind not in CLUSTER_KINDS
        if self._api:
            try:
                served = self._api.served(kind.api_version, kind.kind, patience_s=GLANCE_S)
                is_namespaced = served.is_namespaced if served else is_namespaced
            except PluginError as error:
                self._warn_once(error)
        if not is_namespaced:
            return inputs
        from_kubeconfig = self._api.cluster.namespace if self._api else ""
        namespace = self._settings.namespace or from_kubeconfig or "default"
        return {**inputs, "metadata": {**metadata, "namespace": namespace}}

    def _warn_once(self, error: Exception) -> None:
        if not self._warned.is_set():
            self._warned.set()
            self._engine.warning("", f"previewing without a server, from the program alone: {error}")


def _server_of(config: Properties) -> str:
    settings = parse_settings(plain(config), os.environ)
    try:
        return load_cluster(settings.kubeconfig, context=settings.context, cluster=settings.cluster).server
    except PluginError:
        return ""


def _metadata(inputs: Properties) -> dict[str, Any]:
    metadata = inputs.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _check_kind(kind: ObjectKind, inputs: Properties) -> list[Failure]:
    """Whether the kind in the inputs fits the resource's type."""
    failures = []
    if kind.is_list:
        items = kind.kind.removesuffix("List")
        failures.append(Failure("kind", f"{kind.kind} is an answer of the server, not an object: declare each {items}"))
    if kind.api_version.startswith("helm.sh/"):
        failures.append(Failure("", "this stand-in has no Helm: declare the objects, or use the official provider"))
    for key, expected in (("apiVersion", kind.api_version), ("kind", kind.kind)):
        given = plain(inputs.get(key))
        if given not in (None, "", UNKNOWN, expected):
            reason = f'{key}: "{given}" does not fit the type {kind}; leave it out or write "{expected}"'
            failures.append(Failure(key, reason))
    return failures


def _check_annotations(inputs: Properties) -> list[Failure]:
    failures = []
    seconds, expression = (plain(annotation(inputs, name)) for name in (waiting.TIMEOUT, waiting.WAIT_FOR))
    if seconds not in (None, UNKNOWN) and not _is_duration(seconds):
        path = f'metadata.annotations["{waiting.TIMEOUT}"]'
        failures.append(Failure("metadata", f'{path}: "{seconds}" is not a number of seconds above 0, such as "300"'))
    if expression not in (None, UNKNOWN):
        try:
            waited_for({}, str(expression))
        except ValueError as error:
            failures.append(Failure("metadata", f"metadata.annotations: {error}"))
    return failures


def _is_duration(seconds: object) -> bool:
    try:
        return float(str(seconds)) > 0
    except ValueError:
        return False
