"""The page of the last edition of the leaderboard, as a page of the site."""

from __future__ import annotations

from pathlib import Path

from site_pages.repository import ROOT

PAGE = "leaderboard.html"
HEADER = '<header class="top">'
LINK = (
    '\n  <p><a href="index.html">periodic-gp documentation</a> · '
    '<a href="howto/leaderboard.html">How to hand in an agent</a></p>'
)
"""Links from the page, which also stands alone, to the site."""


def write_leaderboard(site: Path) -> None:
    """Write the page of the last edition into the site."""
    from evaluation.leaderboard.edition import LOG, Edition
    from evaluation.page import write_page
    from evaluation.page.edition import edition_content

    last = max((ROOT / "leaderboard").glob(f"*/{LOG}")).parent
    page = write_page(site / PAGE, edition_content(Edition(last)))
    text = page.read_text("utf-8")
    if HEADER not in text:
        raise ValueError(f"the page of the leaderboard has no {HEADER} for the link to the site")
    page.write_text(text.replace(HEADER, HEADER + LINK, 1), "utf-8")
