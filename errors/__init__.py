"""User-facing errors: documents with line numbers, mistakes as values, and redaction of secrets.

Rule messages are elsewhere: those of policies in `policies/rules`, those about images in `compat/rules`.
"""


class UserError(Exception):
    """A user's mistake, or a fault in the environment. Its text is the whole message: no traceback."""
