"""The page in a browser, opened from disk."""

import copy
import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.page import render, write_page
from tests.test_browser.conftest import Watched, until
from tests.test_evaluation.page_content import HOSTILE, sparse

SORTED = "#table-ranking th:is([aria-sort=ascending], [aria-sort=descending])"


def agents(page: Any) -> list[str]:
    return page.eval_on_selector_all(
        "#table-ranking .agent-name", "nodes => nodes.map(node => node.textContent)"
    )


def heading(page: Any, key: str) -> Any:
    return page.locator(f'#table-ranking [data-key="sort ranking {key}"]')


def lines(page: Any, chart: str) -> int:
    """Count the visible curves and bands of a chart."""
    return page.locator(f'[data-chart^="{chart}"] .scatterlayer .trace').count()


def rows(made: dict[str, Any]) -> list[dict[str, Any]]:
    return made["boards"][0]["rows"]


def expected(made: dict[str, Any], value: Callable[[Any], Any], *, down: bool) -> list[str]:
    known = [row for row in rows(made) if value(row) is not None]
    unknown = [row for row in rows(made) if value(row) is None]
    return [row["agent"] for row in sorted(known, key=value, reverse=down) + unknown]


def test_page_sorts_columns_both_ways(page: Any, made: dict[str, Any]) -> None:
    """Rows without a value come last either way."""
    assert agents(page) == [row["agent"] for row in rows(made)]
    columns: dict[str, Callable[[Any], Any]] = {
        "normalised": lambda row: row["normalised"][0],
        "ms_per_step": lambda row: row["ms_per_step"],
        "PeriodicGP-SyntheticDiscrete-v0": lambda row: (
            row["envs"][1] and row["envs"][1]["normalised"][0]
        ),
    }
    for key, value in columns.items():
        for down, direction in ((False, "ascending"), (True, "descending")):
            heading(page, key).click()
            assert agents(page) == expected(made, value, down=down)
            assert page.locator(SORTED).count() == 1
            assert page.locator(SORTED).get_attribute("aria-sort") == direction


def test_page_is_used_by_keyboard(page: Any, made: dict[str, Any]) -> None:
    where = "document.activeElement.dataset.key ?? ''"
    heading(page, "rank").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert agents(page) != [row["agent"] for row in rows(made)]
    assert sorted(agents(page)) == sorted(row["agent"] for row in rows(made))
    assert page.evaluate(where) == "sort ranking agent"
    page.locator(".agent-name").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".details").count() == 1
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.keyboard.press("Space")
    assert page.locator(".details").count() == 0


def test_page_filters_by_agent_author_and_tier(page: Any, made: dict[str, Any]) -> None:
    page.fill("#filter", "  UCB ")
    assert agents(page) == [row["agent"] for row in rows(made) if "ucb" in row["agent"]]
    page.fill("#filter", "b. author")
    assert len(agents(page)) == len(rows(made)) - 1
    page.fill("#filter", "replayed")
    assert agents(page) == [row["agent"] for row in rows(made) if row["tier"] == "replayed"]
    assert page.locator("#count").inner_text() == f"{len(agents(page))} of {len(rows(made))} agents"
    page.fill("#filter", "no such agent")
    assert page.locator("#ranking .empty").inner_text() == "No agents match the filter."


def test_page_legend_shows_and_hides_curves(page: Any) -> None:
    until(page, lambda: lines(page, "curves") == 12)  # the best six, a line and a band each
    names = page.locator('[data-chart^="curves"] .legendtoggle')
    assert names.count() == 11  # ten agents and a reference
    names.nth(1).click()
    until(page, lambda: lines(page, "curves") == 10)
    names.nth(0).click()
    until(page, lambda: lines(page, "curves") == 12)
    assert lines(page, "phases") == 6
    page.locator('[data-key="world"]').select_option(index=2)
    assert page.locator("#worlds h3").first.inner_text() == "PeriodicGP-Stationary-v0"
    until(page, lambda: lines(page, "curves") == 12)


