"""HTML page of results, which works offline.

The page contains the numbers as a JSON element, and a script that renders them. Text from users
(names of agents, links, reasons) is never parsed as HTML or executed: Jinja2 escapes the text, and
the script writes only text nodes. The content-security policy allows no inline script except the
script of the page, which is identified by its hash. Script files, such as Plotly, may be loaded
only from the origin of the page or from local files.
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
"""File name of the plotting library, in the folder of the page."""


class PageError(UserError):
    """Raised if a page cannot be written."""


def write_page(path: Path | str, content: Mapping[str, Any]) -> Path:
    """Write a page, and Plotly to the same folder; return the path of the page.

    Raises:
        PageError: If the files cannot be written.
    """
    out = Path(path)
    if out.is_dir():
        raise PageError("cannot-write", f"cannot write {str(out)!r}: the path is a folder")
    try:
        write_atomically(out, render(content).encode())
        write_atomically(out.parent / PLOTLY, plotly_source())
    except OSError as error:
        raise PageError(
            "cannot-write", f"cannot write {str(out)!r}: {error.strerror or error}"
        ) from error
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
    """Return the Content-Security-Policy for the page's script, Plotly, and images in data URLs."""
    digest = hashlib.sha256(script.encode()).digest()
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'sha256-{base64.b64encode(digest).decode()}' 'self' file:",
            "style-src 'unsafe-inline'",  # Plotly adds styles; styles cannot run code
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def json_for_script(content: Mapping[str, Any]) -> str:
    """Return JSON that is safe inside a script element.

    Raises:
        ValueError: If a number is not finite.
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # "<", ">" and "&" could end the element; U+2028 and U+2029 are line ends in JavaScript.
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def plotly_source() -> bytes:
    """Return the source of Plotly from the installed package."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).encode()


def _source(name: str) -> str:
    """Return a text file of this package, with normalised line endings."""
    return (files("evaluation.page") / name).read_text(encoding="utf-8")
