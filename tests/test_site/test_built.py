"""The built site of ``make docs``: its links, and ten pages in a browser."""

import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.test_browser.conftest import Watched, until

from site_pages.checks import dead_links  # isort: skip

PAGES = (
    "index.html",
    "tutorials/01_own_agent.html",
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
    """The address of a server of the site, which the search needs."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_site_has_no_dead_links(site: Path) -> None:
    assert dead_links(site) == []


@pytest.mark.parametrize("look", sorted(LOOKS))
def test_site_pages_open_from_disk(site: Path, opened: Callable[..., Watched], look: str) -> None:
    """Nothing is fetched or wider than the window, and all pictures are complete."""
    watched = opened((site / PAGES[0]).as_uri(), **LOOKS[look])
    page = watched.page
    for name in PAGES:
        page.goto((site / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        until(page, lambda: page.evaluate(PICTURES))
        colour = page.evaluate(LETTERS)[4:-1].split(",")[:3]
        assert (min(map(float, colour)) > 128) == (look == "dark"), name
    assert [url for url in watched.requests if not url.startswith(("file:", "data:"))] == []


def test_site_scrolls_wide_tables_on_a_phone(site: Path, opened: Callable[..., Watched]) -> None:
    page = opened((site / "results/zoo.html").as_uri(), **LOOKS["phone"]).page
    wide = """[...document.querySelectorAll('article table')].filter(
        table => table.offsetWidth > document.querySelector('article').clientWidth)"""
    scrolls = """table => { for (let box = table; (box = box.parentElement); )
        if (getComputedStyle(box).overflowX === 'auto') return true; }"""
    assert page.evaluate(f"{wide}.length") > 0
    assert page.evaluate(f"{wide}.every({scrolls})")


@pytest.mark.parametrize("look", ["light", "dark"])
def test_site_dims_pictures_on_dark_pages(
    site: Path, opened: Callable[..., Watched], look: str
) -> None:
    page = opened((site / PAGES[0]).as_uri(), **LOOKS[look]).page
    for name in (
        "index.html",
        "reference/environments/ride-share.html",
        "results/zoo.html",
        *(f"tutorials/{p.stem}.html" for p in sorted((site / "tutorials").glob("0[12]_*.html"))),
    ):
        page.goto((site / name).as_uri())
        dimmed = page.evaluate("getComputedStyle(document.querySelector('article img')).filter")
        assert (dimmed != "none") == (look == "dark"), name


def test_site_search_finds_pages(address: str, opened: Callable[..., Watched]) -> None:
    page = opened(f"{address}/search.html?q=ride+requests").page
    results = page.locator("#search-results li a")
    until(page, lambda: results.count() > 0)
    links = results.evaluate_all("links => links.map(link => link.href)")
    assert any("reference/environments/ride-share" in link for link in links)
