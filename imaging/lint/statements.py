"""Statements of a shell text, from its syntax tree: calls in order, each with the calls that feed it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

CALLS: Final = frozenset({"command", "declaration_command", "unset_command"})
_GROUPS: Final = frozenset({"redirected_statement", "subshell", "compound_statement", "list"})
_MOST_BEFORE: Final = 8  # remembered programs of a pipeline: nobody writes more, and a hostile file must not


def statements(root: Node) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Calls, bare assignments and here-documents, in the order of the text, each with the calls before it in a pipe.

    Without recursion: nesting is unlimited.
    """
    waiting: list[tuple[Node, tuple[Node, ...]]] = [(root, ())]
    while waiting:
        node, fed_by = waiting.pop()
        if node.type in CALLS or node.type in {"variable_assignment", "heredoc_body"}:
            yield node, fed_by
        # A command substitution has its own input.
        passed = () if "substitution" in node.type else fed_by
        inner: list[tuple[Node, tuple[Node, ...]]] = []
        for child in node.named_children:
            inner.append((child, passed))
            if node.type == "pipeline":
                passed = (*passed, *_calls_in(child))[-_MOST_BEFORE:]
        waiting += reversed(inner)


def _calls_in(part: Node) -> Iterator[Node]:
    """The first calls in one part of a pipeline, groups and redirections included."""
    waiting = [part]
    for _ in range(2 * _MOST_BEFORE):
        if not waiting:
            return
        node = waiting.pop(0)
        if node.type == "command":
            yield node
        elif node.type in _GROUPS:
            waiting += node.named_children
