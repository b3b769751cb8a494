"""The site as ``make docs`` has built it: its links, and ten pages in a browser."""

import functools
import http.server
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.test_browser.conftest import Watched, until

from site_pages.checks import dead_links  # isort: skip

PAGES = (
    "index.html",
    "tutorials/02_own_agent.html",
    "results/paper.html",
    "explanation/regret.html",
    "reference/environments/ride-share.html",
    "reference/agents/auto-gp-ucb.html",
    "reference/kernels.html",
    "reference/cli/run.html",
    "reference/api/agents.base.html",
    "results/zoo.html",
)
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "color_scheme": "light",
        "is_mobile": True,
        "has_touch": True,
    },
}
LETTERS = "getComputedStyle(document.querySelector('.page')).color"
PICTURES = """[...document.images].filter(image => image.checkVisibility()).every(
    image => image.complete && image.naturalWidth > 0)"""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site behind a server: a search reads its index as a page of the web does."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            return

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_no_link_within_the_site_is_dead(site: Path) -> None:
    assert dead_links(site) == []


@pytest.mark.parametrize("look", sorted(LOOKS))
def test_pages_open_without_a_complaint(
    site: Path, opened: Callable[..., Watched], look: str
) -> None:
    """From disk; nothing is fetched, nothing is wider than the window, all pictures are there."""
    watched = opened((site / PAGES[0]).as_uri(), **LOOKS[look])
    page = watched.page
    for name in PAGES:
        page.goto((site / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        until(page, lambda: page.evaluate(PICTURES))
        red, green, blue = _colour(page.evaluate(LETTERS))
        assert (min(red, green, blue) > 128) == (look == "dark"), name
    assert [url for url in watched.requests if not url.startswith(("file:", "data:"))] == []


def _colour(text: str) -> tuple[int, int, int]:
    red, green, blue = (int(float(part)) for part in text[4:-1].split(",")[:3])
    return red, green, blue


def test_wide_tables_scroll_on_a_phone(site: Path, opened: Callable[..., Watched]) -> None:
    page = opened((site / "results/zoo.html").as_uri(), **LOOKS["phone"]).page
    wide = """[...document.querySelectorAll('.table-wrapper')].filter(
        box => box.scrollWidth > box.clientWidth)"""
    assert page.evaluate(f"{wide}.length") > 0
    assert page.evaluate(f"{wide}.every(box => getComputedStyle(box).overflowX === 'auto')")


def test_words_of_types_are_whole_on_a_phone(site: Path, opened: Callable[..., Watched]) -> None:
    """Code that is broken has its letters in two lines."""
    page = opened((site / "reference/environments/ride-share.html").as_uri(), **LOOKS["phone"]).page
    lines = """[...document.querySelectorAll('#arguments td:nth-child(3) > p > code')].map(
        code => code.getClientRects().length)"""
    assert set(page.evaluate(lines)) == {1}


@pytest.mark.parametrize("look", ["light", "dark"])
def test_pictures_of_the_build_follow_the_look(
    site: Path, opened: Callable[..., Watched], look: str
) -> None:
    """Of the two variants one is shown; other pictures are no bright boxes in the dark."""
    page = opened((site / PAGES[0]).as_uri(), **LOOKS[look]).page
    other = {"light": "dark", "dark": "light"}[look]
    for name in (
        "reference/environments/ride-share.html",
        *(f"tutorials/{p.stem}.html" for p in sorted((site / "tutorials").glob("0[1235]_*.html"))),
    ):
        page.goto((site / name).as_uri())
        assert page.locator(f".only-{look}").is_visible(), name
        assert not page.locator(f".only-{other}").is_visible(), name
    page.goto((site / "results/zoo.html").as_uri())
    dimmed = page.evaluate("getComputedStyle(document.querySelector('article img')).filter")
    assert (dimmed != "none") == (look == "dark")


def test_a_tutorial_shows_results_as_tables(site: Path) -> None:
    text = (site / "tutorials/02_own_agent.html").read_text(encoding="utf-8")
    _, cell = text.split('<span class="n">results</span>\n</pre>')
    assert re.findall(r"<caption[^>]*>([A-Z]\w+)", cell) == ["Regret", "Both"]


def test_search_finds_pages(address: str, opened: Callable[..., Watched]) -> None:
    page = opened(f"{address}/search.html?q=ride+requests").page
    results = page.locator("#search-results li a")
    until(page, lambda: results.count() > 0)
    found = results.evaluate_all("links => links.map(link => link.href)")
    assert any("reference/environments/ride-share" in link for link in found)
