"""The stand-in for Pulumi's AWS provider: answers the engine from declarations.

It follows pulumi-aws 7.51: names of properties and outputs, which change needs a new resource, how ids are formed. It
has the resources in `resources/index.py`, only talks to an emulator on this machine, and has no schema.
"""

from __future__ import annotations

import difflib
import os
from typing import Final

from lab.providers.aws import checks, functions
from lab.providers.aws.api import Services
from lab.providers.aws.configuration import (
    Settings,
    check_settings,
    compare_settings,
    missing,
    parse_settings,
)
from lab.providers.aws.declarations import Resource
from lab.providers.aws.operations import Operation
from lab.providers.aws.resources.index import RESOURCES
from lab.providers.plugin import Engine
from lab.providers.values import UNKNOWN, Properties, plain
from lab.providers.vocabulary import Change, Checked, Created, Difference, Failure, PluginError, ReadBack, Request

NOT_CONFIGURED: Final = "the AWS provider is not configured"


class AwsProvider:
    """One configured provider of one engine run."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._services: Services | None = None

    def check_config(self, request: Request) -> Checked:
        return Checked(request.inputs, check_settings(request.inputs))

    def diff_config(self, request: Request) -> Difference:
        return compare_settings(request.old_inputs or request.state, request.inputs)

    def configure(self, config: Properties) -> None:
        settings = parse_settings(config, os.environ)
        if reasons := missing(settings):
            raise PluginError("\n".join(["AWS cannot be queried:", *(f"  {reason}" for reason in reasons)]))
        self._services = Services(settings)

    def check(self, request: Request) -> Checked:
        try:
            return checks.check(_resource(request.type), request)
        except PluginError as error:
            return Checked(request.inputs, [Failure("", str(error))])

    def diff(self, request: Request) -> Difference:
        resource = _resource(request.type)
        found = checks.compare(resource, request.old_inputs, request.inputs)
        if not found.changes and resource.tagging and self._services:
            wanted = {**self._settings().default_tags, **(plain(request.inputs.get("tags")) or {})}
            if wanted != (plain(request.state.get("tagsAll")) or {}):
                return Difference({"tagsAll": Change.UPDATE})
        return found

    def create(self, request: Request) -> Created:
        resource = _resource(request.type)
        if request.is_preview:
            chosen = {name for name, declared in resource.inputs.items() if declared.is_kept}
            unknown = dict.fromkeys({*resource.outputs, *chosen, *_tags_all(resource)}, UNKNOWN)
            return Created("", {**unknown, **_with_chosen(resource, _own(request.inputs))})
        return self._operation(request).create()

    def update(self, request: Request) -> Properties:
        resource = _resource(request.type)
        if request.is_preview:
            unknown = dict.fromkeys(resource.unsettled, UNKNOWN)
            return {**request.state, **_own(request.inputs), **unknown}
        return self._operation(request).update()

    def read(self, request: Request) -> ReadBack | None:
        return self._operation(request).read()

    def delete(self, request: Request) -> None:
        self._operation(request).delete()

    def invoke(self, token: str, arguments: Properties) -> Properties:
        if token not in functions.FUNCTIONS:
            raise PluginError(f"{token}: this stand-in has no such function; it has {', '.join(functions.FUNCTIONS)}")
        return functions.FUNCTIONS[token](self._ready(), plain(arguments))

    def _operation(self, request: Request) -> Operation:
        return Operation(_resource(request.type), self._ready(), request, self._engine.wait)

    def _ready(self) -> Services:
        if self._services is None:
            raise PluginError(NOT_CONFIGURED)
        return self._services

    def _settings(self) -> Settings:
        return self._ready().settings


def _resource(token: str) -> Resource:
    if token not in RESOURCES:
        near = difflib.get_close_matches(token, RESOURCES, 1)
        meant = f"; the nearest is {near[0]}" if near else ""
        raise PluginError(f"{token}: this stand-in has no such resource{meant}. Use the official plugin, or declare it")
    return RESOURCES[token]


def _own(inputs: Properties) -> Properties:
    return {name: value for name, value in inputs.items() if not name.startswith("__")}


def _with_chosen(resource: Resource, inputs: Properties) -> Properties:
    """The inputs with AWS's additions: an id beside a name, the VPC of the subnets."""
    shown = dict(inputs)
    for name, value in inputs.items():
        below = resource.inputs[name].chosen_below if name in resource.inputs else ()
        if isinstance(value, dict) and below:
            shown[name] = {**dict.fromkeys(below, UNKNOWN), **value}
    return shown


def _tags_all(resource: Resource) -> tuple[str, ...]:
    return ("tagsAll",) if resource.tagging else ()
