"""Sphinx extension that generates pages of the site from the code.

``generate`` writes the pages and pictures. The other functions are callbacks of Sphinx events.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from site_pages.board import write_leaderboard
from site_pages.repository import ROOT, rewritten

CACHE = ROOT / "out" / "site-cache"


def _generate(app: Any) -> None:
    from sphinx.util import logging

    from site_pages.generate import generate

    logger = logging.getLogger(__name__)
    for old in CACHE.glob("notebooks*"):
        if old != Path(app.config.nb_execution_cache_path):
            shutil.rmtree(old)
    generate(Path(app.srcdir), cache=CACHE, say=logger.info)


def _finish(app: Any, error: Exception | None) -> None:
    if error is None:
        write_leaderboard(Path(app.outdir))


def _read_source(app: Any, docname: str, content: list[str]) -> None:
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".md":
        content[0] = rewritten(content[0], path)


def _read_docstring(
    app: Any, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    from site_pages.docstrings import for_sphinx

    lines[:] = for_sphinx("\n".join(lines)).splitlines()


def setup(app: Any) -> dict[str, Any]:
    """Connect the callbacks to the events of Sphinx."""
    from site_pages import mathml  # needs Sphinx, unlike the rest

    mathml.setup(app)
    app.connect("builder-inited", _generate)
    app.connect("build-finished", _finish)
    app.connect("source-read", _read_source)
    app.connect("autodoc-process-docstring", _read_docstring, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
