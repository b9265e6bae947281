"""The AWS stand-in as the engine uses it, on the cases of `aws_cases.py`."""

from __future__ import annotations

import secrets
from typing import Any

from aws_cases import CASES, Values

from lab.providers.aws.provider import AwsProvider
from lab.providers.vocabulary import Created, ReadBack, Request


class Account:
    """The provider on an account of the lab's; resources by the names of their cases, moved on as the engine would."""

    def __init__(self, provider: AwsProvider) -> None:
        self.provider = provider
        self._chance = secrets.token_hex(8)  # other names than any other test's
        self.made: dict[str, Created] = {}
        self.inputs: dict[str, Values] = {}

    def make(self, name: str) -> Created:
        """The resource of that case, and those that it refers to first."""
        if name not in self.made:
            self.inputs[name] = self.checked(name, {})
            self.made[name] = self.provider.create(self.request(name, inputs=self.inputs[name]))
        return self.made[name]

    def checked(self, name: str, change: Values) -> Values:
        wanted = {key: value for key, value in {**CASES[name].inputs, **change}.items() if value is not None}
        request = self.request(name, inputs=self.resolved(wanted), old_inputs=self.inputs.get(name, {}))
        found = self.provider.check(request)
        assert not found.failures
        return found.inputs

    def resolved(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.resolved(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.resolved(each) for each in value]
        if isinstance(value, str) and value.startswith("@"):
            name, _, output = value[1:].partition(".")
            made = self.make(name)
            return made.properties[output] if output else made.identifier
        return value.replace("#", self._chance) if isinstance(value, str) else value

    def request(self, name: str, **fields: Any) -> Request:
        token = CASES[name].token
        made = self.made.get(name)
        known = {"identifier": made.identifier, "state": made.properties} if made else {}
        return Request(
            f"urn:pulumi:s::p::{token}::{name}",
            token,
            name,
            seed=f"{self._chance}-{name}".encode(),
            **{**known, **fields},
        )

    def read(self, name: str) -> ReadBack | None:
        return self.provider.read(self.request(name, old_inputs=self.inputs[name]))

    def diff(self, name: str, change: Values) -> dict[str, str]:
        new = self.checked(name, change)
        found = self.provider.diff(self.request(name, old_inputs=self.inputs[name], inputs=new))
        return {path: kind.name.lower() for path, kind in found.changes.items()}

    def update(self, name: str, change: Values) -> Values:
        new = self.checked(name, change)
        properties = self.provider.update(self.request(name, old_inputs=self.inputs[name], inputs=new))
        self.made[name], self.inputs[name] = Created(self.made[name].identifier, properties), new
        return properties

    def call(self, service: str, operation: str, parameters: Values) -> Values:
        """Somebody else's call."""
        return self.provider._ready().call(service, operation, parameters)  # noqa: SLF001 - with the same credentials

    def delete(self, name: str) -> None:
        self.provider.delete(self.request(name, old_inputs=self.inputs[name]))
