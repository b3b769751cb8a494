"""Mathematics as MathML, which browsers draw by themselves: no script, and nothing is fetched."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


_SIZES = re.compile(r"\\[bB]igg?[lrm]?(?![A-Za-z])\s*")
"""Sizes of brackets, which a browser finds by itself."""


def mathml(tex: str, *, block: bool) -> str:
    """A formula in LaTeX as an element of HTML.

    Raises:
        MathError: If it cannot be read.
    """
    readable = re.sub(r"\\dots(?![A-Za-z])", r"\\ldots", _SIZES.sub("", tex))
    text = str(tex2mathml(readable, as_block=block))
    # The only named entity that it writes is one that HTML does not know by that name everywhere.
    return text.replace("&ApplyFunction;", "&#x2061;")


def _append(writer: Any, node: Any, *, block: bool) -> None:
    source = node.astext()
    try:
        text = mathml(source, block=block)
    except MathError as error:
        LOGGER.warning("cannot read the formula %r: %s", source, error, location=node)
        text = f"<code>{writer.encode(source)}</code>"
    tag = "div" if block else "span"
    writer.body.append(f'<{tag} class="math-{"block" if block else "inline"}">{text}</{tag}>')
    raise nodes.SkipNode


def _inline(writer: Any, node: Any) -> None:
    _append(writer, node, block=False)


def _block(writer: Any, node: Any) -> None:
    _append(writer, node, block=True)


def setup(app: Any) -> None:
    """Register it under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
