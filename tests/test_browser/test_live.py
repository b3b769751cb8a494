"""The page while a sweep runs."""

import copy
import re
from typing import Any

from evaluation.report.serve import PageServer
from tests.test_browser.conftest import until
from tests.test_browser.test_page import agents, heading
from tests.test_evaluation.page_content import content
from tests.test_evaluation.test_serve import answering


class Sweep:
    """Content of a sweep that goes on when a test says so."""

    def __init__(self) -> None:
        self.now = content(agents=4, envs=2, steps=20)
        self.now["progress"] = {"done": 10, "of": 80, "failed": 0, "failures": []}

    def __call__(self) -> dict[str, Any]:
        return self.now

    def go_on(self) -> None:
        """A fifth agent, two failures."""
        new = copy.deepcopy(content(agents=5, envs=2, steps=20))
        failures = [["gp-ucb", "<b>x</b>", 3, "took longer than 300 s"]]
        new["progress"] = {"done": 50, "of": 80, "failed": 1, "failures": failures, "as_of": 1e9}
        self.now = new


def test_a_sweep_is_followed_without_a_reload(opened: Any) -> None:
    """Sort, filter, tab, focus and scroll stay; when the server goes, that is said once."""
    sweep = Sweep()
    with PageServer(sweep) as server, answering(server):
        watched = opened(server.url)
        page = watched.page
        assert "10 of 80 runs done" in page.locator("#progress").inner_text()
        page.evaluate("window.sameDocument = true")
        page.fill("#filter", "-")
        page.locator("#env-tabs [role=tab]").nth(1).click()
        heading(page, "agent").click()
        heading(page, "agent").click()
        before = agents(page)
        page.evaluate("scrollTo(0, 300)")
        sweep.go_on()
        until(page, lambda: len(agents(page)) == 5)
        assert agents(page) == sorted({*before, *agents(page)}, reverse=True)
        assert page.evaluate("window.sameDocument") is True
        # Not to the pixel: the browser holds what is in view, and there is more above it now.
        assert 250 < page.evaluate("scrollY") < 400
        assert page.evaluate("document.activeElement.dataset.key") == "sort agent"
        assert page.locator("#env-1").is_visible()
        assert not page.locator("#env-0").is_visible()
        progress = page.locator("#progress").inner_text()
        said = r"50 of 80 runs done, 1 failure; tables as of (08|09)/09/2001, \d\d:\d\d:40"
        assert re.search(said, progress)
        assert "<b>x</b>" in page.locator("#progress td").all_text_contents()
    until(page, lambda: "gone" in page.locator("#connection").inner_text())
    assert len(agents(page)) == 5
    assert {url.split("?")[0] for url in watched.requests if not url.startswith("data:")} == {
        server.url,
        f"{server.url}content.json",
        f"{server.url}events",
    }
    # The browser itself reports the request that nobody answered.
    assert all("ERR_CONNECTION_REFUSED" in error for error in watched.errors)
    watched.errors.clear()