def test_page_compares_two_agents(page: Any, made: dict[str, Any]) -> None:
    third, fifth = rows(made)[2]["agent"], rows(made)[4]["agent"]
    chosen = page.locator("#compare select")
    chosen.nth(0).select_option(index=2)
    chosen.nth(1).select_option(index=4)
    assert [chosen.nth(i).input_value() for i in (0, 1)] == [third, fifth]
    cells = page.locator("#table-pairs tbody tr")
    assert cells.count() == 1 + 4
    table = made["boards"][0]["pairs"]["all"]
    difference = table["difference"][2][4]
    assert table["high"][2][4] < 0
    gap = cells.nth(0).locator("td").nth(0).inner_text()
    assert gap == f"{difference:.3f}".replace("-", "\u2212")
    assert cells.nth(0).locator("td").last.inner_text() == third
    assert page.locator("#verdict").inner_text() == f"Over all worlds, better: {third}."
    chosen.nth(0).select_option(index=4)  # both the same: they change places
    assert [chosen.nth(i).input_value() for i in (0, 1)] == [fifth, third]
    assert cells.nth(0).locator("td").nth(0).inner_text() == f"+{-difference:.3f}"


def test_page_shows_each_board_and_empty_ones(page: Any, made: dict[str, Any]) -> None:
    page.locator("#board-choice").select_option(index=1)
    assert agents(page) == [row["agent"] for row in made["boards"][1]["rows"]]
    page.locator("#board-choice").select_option(index=2)
    assert page.locator("#ranking .empty").inner_text() == "No agents on this board yet."
    for section in ("#compare", "#profiles"):
        assert not page.locator(section).is_visible()


def changed(
    made: dict[str, Any], tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> str:
    """Write a page with changed content and return its address."""
    other = copy.deepcopy(made)
    change(other)
    return write_page(tmp_path / "changed.html", other).as_uri()


def test_page_draws_sparse_content(opened: Callable[..., Watched], tmp_path: Path) -> None:
    """A board with missing values, and a page without boards."""
    page = opened(changed(sparse(), tmp_path, lambda content: None)).page
    assert agents(page) == ["alone", "alone", "nothing"]
    until(page, lambda: lines(page, "curves") == 2)
    assert page.locator("#verdict").inner_text() == "Over all worlds, better: –."
    assert not page.locator("#profiles").is_visible()
    write_page(tmp_path / "changed.html", {**sparse(), "boards": []})
    page.reload()
    assert page.locator("#ranking .empty").inner_text() == "No agents on this board yet."


def test_page_reports_missing_plotly(
    opened: Callable[..., Watched], made: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "alone.html").write_text(render(made), encoding="utf-8")
    watched = opened((tmp_path / "alone.html").as_uri())
    until(watched.page, watched.page.locator("#missing").is_visible)
    assert len(agents(watched.page)) == 10
    watched.errors.clear()  # of the browser, on the file


def saved(page: Any, table: str) -> list[list[str]]:
    with page.expect_download() as download:
        page.locator(f'[data-key="csv {table}"]').click()
    text = download.value.path().read_bytes().decode()
    return list(csv.reader(io.StringIO(text, newline="")))


def test_page_saves_tables_as_csv(page: Any, made: dict[str, Any]) -> None:
    """Numbers are unrounded, and names are not formulas of a spreadsheet."""
    head, *lines = saved(page, "ranking")
    place = {name: i for i, name in enumerate(head)}
    names = [row["agent"] for row in rows(made)]
    assert [line[place["agent"]] for line in lines] == [
        f"'{name}" if name.startswith("=") else name for name in names
    ]
    lows = [float(line[place["normalised_low"]]) for line in lines[:-1]]
    assert lows == pytest.approx([row["normalised"][1] for row in rows(made)[:-1]])
    assert lines[-1][place["normalised"]] == ""
    pairs = saved(page, "pairs")
    first = made["boards"][0]["pairs"]["all"]["difference"][0][1]
    assert float(pairs[1][pairs[0].index("difference")]) == pytest.approx(first)
    assert first < 0  # and a negative number is no formula


def test_page_shows_and_sorts_a_new_column(
    opened: Callable[..., Watched], made: dict[str, Any], tmp_path: Path
) -> None:
    """The script works for any column of the content."""

    def add(new: dict[str, Any]) -> None:
        column = {"key": "median", "label": "Median", "title": "Of runs", "digits": 4}
        for board in new["boards"]:
            board["columns"].append({**column, "interval": True})
            board["world_columns"].append({**column, "interval": False})
            for i, row in enumerate(board["rows"]):
                row["median"] = [10.0 - i, 9.5 - i, None] if i else None
                for env in filter(None, row["envs"]):
                    env["median"] = 0.25 + i

    page = opened(changed(made, tmp_path, add)).page
    heading(page, "median").click()
    last = made["boards"][0]["rows"][0]["agent"]
    assert agents(page) == [row["agent"] for row in rows(made)[:0:-1]] + [last]
    assert "1.0000" in page.locator("#table-ranking tbody tr").first.inner_text()
    assert heading(page, "median").get_attribute("title") == "Of runs"
    page.locator("#worlds summary").click()
    assert "Median" in page.locator("#table-numbers th").all_inner_texts()
    assert "0.2500" in page.locator("#table-numbers td").all_inner_texts()


def test_page_shows_hostile_names_as_text(page: Any) -> None:
    """Also in menus and in Plotly's legend, which interprets some HTML."""
    assert set(HOSTILE) <= set(agents(page))
    legend = page.locator('[data-chart^="curves"] .legendtext')
    until(page, lambda: HOSTILE[0] in legend.all_text_contents())
    assert any(text.startswith("</script><img src=x") for text in legend.all_text_contents())
    assert page.locator("img[src=x], #page script, #page b").count() == 0
    assert HOSTILE[1] in page.locator("#compare option").all_text_contents()


def test_page_links_web_addresses_only(page: Any) -> None:
    names = page.locator(".agent-name")
    names.nth(0).click()
    link = page.locator(".details a")
    assert link.get_attribute("href") == "https://example.org/agents/0"
    assert link.get_attribute("rel") == "noopener noreferrer"
    names.nth(0).click()
    names.nth(1).click()
    assert "javascript:alert(1)" in page.locator(".details").inner_text()
    assert link.count() == 0


def test_page_policy_stops_an_injected_script(opened: Any, file_url: str) -> None:
    watched = opened(file_url)
    watched.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.hole = 1';"
        " document.body.append(s); }"
    )
    assert watched.page.evaluate("window.hole") is None
    assert "Content Security Policy" in watched.errors.pop()


