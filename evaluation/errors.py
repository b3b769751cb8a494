"""Errors that the user can fix."""

from agents.errors import CodedError


class UserError(CodedError):
    """Raised for a fault that the user can fix.

    The message is one sentence. Commands print the message without a traceback.
    """


class UnknownNameError(UserError, LookupError, ValueError):
    """Raised if a name is unknown; the message lists similar names."""
