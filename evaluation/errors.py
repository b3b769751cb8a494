"""Errors that the user can fix."""

from agents.errors import CodedError


class UserError(CodedError):
    """Error that the user can fix: one sentence, reported without a traceback."""


class UnknownNameError(UserError, LookupError, ValueError):
    """Unknown name; the message lists similar names."""
