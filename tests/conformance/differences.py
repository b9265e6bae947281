"""What the stand-in does otherwise than the official plugin on purpose; docs/lab.md has the reasons, one row for each.

A case about one of them asks the fixture `official`, and then asserts exactly what that plugin does.
"""

from __future__ import annotations

from enum import StrEnum


class Intended(StrEnum):
    """The names are those of the rows in docs/lab.md."""

    CREATE = "How an object is created"
    MISSPELT = "A misspelt field of a new object"
    ROLLOUT = "An update of a Deployment"
    NOT_READY = "A Deployment that does not become ready"
    UNKNOWN = "An unknown value among the inputs"
    ADDRESS = "The address of a new Service in a preview"
    DEFAULTS = "What the server filled in, on import"
    DELETED_PATCH = "Deleting a patch of an object that is gone"
    ABSENCE = "A server that does not answer"
