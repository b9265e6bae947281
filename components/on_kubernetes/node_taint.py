"""Arguments of a node's taint, for Pulumi and type checkers.

Written by `make docs` from the models in platforms.node_keys: edit those, or tools/component_arguments.py, not this
file.
"""

from typing import NotRequired, TypedDict


class Taint(TypedDict):
    """A Kubernetes node taint."""

    key: str
    """Taint key, such as example.edu/course."""
    value: NotRequired[str]
    """Taint value."""
    effect: str
    """What it does to pods."""
