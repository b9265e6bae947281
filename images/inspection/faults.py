"""What can be wrong with an image or on the way to it: one error, one message, no traceback."""

from __future__ import annotations

from messages.problems import Problem, show


class InspectError(Exception):
    """An image that cannot be read. Its text is the whole message for people; it never has a secret in it."""

    def __init__(self, path: str, reason: str, fix: str, *, value: str = "") -> None:
        self.problem = Problem(path, show(value) if value else "", reason, fix)
        super().__init__(str(self.problem))
