"""The vocabulary for declaring a resource: inputs, calls, identity, outputs. Pure.

Arguments of calls are templates (`templates.py`); JMESPath picks values from the answer, which has Pulumi's names by
then (`shapes.py`): `subnets[0].vpcId`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from lab.providers.values import Properties

Template = Mapping[str, Any]


class Kind(Enum):
    """How two values of an input are compared."""

    PLAIN = "plain"
    SET = "set"  # a list in any order
    MAP = "map"  # the user's keys: one that was added elsewhere is drift
    JSON = "json"  # a policy document: compared by meaning


@dataclass(frozen=True, slots=True)
class Input:
    """One input property."""

    kind: Kind = Kind.PLAIN
    is_required: bool = False
    replaces: bool = False  # a change needs a new resource
    replaces_below: tuple[str, ...] = ()  # a change of these keys in it does
    is_kept: bool = False  # without it, AWS's choice stays
    default: Any = None  # the official provider's, filled in by Check
    read: str | Callable[[Properties], Any] = ""  # where it is read, if not under its own name; "-" is nowhere
    is_shown_if_given: bool = False  # other resources may set it too, and then it is theirs
    chosen_below: tuple[str, ...] = ()  # keys in it that AWS fills in: unknown in a preview


@dataclass(frozen=True, slots=True)
class Scope:
    """Values for a call's arguments."""

    identifier: str
    old: Properties  # inputs before; empty in a create
    new: Properties  # inputs now
    state: Properties  # outputs before

    def values(self) -> Properties:
        return {**self.state, **self.new, "id": self.identifier}


def nothing(inputs: Properties) -> Properties:
    del inputs
    return {}


def once(scope: Scope) -> Iterable[Properties]:
    del scope
    return ({},)


@dataclass(frozen=True, slots=True)
class Call:
    """One operation of the service. `each` yields further values for its arguments, with one call for each."""

    operation: str
    arguments: Template
    when: tuple[str, ...] = ()  # the inputs it handles: called if one of them changed
    each: Callable[[Scope], Iterable[Properties]] = once
    service: str = ""
    forgives: tuple[str, ...] = ()  # errors that mean that nothing is left to do


@dataclass(frozen=True, slots=True)
class Read:
    """One look at the resource. The first decides whether it exists; `into` names the key for the others."""

    operation: str
    arguments: Template
    at: str
    into: str = ""
    service: str = ""


@dataclass(frozen=True, slots=True)
class Tagging:
    """How to change a resource's tags: `$added` is a map, `$removed` a list of keys."""

    tag: Call
    untag: Call


@dataclass(frozen=True, slots=True)
class Wait:
    """A passing state: `at` is read until it is settled. `failed` ends the wait with an error."""

    at: str = "status"
    settled: tuple[str, ...] = ("ACTIVE",)
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resource:
    """One type of resource. `identifier` is read from the create's answer, or joined from `parts`."""

    token: str
    service: str
    inputs: Mapping[str, Input]
    create: Call
    reads: tuple[Read, ...]
    delete: tuple[Call, ...]
    identifier: str = ""
    parts: tuple[str, ...] = ()  # inputs that identify it, joined by `separator`
    separator: str = ":"
    updates: tuple[Call, ...] = ()
    completes: tuple[Call, ...] = ()  # after the create, for inputs that it does not accept
    outputs: Mapping[str, str] = field(default_factory=dict)
    unsettled: tuple[str, ...] = ()  # outputs that an update changes
    gone: tuple[str, ...] = ()  # errors that mean that it does not exist
    named: str = ""  # the input that gets a name if the program gives none
    name_length: int = 255
    tagging: Tagging | None = None
    wait: Wait | None = None
    renames: Mapping[str, str] = field(default_factory=dict)  # Pulumi's word → the service's, at any depth
    is_global: bool = False  # not in a region
    derived: Callable[[Properties], Properties] = nothing  # further values for arguments, computed from the inputs

    def scope(self, identifier: str, old: Properties, new: Properties, state: Properties) -> Scope:
        derived = {name: value for name, value in self.derived(new).items() if value is not None}
        return Scope(identifier, old, {**derived, **new}, state)

    @property
    def noun(self) -> str:
        """`aws:ec2/vpc:Vpc` → `ec2 Vpc`."""
        _, module, kind = self.token.split(":")
        return f"{module.split('/')[0]} {kind}"


REGION: Final = Input(replaces=True, is_kept=True, read="-")
TAGS: Final = Input(Kind.MAP)


def required(kind: Kind = Kind.PLAIN, **more: Any) -> Input:
    return Input(kind, is_required=True, **more)


def fixed(kind: Kind = Kind.PLAIN, **more: Any) -> Input:
    """An input whose change needs a new resource."""
    return Input(kind, replaces=True, **more)


def all_of(*names: str, **more: Any) -> Template:
    """Arguments with the names of inputs: `vpcId` goes into the member `VpcId`."""
    return {**{name: f"${name}" for name in names}, **more}
