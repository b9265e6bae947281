"""Creates, updates, reads, deletes an object at the server: the provider's thin edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from lab.providers.kubernetes import messages, state, waiting
from lab.providers.kubernetes.api import APPLY, GLANCE_S, PATIENCE_S, ApiError, ApiServer, UnreachableError
from lab.providers.kubernetes.configuration import Settings
from lab.providers.kubernetes.kinds import ObjectKind, Served, object_id, split_id
from lab.providers.kubernetes.naming import MANAGER_PREFIX, annotation, field_manager
from lab.providers.kubernetes.readiness import State
from lab.providers.kubernetes.state import INITIAL_VERSION_STATE_KEY
from lab.providers.paths import parse
from lab.providers.plugin import Engine
from lab.providers.values import Properties, has_unknown, plain
from lab.providers.vocabulary import Created, PartialFailureError, PluginError, ReadBack, Request

T = TypeVar("T")

FORCE: Final = "pulumi.com/patchForce"
PROPAGATION: Final = "pulumi.com/deletionPropagationPolicy"
# A CustomResourceDefinition of the same update may be established a moment later.
SERVED_WITHIN_S: Final = 30


class Operation:
    """One request about one object."""

    def __init__(self, api: ApiServer, engine: Engine, settings: Settings, request: Request) -> None:
        self._api = api
        self._engine = engine
        self._settings = settings
        self._request = request
        self._kind = ObjectKind.of_token(request.type)
        self._manager = field_manager(request.urn, request.inputs or request.old_inputs, request.state)
        self._patience_s = GLANCE_S if request.is_preview else PATIENCE_S

    def create(self) -> Created:
        request = self._request
        if request.is_preview:
            return self._preview_create()
        served = self._served()
        body = self._body(served)
        if body["metadata"].get("generateName") and not body["metadata"].get("name"):
            live = self._guard(lambda: self._generate(served, body))
        else:
            self._refuse_existing(served, body)
            try:
                live = self._guard(lambda: self._apply(served, body))
            except UnreachableError as error:
                if not error.may_have_arrived:
                    raise
                # Perhaps it exists. Kept as half created: the next update applies it again and creates no second one.
                reason = f"{self._kind.kind} {_place(body)}: sent, but the answer was lost: {error}"
                raise PartialFailureError(_place(body), self._outputs(body), request.inputs, [reason]) from error
        return Created(_place(live), self._settled(served, live))

    def update(self) -> Properties:
        request = self._request
        if request.is_preview and has_unknown(request.inputs):
            return self._echo()
        served = self._find_served()
        if served is None and request.is_preview:
            return self._echo()
        served = served or self._served()
        body = self._body(served)
        before = self._live(served, body)
        if before is None and state.was_seen(request.state):
            # An apply would create it again; the official plugin leaves that to a refresh.
            raise PluginError(messages.gone(served, body["metadata"]["name"], request.urn))
        body = self._without_ignored(before, body) if before else body
        try:
            live = self._guard(lambda: self._apply(served, body, is_dry=request.is_preview))
        except ApiError as error:
            if request.is_preview or before is None:
                raise
            reason = messages.not_updated(_place(before), str(error), is_conflict=error.status == 409)
            raise PartialFailureError(_place(before), self._outputs(before), request.inputs, [reason]) from error
        if request.is_preview:
            return self._outputs(state.previewed(live, is_new=False))
        return self._settled(served, live)

    def read(self) -> ReadBack | None:
        request = self._request
        namespace, name = split_id(request.identifier)
        served = self._find_served()
        if served is None:
            return None  # its definition is gone, and with it every object
        if served.is_namespaced and not namespace:
            namespace = self._settings.namespace or self._api.cluster.namespace or "default"
        live = self._guard(lambda: self._api.find(served.path(namespace, name)), place=request.identifier)
        if live is None:
            return None
        if not request.old_inputs:
            inputs = state.imported_inputs(live, self._kind)
            return ReadBack(_place(live), self._outputs(live, inputs), inputs)
        inputs = state.with_drift(request.old_inputs, self._desired(served, live), live)
        outputs = self._outputs(live, inputs)
        if not self._kind.is_patch and not waiting.skips_await(request.old_inputs):
            found = waiting.current(self._api, live)
            if found.state is not State.READY:
                head = messages.not_ready(self._kind, _place(live), found.message, timeout_s=None)
                reasons = [head, *waiting.reasons_of(self._api, live)]
                raise PartialFailureError(_place(live), outputs, inputs, reasons)
        return ReadBack(_place(live), outputs, inputs)

    def delete(self) -> None:
        request = self._request
        served = self._find_served()
        namespace, name = split_id(request.identifier)
        if served is None:
            return
        path = served.path(namespace, name)
        live = self._guard(lambda: self._api.find(path), place=request.identifier)
        if live is None:
            return
        if self._kind.is_patch:
            # Applying nothing gives up all fields of this manager; other managers keep theirs.
            self._guard(lambda: self._apply(served, self._identity(namespace, name)), place=request.identifier)
            return
        policy = str(annotation(request.state, PROPAGATION) or "foreground").capitalize()
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy}
        try:
            self._guard(lambda: self._api.request("DELETE", path, body=options), place=request.identifier)
        except ApiError as error:
            if error.status != 404:
                raise
        if not waiting.skips_await(request.state):
            limit_s = waiting.timeout_of(request.state, request.timeout_s)
            try:
                waiting.until_gone(self._target(served), path, str(live["metadata"]["uid"]), timeout_s=limit_s)
            except waiting.NotReadyError as error:
                outputs = self._outputs(error.live)
                raise PartialFailureError(request.identifier, outputs, request.old_inputs, error.reasons) from error

    def causes_of_dry_run(self) -> list[tuple[str, str]]:
        """The server's objections to the new inputs; empty if it has none or is unreachable."""
        self._patience_s = GLANCE_S
        try:
            served = self._find_served()
            if served is None:
                return []
            body = self._body(served)
            self._apply(served, body, is_dry=True, is_forced=True)
        except ApiError as error:
            return error.causes if error.status == 422 else []
        except UnreachableError:
            return []
        return []

    def is_ready_now(self) -> bool:
        """For `pulumi.com/replaceUnready`: whether the live object is ready; a missing one is."""
        self._patience_s = GLANCE_S
        try:
            served = self._find_served()
            live = served and self._api.find(served.path(*split_id(self._request.identifier)), patience_s=GLANCE_S)
        except UnreachableError:
            return True
        return not live or waiting.current(self._api, live).state is State.READY

    def _preview_create(self) -> Created:
        request = self._request
        echo = Created("", state.echoed(request.inputs))
        served = None if has_unknown(request.inputs) else self._find_served()
        if served is None:
            return echo
        body = self._body(served)
        if not body["metadata"].get("name"):
            return echo
        found = self._live(served, body)
        if found is not None and not self._kind.is_patch:
            if not self._may_take(found) and not any(each.startswith(MANAGER_PREFIX) for each in _managers(found)):
                raise PluginError(messages.already_exists(self._kind, _place(body), request.type))
            if not self._settings.upsert_existing_objects:
                # A replacement: the old object blocks a dry run, and will be gone by then.
                return echo
        try:
            live = self._guard(lambda: self._apply(served, body, is_dry=True))
        except ApiError as error:
            if not _comes_with_this_update(error):
                raise
            return echo
        return Created("", self._outputs(state.previewed(live, is_new=found is None)))

    def _settled(self, served: Served, live: Properties) -> Properties:
        """The outputs once the object is ready; else a partial failure that keeps it in the state."""
        inputs = self._request.inputs
        if self._kind.is_patch or waiting.skips_await(inputs):
            return self._outputs(live)
        try:
            limit_s = waiting.timeout_of(inputs, self._request.timeout_s)
            return self._outputs(waiting.until_ready(self._target(served), live, timeout_s=limit_s))
        except waiting.NotReadyError as error:
            raise PartialFailureError(_place(live), self._outputs(error.live), inputs, error.reasons) from error
        except PluginError as error:
            raise PartialFailureError(_place(live), self._outputs(live), inputs, [str(error)]) from error

    def _apply(self, served: Served, body: Properties, *, is_dry: bool = False, is_forced: bool = False) -> Properties:
        wish = str(annotation(body, FORCE)).lower() == "true"
        forced = is_forced or wish or self._settings.enable_patch_force
        query = {"fieldManager": self._manager, "force": str(forced).lower(), "fieldValidation": "Warn"}
        if is_dry:
            query["dryRun"] = "All"
        path = served.path(str(body["metadata"].get("namespace", "")), str(body["metadata"]["name"]))
        answer = self._api.request(
            "PATCH", path, query=query, body=body, content_type=APPLY, patience_s=self._patience_s
        )
        self._tell(answer.warnings)
        return answer.body

    def _generate(self, served: Served, body: Properties) -> Properties:
        path = served.path(str(body["metadata"].get("namespace", "")))
        answer = self._api.request("POST", path, query={"fieldManager": self._manager}, body=body)
        self._tell(answer.warnings)
        return answer.body

    def _refuse_existing(self, served: Served, body: Properties) -> None:
        found = self._live(served, body)
        # A patch takes an existing object and, like server-side apply, creates a missing one.
        if found is not None and not self._kind.is_patch and not self._may_take(found):
            raise PluginError(messages.already_exists(self._kind, _place(body), self._request.type))

    def _may_take(self, found: Properties) -> bool:
        """Our own object of an interrupted run, or the user's wish."""
        return self._settings.upsert_existing_objects or self._manager in _managers(found)

    def _desired(self, served: Served, live: Properties) -> Properties:
        """The old inputs as the server completes them; the live object if it refuses to."""
        namespace, name = live["metadata"].get("namespace", ""), live["metadata"]["name"]
        body = {**_sendable(self._request.old_inputs), **self._identity(namespace, name)}
        body["metadata"] = {**_sendable(self._request.old_inputs).get("metadata", {}), **body["metadata"]}
        try:
            return self._apply(served, body, is_dry=True, is_forced=True)
        except ApiError:
            return live

    def _without_ignored(self, live: Properties, body: Properties) -> Properties:
        for path in self._request.ignore_changes:
            body = state.without_ignored(body, live, parse(path))
        return body

    def _live(self, served: Served, body: Properties) -> Properties | None:
        path = served.path(str(body["metadata"].get("namespace", "")), str(body["metadata"]["name"]))
        return self._guard(lambda: self._api.find(path, patience_s=self._patience_s), place=_place(body))

    def _body(self, served: Served) -> Properties:
        """The request body: the inputs without marks, under the object's present name."""
        body = _sendable(self._request.inputs)
        metadata = {**body.get("metadata", {})}
        if self._request.identifier:
            metadata["name"] = split_id(self._request.identifier)[1]
            metadata.pop("generateName", None)
        if not served.is_namespaced:
            metadata.pop("namespace", None)
        elif not metadata.get("namespace"):
            metadata["namespace"] = self._settings.namespace or self._api.cluster.namespace or "default"
        return {**body, "apiVersion": served.api_version, "kind": served.kind, "metadata": metadata}

    def _identity(self, namespace: str, name: str) -> Properties:
        metadata = {"namespace": namespace, "name": name} if namespace else {"name": name}
        return {"apiVersion": self._kind.api_version, "kind": self._kind.kind, "metadata": metadata}

    def _outputs(self, live: Properties, inputs: Properties | None = None) -> Properties:
        first = self._request.state.get(INITIAL_VERSION_STATE_KEY) or self._kind.api_version
        pattern = (self._request.inputs or self._request.old_inputs) if inputs is None else inputs
        return state.outputs(live, pattern, manager=self._manager, initial_version=first)

    def _echo(self) -> Properties:
        return {**self._request.state, **self._request.inputs}

    def _target(self, served: Served) -> waiting.Target:
        return waiting.Target(self._api, self._engine, self._request.urn, self._kind, served)

    def _find_served(self) -> Served | None:
        return self._api.served(self._kind.api_version, self._kind.kind, patience_s=self._patience_s)

    def _served(self) -> Served:
        for _ in range(SERVED_WITHIN_S):
            served = self._find_served()
            if served:
                return served
            self._engine.status(self._request.urn, f"waiting until the server knows {self._kind}")
            self._engine.wait(1)
        raise PluginError(messages.not_served(self._kind))

    def _tell(self, warnings: tuple[str, ...]) -> None:
        if not self._settings.suppress_deprecation_warnings:
            for warning in warnings:
                self._engine.warning(self._request.urn, warning)

    def _guard(self, call: Callable[[], T], place: str = "") -> T:
        """The call's result; a server error gets the object's name and what to do."""
        try:
            return call()
        except ApiError as error:
            where = place or _place(_sendable(self._request.inputs))
            message = messages.refusal(self._kind, where, status=error.status, message=str(error), causes=error.causes)
            error.args = (messages.without_secrets(message, self._request.inputs or self._request.old_inputs),)
            raise


def _sendable(inputs: Properties) -> Properties:
    return {key: value for key, value in plain(inputs).items() if not key.startswith("__")}


def _place(body: Properties) -> str:
    metadata = body.get("metadata", {})
    return object_id(
        str(metadata.get("namespace") or ""), str(metadata.get("name") or metadata.get("generateName") or "")
    )


def _managers(live: Properties) -> list[str]:
    entries = live["metadata"].get("managedFields") or ()
    return [str(each.get("manager")) for each in entries if each.get("operation") == "Apply"]


def _comes_with_this_update(error: ApiError) -> bool:
    """A dry run's refusal that says nothing about the real run: the same update creates what is missing.

    A missing namespace or service account, or an admission webhook without dry runs.
    """
    text = str(error)
    is_missing = error.status in (403, 404) and "not found" in text
    return is_missing or (error.status == 400 and "dry run" in text.lower())
