"""What every floor needs to speak to people: documents with their lines, mistakes as values, what is a secret."""


class UserError(Exception):
    """A user's mistake, or something around a command that is broken. Its text is the whole message: no traceback."""
