"""One headless Chromium for all of these tests, and pages whose actions are recorded."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evaluation.page import write_page
from tests.test_evaluation.page_content import content

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def _missing(text: str) -> None:
    if os.environ.get("PERIODIC_GP_REQUIRE_BROWSER"):
        pytest.fail(f"{text}, and PERIODIC_GP_REQUIRE_BROWSER is set")
    pytest.skip(f"SKIPPED: {text}")


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """The Chromium of this machine, controlled by Playwright."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("Playwright is not installed")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        _missing("there is no Chromium on this machine")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's own refuses to be root
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=sandbox)
        yield browser
        browser.close()


def until(page: Any, check: Callable[[], bool]) -> None:
    """Wait for a condition; the page's policy forbids Playwright's own way, eval."""
    for _ in range(300):
        if check():
            return
        page.wait_for_timeout(50)
    raise AssertionError("condition not met within 15 s")


@dataclass
class Watched:
    """A page with its errors and dialogs, and its requests."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", self._dialog)

    def _dialog(self, dialog: Any) -> None:
        self.errors.append(dialog.message)
        dialog.dismiss()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Watched]]:
    """Open pages in contexts of their own, and fail on their errors and dialogs."""
    watched: list[tuple[Any, Watched]] = []

    def open_page(url: str, **options: Any) -> Watched:
        # So low that no chart is near at first: Plotly takes a second to start.
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 600}, **options})
        context.set_default_timeout(15_000)
        own = Watched(context.new_page())
        own.watch()
        watched.append((context, own))
        own.page.goto(url)
        return own

    yield open_page
    for context, _ in watched:
        context.close()
    for _, own in watched:
        assert own.errors == []


@pytest.fixture(scope="package")
def made() -> dict[str, Any]:
    """Ten agents, half of them with hostile names, in four worlds."""
    return content(agents=10, envs=4, steps=60, hostile=True)


@pytest.fixture(scope="package")
def file_url(made: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("page") / "page.html"
    return write_page(path, made).as_uri()


@pytest.fixture
def watched(opened: Callable[..., Watched], file_url: str) -> Watched:
    """The page, opened from disk."""
    return opened(file_url)


@pytest.fixture
def page(watched: Watched, file_url: str) -> Iterator[Any]:
    """The page, which may request nothing but its own files."""
    yield watched.page
    outside = [url for url in watched.requests if not url.startswith(("data:", "blob:"))]
    assert set(outside) == {file_url, file_url.replace("page.html", "plotly.min.js")}
