"""Errors of an image or of access to it: one error, one message, no traceback."""

from errors import UserError
from errors.problems import Problem, show


class InspectError(UserError):
    """An image that cannot be read. Its text never contains a secret."""

    def __init__(self, path: str, reason: str, fix: str, *, value: str = "") -> None:
        self.problem = Problem(path, show(value) if value else "", reason, fix)
        super().__init__(str(self.problem))
