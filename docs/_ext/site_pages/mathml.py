"""Formulas as MathML, which browsers render without scripts and downloads."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


_SIZES = re.compile(r"\\[bB]igg?[lrm]?(?![A-Za-z])\s*")
"""Commands that set the size of brackets, which browsers choose automatically."""


def mathml(tex: str, *, block: bool) -> str:
    """Return a formula in LaTeX as an element of HTML.

    Raises:
        MathError: If the formula cannot be parsed.
    """
    readable = re.sub(r"\\dots(?![A-Za-z])", r"\\ldots", _SIZES.sub("", tex))
    text = str(tex2mathml(readable, as_block=block))
    # This is the only named entity in the output; some HTML parsers know only its number.
    return text.replace("&ApplyFunction;", "&#x2061;")


def _append(writer: Any, node: Any, *, block: bool) -> None:
    source = node.astext()
    try:
        text = mathml(source, block=block)
    except MathError as error:
        LOGGER.warning("cannot parse the formula %r: %s", source, error, location=node)
        text = f"<code>{writer.encode(source)}</code>"
    tag = "div" if block else "span"
    writer.body.append(f'<{tag} class="math-{"block" if block else "inline"}">{text}</{tag}>')
    raise nodes.SkipNode


def _inline(writer: Any, node: Any) -> None:
    _append(writer, node, block=False)


def _block(writer: Any, node: Any) -> None:
    _append(writer, node, block=True)


def setup(app: Any) -> None:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
