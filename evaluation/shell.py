"""Words of a command line, as a shell takes them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any


def as_options(given: Mapping[str, Any]) -> str:
    """Arguments as options of a command, with a space before each word.

    >>> as_options({"time_column": "Zeit", "arms": ["a", "b c"]})
    " --time-column Zeit --arms a --arms 'b c'"
    """
    words = []
    for name, value in given.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            words += [f"--{name.replace('_', '-')}", shlex.quote(str(one))]
    return "".join(f" {word}" for word in words)
