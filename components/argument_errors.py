"""Reports mistakes in a component's arguments as messages of Pulumi, without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

import pulumi

from errors import UserError


@contextmanager
def explained() -> Iterator[None]:
    """Every UserError becomes a RunError with its text."""
    try:
        yield
    except UserError as error:
        raise pulumi.RunError(str(error)) from None
