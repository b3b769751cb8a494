"""Speed of the HTML page with the largest supported number of agents and worlds.

The script makes a page of 30 agents x 15 worlds (200 steps, ten runs) and opens it from disk in a
new headless Chromium. It prints the median time

- until the rank table is on the screen;
- until the page has loaded;
- from scrolling to the first curves until they are drawn;
- to sort the table;
- to select a different world.

    python benchmarks/page.py [--agents 30] [--envs 15] [--repeats 5] [--page page.html]

With --page, an existing page is opened instead.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1]))
from evaluation.page import write_page
from tests.test_evaluation.page_content import content

console = Console()

PAINTED = """() => new Promise((done) => {
  const seen = () => performance.getEntriesByName("first-contentful-paint")[0];
  const look = () => (seen() && document.querySelector("tr.agent")
    ? requestAnimationFrame(() => done(performance.now())) : setTimeout(look, 10));
  look();
})"""
LOADED = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"
TIMED = """(selector) => {
  const begin = performance.now();
  document.querySelector(selector).click();
  document.body.getBoundingClientRect();  // the layout counts, too
  return performance.now() - begin;
}"""

CHANGED = """() => {
  const begin = performance.now();
  const choice = document.querySelector('[data-key="world"]');
  choice.selectedIndex = 1;
  choice.dispatchEvent(new Event("change"));
  document.body.getBoundingClientRect();
  return performance.now() - begin;
}"""


def measure(browser: Browser, url: str) -> dict[str, float]:
    """Return the times of one visit in a new browser context, in milliseconds."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page: Any = context.new_page()
    page.goto(url, wait_until="commit")
    found = {"table painted": page.evaluate(PAINTED)}
    page.wait_for_load_state("load")
    page.wait_for_timeout(50)
    found["page loaded"] = page.evaluate(LOADED)
    begin = time.perf_counter()
    page.locator("#worlds .chart").first.scroll_into_view_if_needed()
    page.wait_for_selector("#worlds .scatterlayer .trace", state="attached")
    found["first curves after scrolling there"] = 1e3 * (time.perf_counter() - begin)
    found["sorting"] = page.evaluate(TIMED, '[data-key="sort ranking ms_per_step"]')
    found["another world"] = page.evaluate(CHANGED)
    context.close()
    return found


def main() -> None:
    """Render the page, visit it and print the times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--agents", type=int, default=30)
    parser.add_argument("--envs", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.page or Path(folder) / "page.html"
        if options.page is None:
            made = content(agents=options.agents, envs=options.envs)
            begin = time.perf_counter()
            write_page(path, made)
            console.print(f"rendering: {time.perf_counter() - begin:.2f} s")
        console.print(f"size: {path.stat().st_size / 1e6:.1f} MB")
        visits = visit(path.resolve().as_uri(), options.repeats)
    for name in visits[0]:
        times = [found[name] for found in visits]
        console.print(f"{name}: {statistics.median(times):.0f} ms (worst {max(times):.0f})")


def visit(url: str, repeats: int) -> list[dict[str, float]]:
    """Return the times of several visits, each in a new browser without compiled scripts."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    visits = []
    with sync_playwright() as playwright:
        for _ in range(repeats):
            chromium = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=sandbox)
            visits.append(measure(browser, url))
            browser.close()
    return visits


if __name__ == "__main__":
    main()
