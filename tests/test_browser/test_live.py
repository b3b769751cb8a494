"""The page while a sweep runs."""

import copy
from typing import Any

from evaluation.page.serve import PageServer
from tests.test_browser.conftest import until
from tests.test_browser.test_page import agents, heading
from tests.test_evaluation.page_content import content
from tests.test_evaluation.test_serve import answering


class Sweep:
    """Content of a sweep, continued by the test."""

    def __init__(self) -> None:
        self.now = content(agents=4, envs=2, steps=20)
        self.now["progress"] = {"done": 10, "of": 80, "failed": 0, "failures": []}

    def __call__(self) -> dict[str, Any]:
        return self.now

    def go_on(self) -> None:
        """A fifth agent, and a failure."""
        new = copy.deepcopy(content(agents=5, envs=2, steps=20))
        failures = [["gp-ucb", "<b>x</b>", 3, "took longer than 300 s"]]
        new["progress"] = {"done": 50, "of": 80, "failed": 1, "failures": failures}
        self.now = new


def test_page_follows_a_sweep_without_a_reload(opened: Any) -> None:
    """Sort, filter, world, focus and scroll are kept; the end of the server is reported."""
    sweep = Sweep()
    with PageServer(sweep) as server, answering(server):
        watched = opened(server.url)
        page = watched.page
        assert "10 of 80 runs done" in page.locator("#progress").inner_text()
        page.evaluate("window.sameDocument = true")
        page.fill("#filter", "-")
        page.locator('[data-key="world"]').select_option(index=1)
        heading(page, "agent").click()
        heading(page, "agent").click()
        before = agents(page)
        page.evaluate("scrollTo(0, 300)")
        sweep.go_on()
        until(page, lambda: len(agents(page)) == 5)
        assert agents(page) == sorted({*before, *agents(page)}, reverse=True)
        assert page.evaluate("window.sameDocument") is True
        # Approximately: rows were added above the visible ones.
        assert 250 < page.evaluate("scrollY") < 400
        assert page.evaluate("document.activeElement.dataset.key") == "sort ranking agent"
        assert page.locator("#worlds h3").first.inner_text() == "PeriodicGP-SyntheticDiscrete-v0"
        assert "50 of 80 runs done, 1 failed" in page.locator("#progress").inner_text()
        assert "<b>x</b>" in page.locator("#progress li").all_text_contents()[0]
    until(page, lambda: "gone" in page.locator("#connection").inner_text())
    assert len(agents(page)) == 5
    assert {url.split("?")[0] for url in watched.requests if not url.startswith("data:")} == {
        server.url,
        f"{server.url}content.json",
        f"{server.url}plotly.min.js",
    }
    # The browser itself reports the unanswered request.
    assert all("ERR_CONNECTION_REFUSED" in error for error in watched.errors)
    watched.errors.clear()
