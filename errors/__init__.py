"""What every floor needs to speak to people: documents with their lines, mistakes as values, what is a secret.

No sentence of a rule is here: what a policy reports is worded in its own file in `policies/rules`, what an answer
about an image says in `compat/rules`.
"""


class UserError(Exception):
    """A user's mistake, or something around a command that is broken. Its text is the whole message: no traceback."""
