"""Base class of the errors that have a code."""


class CodedError(Exception):
    """Error with a stable code in addition to its message.

    Attributes:
        code: Name of the fault, such as "unknown-agent". Codes stay the same when messages are
            reworded.
    """

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(code, message)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[1] or self.args[0])
