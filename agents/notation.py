"""Settings in the command line's notation: ``name=value,name=value``."""

from __future__ import annotations

import contextlib
import re
from typing import Any

_QUOTED = re.compile(r"""(["']).*\1""", re.DOTALL)
"""Pattern of text that is quoted as a whole."""
_MARKS = re.compile(r"""(["']).*?\1|(?P<mark>[\[\],"'])""", re.DOTALL)
"""Pattern of quoted text, or of a bracket, comma or quotation mark outside of quoted text."""


class NotationError(ValueError):
    """Raised if settings cannot be parsed."""


def parse_settings(text: str) -> dict[str, Any]:
    """Return settings such as ``a=1,b=word`` as a dictionary.

    Numbers, true, false and none are converted to Python's values. Lists are written in brackets,
    and text that contains a comma is written in quotes.

    >>> parse_settings("length_scale=0.5,fit_warm_start=true,beta=paper")
    {'length_scale': 0.5, 'fit_warm_start': True, 'beta': 'paper'}
    >>> parse_settings("stations=[4,8],decimal=','")
    {'stations': [4, 8], 'decimal': ','}
    """
    settings: dict[str, Any] = {}
    for part in _split(text) if text else []:
        key, equals, value = part.partition("=")
        if not equals or not key.strip().isidentifier():
            raise NotationError(f"settings must have the form name=value,name=[1,2], got {part!r}")
        if key.strip() in settings:
            raise NotationError(f"the setting {key.strip()!r} occurs twice in {text!r}")
        settings[key.strip()] = _value(value.strip())
    return settings


def written_settings(settings: dict[str, Any]) -> str:
    """Return settings in the command line's notation, with a leading colon unless they are empty.

    >>> written_settings({"length_scale": 0.5, "fit_warm_start": True, "stations": [4, 8]})
    ':length_scale=0.5,fit_warm_start=true,stations=[4,8]'
    """
    parts = [f"{key}={_written(value)}" for key, value in settings.items()]
    return f":{','.join(parts)}" if parts else ""


def _split(text: str) -> list[str]:
    """Return the parts of a text that are separated by commas outside of brackets and quotes."""
    marks = [match for match in _MARKS.finditer(text) if match.lastgroup == "mark"]
    depth, start, parts = 0, 0, []
    for match in marks:
        depth += {"[": 1, "]": -1}.get(match[0], 0)
        if depth < 0 or match[0] in "\"'":
            raise NotationError(f"unbalanced brackets or quotes in {text!r}")
        if match[0] == "," and not depth:
            parts.append(text[start : match.start()])
            start = match.end()
    if depth:
        raise NotationError(f"unbalanced brackets or quotes in {text!r}")
    return [*parts, text[start:]]


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if _QUOTED.fullmatch(text):
        return text[1:-1]
    if text.startswith("[") and text.endswith("]"):
        return [_value(part.strip()) for part in _split(text[1:-1])] if text[1:-1].strip() else []
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _written(value: Any) -> str:
    words = {True: "true", False: "false", None: "none"}
    if value is None or isinstance(value, bool):
        return words[value]
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, str) and (_value(value) != value or set(value) & set(",[]\"'")):
        return f'"{value}"' if '"' not in value else f"'{value}'"
    return str(value)
