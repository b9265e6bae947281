"""The arguments of a node taint, for components of nodes."""

from typing import NotRequired, TypedDict


class Taint(TypedDict):
    """A Kubernetes node taint."""

    key: str
    value: NotRequired[str]
    effect: str
