"""Arguments of a node taint, for node components."""

from typing import NotRequired, TypedDict


class Taint(TypedDict):
    """A Kubernetes node taint."""

    key: str
    value: NotRequired[str]
    effect: str
