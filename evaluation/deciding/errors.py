"""What a decider refuses, in one sentence."""

from __future__ import annotations


class DeciderError(ValueError):
    """Something that the caller can mend; nothing has been changed."""
