"""HTML of a page of results, which works offline from a folder.

The numbers are one JSON element of the page; its script reads it and draws. Text from users (names
of agents, links, reasons) is never parsed as HTML or run: Jinja2 escapes it, the script writes text
nodes only, and a content-security policy allows no other scripts than the page's own, known by its
hash, and Plotly beside it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evaluation.errors import UserError
from periodic_envs.files import write_atomically

PLOTLY = "plotly.min.js"
"""Name of the drawing library, beside the pages of a folder."""


class PageError(UserError, OSError):
    """A page cannot be written."""


def write_page(path: Path | str, content: Mapping[str, Any]) -> Path:
    """Write a page, and Plotly beside it; return the page's path.

    Raises:
        PageError: If they cannot be written there.
    """
    out = Path(path)
    if out.is_dir():
        raise PageError(f"cannot write {str(out)!r}: it is a folder")
    try:
        write_atomically(out, render(content).encode())
        write_atomically(out.parent / PLOTLY, plotly_source())
    except OSError as error:
        raise PageError(f"cannot write {str(out)!r}: {error.strerror or error}") from error
    return out


def render(content: Mapping[str, Any]) -> str:
    """Return a page as HTML.

    Args:
        content: Plain JSON data; see ``evaluation.page.content``.
    """
    environment = Environment(
        loader=PackageLoader("evaluation.page", "."), autoescape=True, undefined=StrictUndefined
    )
    script = _source("page.js")
    return environment.get_template("template.html.j2").render(
        content=content,
        data=Markup(json_for_script(content)),
        style=Markup(_source("page.css")),
        script=Markup(script),
        plotly=PLOTLY,
        policy=policy(script),
    )


def policy(script: str) -> str:
    """Return the content-security policy: the page's script, Plotly, and pictures within it."""
    digest = hashlib.sha256(script.encode()).digest()
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'sha256-{base64.b64encode(digest).decode()}' 'self' file:",
            "style-src 'unsafe-inline'",  # Plotly writes styles of its own; a style runs nothing
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def json_for_script(content: Mapping[str, Any]) -> str:
    """Return JSON without characters that could end a script element.

    Raises:
        ValueError: If a number is not finite.
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def plotly_source() -> bytes:
    """Return the drawing library of the installed package."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).encode()


def _source(name: str) -> str:
    """Return a file of this package, with the line ends that a browser hashes."""
    return (files("evaluation.page") / name).read_text(encoding="utf-8")
