"""Requests from the engine, answers and errors of the provider, as plain Python values. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

from lab.providers.values import Properties


class PluginError(Exception):
    """A fault that the user can act on: the engine shows the message as it is."""


class CancelledError(PluginError):
    """The engine asked to stop; the awaited operation is neither done nor failed."""


class PartialFailureError(PluginError):
    """The resource exists but not as requested; the engine keeps it and retries at the next update."""

    def __init__(self, identifier: str, properties: Properties, inputs: Properties, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.identifier = identifier
        self.properties = properties
        self.inputs = inputs
        self.reasons = tuple(reasons)


class Change(IntEnum):
    """A change of one property, numbered as `PropertyDiff.Kind`; the REPLACE kinds need a new resource."""

    ADD = 0
    ADD_REPLACE = 1
    DELETE = 2
    DELETE_REPLACE = 3
    UPDATE = 4
    UPDATE_REPLACE = 5

    @property
    def replaces(self) -> bool:
        return self.name.endswith("REPLACE")


@dataclass(frozen=True, slots=True)
class Failure:
    """A wrong input: `property` is its path (may be empty), `reason` says what is allowed and what to change."""

    property: str
    reason: str


@dataclass(frozen=True, slots=True)
class Checked:
    inputs: Properties
    failures: Sequence[Failure] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """Changes by property path such as `spec.template.spec.containers[0].image`; empty means no change."""

    changes: Mapping[str, Change] = field(default_factory=dict)
    delete_before_replace: bool = False


@dataclass(frozen=True, slots=True)
class Created:
    identifier: str  # empty in a preview if not known yet
    properties: Properties


@dataclass(frozen=True, slots=True)
class ReadBack:
    identifier: str
    properties: Properties
    inputs: Properties


@dataclass(frozen=True, slots=True)
class Autonaming:
    """The user's autonaming configuration: use `name` if given, generate none if `disabled`."""

    name: str
    disabled: bool


@dataclass(frozen=True, slots=True)
class Request:
    """What the engine says about one resource. Each call fills the fields it knows."""

    urn: str
    type: str
    name: str
    identifier: str = ""
    state: Properties = field(default_factory=dict)  # the old outputs
    old_inputs: Properties = field(default_factory=dict)  # in `check`: the old inputs too
    inputs: Properties = field(default_factory=dict)  # the new inputs
    timeout_s: float = 0.0  # custom time-out; 0 = none given
    is_preview: bool = False
    ignore_changes: tuple[str, ...] = ()
    seed: bytes = b""  # randomness for names, from the engine
    autonaming: Autonaming | None = None


class Provider(Protocol):
    """What a stand-in does; the frame (`plugin`, `servicer`) does the rest. All methods raise PluginError."""

    def check_config(self, request: Request) -> Checked: ...
    def diff_config(self, request: Request) -> Difference: ...
    def configure(self, config: Properties) -> None: ...
    def check(self, request: Request) -> Checked: ...
    def diff(self, request: Request) -> Difference: ...
    def create(self, request: Request) -> Created: ...
    def read(self, request: Request) -> ReadBack | None:
        """None: it is gone."""

    def update(self, request: Request) -> Properties: ...
    def delete(self, request: Request) -> None: ...
    def invoke(self, token: str, arguments: Properties) -> Properties: ...


class Conversation(Protocol):
    """The engine, as far as the frame's messages concern it."""

    def connect(self, address: str) -> None: ...
    def cancel(self) -> None: ...
