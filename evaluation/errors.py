"""Errors that the user can fix."""


class UserError(Exception):
    """An error that the user can fix: the message is one sentence, shown without a traceback."""


class UnknownNameError(UserError, LookupError, ValueError):
    """An unknown name; the message lists those that may have been meant."""
