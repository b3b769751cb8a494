"""One self-contained HTML page: it works from disk, without a network.

The numbers go in as one JSON element; the scripts read it and draw. Nothing that others wrote
(names of agents, links, reasons) is ever parsed as HTML or run: Jinja2 escapes what it writes, the
scripts write text nodes only, and a content-security policy lets no script run but the page's own,
which it knows by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

SCRIPTS = (
    *("dom", "format", "state", "csv", "tabs", "charts", "cells"),
    *("provenance", "ranking", "worlds", "compare", "overview", "live", "main"),
)
"""Files of ``js/`` in the order in which they are put together."""


def render(content: Mapping[str, Any], *, live: bool = False) -> str:
    """The page as one string of HTML.

    Args:
        content: Plain JSON data, finite numbers or None; ``content.py`` says what goes where.
        live: The page listens to its server for newer content.
    """
    environment = Environment(
        loader=PackageLoader("evaluation.report", "."), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("template.html.j2").render(
        content=content,
        data=Markup(json_for_script(content)),
        style=Markup(style_source()),
        plotly=Markup(plotly_source()),
        script=Markup(page_source()),
        policy=policy(live=live),
        live=live,
    )


def policy(*, live: bool) -> str:
    """The content-security policy: our own scripts, pictures within the page, no more."""
    scripts = " ".join(_hash(text) for text in (plotly_source(), page_source()))
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {scripts}",
            "style-src 'unsafe-inline'",  # Plotly writes styles of its own; a style runs nothing
            "img-src data:",
            "connect-src 'self'" if live else "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def json_for_script(content: Mapping[str, Any]) -> str:
    """JSON that nothing in a string of it can end: no ``<`` is left, so no tag and no comment."""
    text = compact_json(content)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def compact_json(content: Mapping[str, Any]) -> str:
    """Numbers with seven figures: more than their intervals leave, and half the page's size."""
    rounded = _rounded(content)
    return json.dumps(rounded, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value


@cache
def page_source() -> str:
    """The scripts of the page, put together."""
    folder = files("evaluation.report") / "js"
    parts = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return _inlined('(() => {\n"use strict";\n' + "\n".join(parts) + "\n})();\n", "script")


@cache
def plotly_source() -> str:
    """The drawing library, from its package."""
    from plotly.offline import get_plotlyjs

    return _inlined(get_plotlyjs(), "script")


@cache
def style_source() -> str:
    """The style sheet."""
    path = files("evaluation.report") / "page.css"
    return _inlined(path.read_text(encoding="utf-8"), "style")


def _inlined(text: str, element: str) -> str:
    """As a browser will hash it: it reads every end of line as LF. Must not end its element."""
    if f"</{element}" in text.lower() or "<!--" in text:
        raise ValueError(f"a {element} to be inlined holds </{element} or <!--")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
