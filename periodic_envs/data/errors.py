"""Errors in data, and warnings about data."""


class DataError(ValueError):
    """Raised if data cannot be used; the message says what is wrong, and how to correct it.

    Attributes:
        code: Name of the fault, such as "missing-values". Codes stay the same when messages are
            reworded.
    """

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(code, message)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[1] or self.args[0])


class FilledGapsWarning(UserWarning):
    """Warning issued if an environment replays data whose gaps are filled."""
