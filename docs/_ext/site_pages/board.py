"""The leaderboard as a page of the site: made beside everything else, for it takes a while."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from site_pages.repository import PACKAGES, ROOT, hash_of

PAGE = "leaderboard.html"
PLOTLY = "plotly.min.js"
HEADER = '<header class="top">'
HOW_TO = "howto/leaderboard.html"
LINK = (
    '\n  <p><a href="index.html">periodic-gp documentation</a> · '
    f'<a href="{HOW_TO}">How to hand in an agent</a></p>'
)
"""The way back to the site, for a page that is made to stand alone."""
LEADERBOARD = ROOT / "leaderboard"


class Board:
    """The page of the last edition, kept between two builds.

    Args:
        cache: Where what is expensive is kept.
    """

    def __init__(self, cache: Path) -> None:
        self._kept = cache / f"leaderboard-{hash_of(LEADERBOARD, *PACKAGES)}.html"
        self._making: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Begin to make it, if it is not there."""
        if self._kept.is_file():
            return
        self._kept.parent.mkdir(parents=True, exist_ok=True)
        for old in self._kept.parent.glob("leaderboard-*.html"):
            old.unlink()
        command = [sys.executable, "-m", "evaluation", "leaderboard", "build"]
        self._making = subprocess.Popen(
            [*command, "--out", str(self._kept)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )

    def finish(self, site: Path) -> str:
        """Put it into the site; what the command said if it could not be made, else nothing."""
        if self._making is not None:
            said, _ = self._making.communicate()
            if self._making.returncode:
                return said.strip()
        text = self._kept.read_text("utf-8")
        if HEADER not in text:
            return f"there is no {HEADER} for the link to the site"
        (site / PAGE).write_text(text.replace(HEADER, HEADER + LINK, 1), "utf-8")
        (site / PLOTLY).write_bytes(self._kept.with_name(PLOTLY).read_bytes())
        return ""

    def give_up(self) -> None:
        """End what is under way: there will be no site."""
        if self._making is not None:
            self._making.kill()
            self._making.communicate()
