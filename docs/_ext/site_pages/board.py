"""Page of the site with the latest edition of the leaderboard."""

from __future__ import annotations

from pathlib import Path

from site_pages.repository import ROOT

PAGE = "leaderboard.html"
HEADER = '<header class="top">'
LINK = (
    '\n  <p><a href="index.html">periodic-gp documentation</a> · '
    '<a href="howto/leaderboard.html">How to submit an agent</a></p>'
)
"""Links to the site, which the page lacks because it is also published without the site."""


def write_leaderboard(site: Path) -> None:
    """Write the page of the latest edition to the site."""
    from evaluation.leaderboard.edition import LOG, Edition
    from evaluation.page import write_page
    from evaluation.page.edition_content import edition_content

    last = max((ROOT / "leaderboard").glob(f"*/{LOG}")).parent
    page = write_page(site / PAGE, edition_content(Edition(last)))
    text = page.read_text("utf-8")
    if HEADER not in text:
        raise ValueError(f"cannot insert links: expected {HEADER!r} in the page of the leaderboard")
    page.write_text(text.replace(HEADER, HEADER + LINK, 1), "utf-8")