def test_page_has_a_dark_and_a_light_look(
    opened: Callable[..., Watched], made: dict[str, Any], tmp_path: Path
) -> None:
    def simulate(page: dict[str, Any]) -> None:
        page["boards"][0]["envs"][0]["simulated"] = True

    page = opened(changed(made, tmp_path, simulate), color_scheme="dark").page
    paper = "getComputedStyle(document.body).backgroundColor"
    card = "getComputedStyle(document.querySelector('.picture')).backgroundColor"
    dark = page.evaluate(paper)
    assert page.evaluate(card) == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Light").click()
    light = page.evaluate(paper)
    assert sum(map(int, dark[4:-1].split(","))) < 150 < 600 < sum(map(int, light[4:-1].split(",")))
    assert "PeriodicGP-Synthetic-v0, simulated" in page.locator("#worlds").inner_text()


def test_page_scrolls_tables_on_a_phone(opened: Callable[..., Watched], file_url: str) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    page = opened(file_url, **phone).page
    page.locator(".agent-name").nth(3).click()
    until(page, lambda: lines(page, "profiles") > 0)
    assert page.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [390, 390]
    box = page.locator("#ranking .scroller")
    assert box.evaluate("node => node.scrollWidth > node.clientWidth")
    box.evaluate("node => (node.scrollLeft = 300)")
    left = box.evaluate("node => node.getBoundingClientRect().left")
    name = page.locator("#table-ranking th.name[scope=row]").first
    assert name.bounding_box()["x"] == pytest.approx(left)


def test_page_is_accessible(page: Any) -> None:
    """Ids are unique; every control, table and picture has a name."""
    problems = page.evaluate(
        """() => {
        const all = (s) => [...document.querySelectorAll(s)];
        const ids = all("[id]").map((node) => node.id);
        const bad = ids.filter((id, i) => ids.indexOf(id) !== i);
        for (const node of all("#page input, #page select"))
          if (!node.labels.length && !node.ariaLabel) bad.push(node.outerHTML);
        for (const node of all("#page table, #page button, img"))
          if (!(node.caption ?? node).textContent.trim() && !node.alt) bad.push(node.outerHTML);
        return bad;
      }"""
    )
    assert problems == []
    assert page.locator("main, header").count() >= 2
    assert page.locator("h1").count() == 1
