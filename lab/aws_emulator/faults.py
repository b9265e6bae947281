"""An error as an AWS service reports it."""

from __future__ import annotations


class ServiceFault(Exception):  # noqa: N818 - AWS's word for an error that the caller can act on
    """`code` is the shape's name in the service model, such as `ResourceNotFoundException`."""

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
