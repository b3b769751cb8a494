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
from functools import cache
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
    if not out.parent.is_dir():
        raise PageError(f"cannot write {str(out)!r}: there is no folder {str(out.parent)!r}")
    library = out.parent / PLOTLY
    try:
        write_atomically(out, render(content).encode())
        if not library.is_file() or library.read_bytes() != plotly_source():
            write_atomically(library, plotly_source())
    except OSError as error:
        raise PageError(f"cannot write {str(out)!r}: {error.strerror or error}") from error
    return out


def render(content: Mapping[str, Any], *, live: bool = False) -> str:
    """Return a page as HTML.

    Args:
        content: Plain JSON data; see ``evaluation.page.content``.
        live: Ask the server for newer content now and then.
    """
    environment = Environment(
        loader=PackageLoader("evaluation.page", "."), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("template.html.j2").render(
        content=content,
        data=Markup(json_for_script(content)),
        style=Markup(_inlined("page.css", "style")),
        script=Markup(_inlined("page.js", "script")),
        plotly=PLOTLY,
        policy=policy(live=live),
        live=live,
    )


def policy(*, live: bool) -> str:
    """Return the content-security policy: the page's script, Plotly, and pictures within it."""
    digest = hashlib.sha256(_inlined("page.js", "script").encode()).digest()
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'sha256-{base64.b64encode(digest).decode()}' 'self' file:",
            "style-src 'unsafe-inline'",  # Plotly writes styles of its own; a style runs nothing
            "img-src data:",
            "connect-src 'self'" if live else "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def json_for_script(content: Mapping[str, Any]) -> str:
    """Return JSON without characters that could end a script element."""
    text = compact_json(content)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def compact_json(content: Mapping[str, Any]) -> str:
    """Return JSON without spaces; NaN and infinity are errors."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@cache
def plotly_source() -> bytes:
    """Return the drawing library of the installed package."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).encode()


@cache
def _inlined(name: str, element: str) -> str:
    """Return a file for an element of the page, with the line ends that a browser hashes."""
    text = (files("evaluation.page") / name).read_text(encoding="utf-8")
    if f"</{element}" in text.lower() or "<!--" in text:
        raise ValueError(f"{name} holds </{element} or <!--")
    return text.replace("\r\n", "\n").replace("\r", "\n")
