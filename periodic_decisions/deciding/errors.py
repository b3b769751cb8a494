"""What a decider refuses, in one sentence."""

from __future__ import annotations


class DeciderError(ValueError):
    """Something that the caller can mend; nothing has been changed."""


def one_line(error: BaseException) -> str:
    """What somebody else's error says, without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__
