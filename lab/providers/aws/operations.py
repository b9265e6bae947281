"""Creates, reads, updates and deletes one resource by its declaration: the provider's thin edge."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import jmespath

from lab.providers.aws import checks, reading
from lab.providers.aws.api import AwsError, Services
from lab.providers.aws.declarations import Call, Read, Resource, Scope
from lab.providers.aws.shapes import MisfitError
from lab.providers.aws.templates import formatted
from lab.providers.values import Properties, marked_like, plain
from lab.providers.vocabulary import Created, PartialFailureError, PluginError, ReadBack, Request

PATIENCE_S: Final = 1800.0
GONE: Final = "if it is gone, `pulumi refresh` removes it from the state, and the next update creates it again"


class Operation:
    """One request about one resource."""

    def __init__(self, resource: Resource, services: Services, request: Request, wait: Callable[[float], None]) -> None:
        self._resource = resource
        self._services = services
        self._request = request
        self._wait = wait
        self._region = "" if resource.is_global else str(plain(request.inputs or request.old_inputs).get("region", ""))
        self._inputs: Properties = plain(request.inputs)

    def create(self) -> Created:
        scope = self._scope(identifier="")
        answer = self._call(self._resource.create, scope)
        identifier = self._identifier(answer, scope)
        scope = self._scope(identifier)
        try:
            for call in self._resource.completes:
                if not call.when or any(plain(self._inputs.get(name)) is not None for name in call.when):
                    self._call(call, scope)
            live = self._settled(scope)
        except PluginError as error:  # it exists: the engine must know, or would create it twice
            kept = {**self._request.inputs, "id": identifier}
            raise PartialFailureError(identifier, kept, self._request.inputs, [str(error)]) from error
        return Created(identifier, self._shown(live, identifier, self._request.inputs))

    def read(self) -> ReadBack | None:
        identifier, given = self._request.identifier, self._request.old_inputs
        live = self._look(self._scope(identifier))
        if live is None:
            return None
        live = self._without_default_tags(live, given)
        if given:
            inputs = marked_like(reading.drifted(self._resource, live, plain(given)), given)
            kept = {name: value for name, value in given.items() if name.startswith("__")}
            inputs = {**inputs, **kept}
        else:
            inputs = reading.imported(self._resource, live)
        return ReadBack(identifier, self._shown(live, identifier, inputs), inputs)

    def update(self) -> Properties:
        identifier, old = self._request.identifier, self._request.old_inputs
        scope = self._scope(identifier)
        changed = {_top(path) for path in checks.compare(self._resource, old, self._request.inputs).changes}
        try:
            for call in self._resource.updates:
                if changed.intersection(call.when):
                    answer = self._call(call, scope)
                    scope = replace(scope, state={**scope.state, **answer})  # a later call may need its outcome
                    self._settled(scope)
            self._retag(scope)
        except AwsError as error:
            hint = f"; {GONE}" if error.code in self._resource.gone else ""
            raise AwsError(error.code, f"{error}{hint}") from error
        return self._shown(self._settled(scope), identifier, self._request.inputs)

    def delete(self) -> None:
        scope = self._scope(self._request.identifier)
        if self._look(scope) is None:
            return
        for call in self._resource.delete:
            self._call(call, scope, forgives=self._resource.gone)

    def _scope(self, identifier: str) -> Scope:
        """Values for calls; for an import only the id is known, and its parts."""
        resource = self._resource
        from_id = {}
        if resource.parts and identifier:
            values = identifier.split(resource.separator, len(resource.parts) - 1)
            from_id = dict(zip(resource.parts, values, strict=False))
        old: Properties = plain(self._request.old_inputs)
        new = {**(self._inputs or old)}
        if resource.tagging:
            new["tags"] = {**self._services.settings.default_tags, **(new.get("tags") or {})} or None
        account = self._services.account
        place = {"region": self._region or self._services.settings.region, "account": account}
        return resource.scope(identifier, old, new, {**from_id, **place, **plain(self._request.state)})

    def _identifier(self, answer: Properties, scope: Scope) -> str:
        resource = self._resource
        if resource.parts:
            return resource.separator.join(str(scope.new[part]) for part in resource.parts)
        return str(jmespath.search(resource.identifier, answer))

    def _call(self, call: Call, scope: Scope, forgives: tuple[str, ...] = ()) -> Properties:
        answer: Properties = {}
        for more in call.each(scope):
            try:
                parameters = checks.arguments(self._resource, call, scope, more)
                answer = self._ask(call.service, call.operation, parameters)
            except MisfitError as error:
                raise PluginError(f"{self._subject()}: {error}") from error
            except AwsError as error:
                if error.code not in (*forgives, *call.forgives):
                    raise
        return answer

    def _ask(self, service: str, operation: str, parameters: Properties) -> Properties:
        resource = self._resource
        try:
            return self._services.call(
                service or resource.service, operation, parameters, region=self._region, renames=resource.renames
            )
        except AwsError as error:
            raise AwsError(error.code, f"{self._subject()}: {error}") from error
        except PluginError as error:
            raise type(error)(f"{self._subject()}: {error}") from error

    def _subject(self) -> str:
        named = self._request.identifier or self._inputs.get(self._resource.named or "name") or self._request.name
        return f"{self._resource.noun} {named}"

    def _look(self, scope: Scope) -> Properties | None:
        """What exists, under Pulumi's names; None if nothing does."""
        first, *others = self._resource.reads
        live = self._read(first, scope, forgives=self._resource.gone)
        if live in (None, [], {}):
            return None
        own = scope.values()
        found = {part: own[part] for part in self._resource.parts if part in own}
        found |= live if isinstance(live, Mapping) else {first.into: live}
        for each in others:
            value = self._read(each, scope, more=found)
            if value is not None:
                found[each.into] = value
        return found

    def _read(self, read: Read, scope: Scope, *, forgives: tuple[str, ...] = (), more: Properties | None = None) -> Any:
        call = Call(read.operation, read.arguments, service=read.service)
        try:
            parameters = checks.arguments(self._resource, call, scope, more or {})
            answer = self._ask(read.service, read.operation, parameters)
        except AwsError as error:
            if error.code in forgives:
                return None
            raise
        source = formatted(read.at, {**scope.values(), **(more or {})})
        return jmespath.search(source, answer) if source else answer

    def _settled(self, scope: Scope) -> Properties:
        """What exists once it stops changing by itself. Raises PluginError for a failure."""
        deadline = time.monotonic() + (self._request.timeout_s or PATIENCE_S)
        while True:
            live, wait = self._look(scope), self._resource.wait
            if live is None:
                raise PluginError(f"{self._subject()} is not there any more; {GONE}")
            status = jmespath.search(wait.at, live) if wait else ""
            if not wait or status in wait.settled:
                return self._without_default_tags(live, self._request.inputs)
            if status in wait.failed or time.monotonic() > deadline:
                raise PluginError(f"{self._subject()}: {wait.at} is {status}, not {' or '.join(wait.settled)}")
            self._wait(1)

    def _retag(self, scope: Scope) -> None:
        tagging = self._resource.tagging
        if tagging is None:
            return
        old, new = scope.state.get("tagsAll") or {}, scope.new.get("tags") or {}
        added = {key: value for key, value in new.items() if old.get(key) != value}
        removed = [key for key in old if key not in new]
        for call, change in ((tagging.untag, {"removed": removed}), (tagging.tag, {"added": added})):
            if any(change.values()):
                parameters = checks.arguments(self._resource, call, scope, change)
                self._ask(call.service, call.operation, parameters)

    def _without_default_tags(self, live: Properties, given: Properties) -> Properties:
        """The provider's tags are no input of the resource, unless both have the same."""
        if self._resource.tagging is None:
            return live
        every, own = live.get("tags") or {}, plain(given).get("tags") or {}
        default = self._services.settings.default_tags
        kept = {key: value for key, value in every.items() if key in own or default.get(key) != value}
        return {**live, "tags": kept, "tagsAll": every}

    def _shown(self, live: Properties, identifier: str, given: Properties) -> Properties:
        context = {"id": identifier}
        if not self._resource.is_global:
            context["region"] = self._region or self._services.settings.region
        if self._resource.tagging:
            context["tagsAll"] = live.get("tagsAll", {})
        place = {"account": self._services.account, "region": self._region or self._services.settings.region}
        shown = reading.outputs(self._resource, {**live, **place}, plain(given), context)
        return dict(marked_like(shown, {name: value for name, value in given.items() if not name.startswith("__")}))


def _top(path: str) -> str:
    return path.split(".", maxsplit=1)[0].split("[", maxsplit=1)[0]
