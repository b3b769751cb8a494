"""The page in a browser, from disk."""

import copy
import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.report import render
from tests.test_browser.conftest import Watched, until
from tests.test_evaluation.page_content import HOSTILE, sparse

SORTED = "#ranks th:is([aria-sort=ascending], [aria-sort=descending])"


def agents(page: Any) -> list[str]:
    return page.eval_on_selector_all(
        "#ranks tr.agent .agent-name .name", "nodes => nodes.map(node => node.textContent)"
    )


def heading(page: Any, key: str) -> Any:
    return page.locator(f'#ranks [data-key="sort {key}"]')


def traces(page: Any, chart: str) -> int:
    return page.locator(f'[data-chart^="{chart}"] .scatterlayer .trace').count()


def rows(made: dict[str, Any]) -> list[dict[str, Any]]:
    return made["boards"][0]["rows"]


def expected(made: dict[str, Any], value: Callable[[Any], Any], *, down: bool) -> list[str]:
    known = [row for row in rows(made) if value(row) is not None]
    unknown = [row for row in rows(made) if value(row) is None]
    return [row["agent"] for row in sorted(known, key=value, reverse=down) + unknown]


def _number(row: dict[str, Any], name: str) -> float | None:
    return row[name] and row[name][0]


def test_columns_sort_both_ways(page: Any, made: dict[str, Any]) -> None:
    """What has no value comes last either way."""
    assert agents(page) == [row["agent"] for row in rows(made)]
    columns: dict[str, Callable[[Any], Any]] = {
        "normalised": lambda row: _number(row, "normalised"),
        "ms_per_step": lambda row: row["ms_per_step"],
        "env PeriodicGP-SyntheticDiscrete-v0": lambda row: (
            row["envs"][1] and _number(row["envs"][1], "normalised")
        ),
    }
    for key, value in columns.items():
        for down, direction in ((False, "ascending"), (True, "descending")):
            heading(page, key).click()
            assert agents(page) == expected(made, value, down=down)
            assert page.locator(SORTED).count() == 1
            assert page.locator(SORTED).get_attribute("aria-sort") == direction


def test_the_keyboard_sorts_opens_and_keeps_its_place(page: Any, made: dict[str, Any]) -> None:
    page.focus("#csv-worlds")
    where = "document.activeElement.dataset.key ?? ''"
    for _ in range(5):
        page.keyboard.press("Tab")
        if page.evaluate(where) == "sort agent":
            break
    page.keyboard.press("Enter")
    assert agents(page) == expected(made, lambda row: row["agent"].lower(), down=False)
    assert page.evaluate(where) == "sort agent"
    page.locator(".agent-name").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".details .provenance").count() == 1
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.keyboard.press("Space")
    assert page.locator(".details").count() == 0


def test_filters(page: Any, made: dict[str, Any]) -> None:
    page.fill("#filter", "  UCB ")
    wanted = [row["agent"] for row in rows(made) if "ucb" in row["agent"]]
    assert agents(page) == wanted
    page.fill("#filter", "b. author")
    assert len(agents(page)) == len(rows(made)) - 1
    page.fill("#filter", "")
    page.locator("#tiers").get_by_label("replayed").check()
    assert agents(page) == [row["agent"] for row in rows(made) if row["tier"] == "replayed"]
    page.locator("#tiers").get_by_label("re-run").check()
    chosen = {"replayed", "re-run"}
    assert agents(page) == [row["agent"] for row in rows(made) if row["tier"] in chosen]
    page.fill("#filter", "nobody is called so")
    assert page.locator("#ranks .empty").inner_text() == "No agent passes the filter."


def test_curves_are_toggled(page: Any) -> None:
    page.locator("#worlds").scroll_into_view_if_needed()
    page.wait_for_selector('[data-chart^="curves"] .scatterlayer .trace')
    assert traces(page, "curves") == 12  # the best six, a line and a band each
    shown = page.locator("#env-0 .legend label:has(:checked)")
    shown.first.locator("input").uncheck()
    until(page, lambda: page.locator("#env-0 .scatterlayer .trace").count() == 10)
    page.locator("#env-0").get_by_label("best-fixed").check()
    until(page, lambda: page.locator("#env-0 .scatterlayer .trace").count() == 12)
    page.locator("#env-0").get_by_role("button", name="None").click()
    until(page, lambda: page.locator("#env-0 .scatterlayer .trace").count() == 0)
    page.locator("#profiles").scroll_into_view_if_needed()
    assert page.locator("#profiles .legend :checked").count() == 0


def test_two_rows_are_compared(page: Any, made: dict[str, Any]) -> None:
    third, fifth = rows(made)[2]["agent"], rows(made)[4]["agent"]
    picks = page.locator("#ranks tr.agent .pick input")
    picks.nth(2).check()
    picks.nth(4).check()
    chosen = page.locator("#compare select")
    assert [chosen.nth(i).input_value() for i in (0, 1)] == [third, fifth]
    assert page.locator("#ranks .pick :checked").count() == 2
    lines = page.locator("#pairs tbody tr")
    assert lines.count() == 1 + 4
    table = made["boards"][0]["pairs"]["all"]
    difference = table["difference"][2][4]
    assert table["high"][2][4] < 0
    run = lines.nth(0).locator("td").nth(0).inner_text()
    assert run == f"{difference:.3f}".replace("-", "\u2212")
    assert lines.nth(0).locator("td").last.inner_text() == third
    assert page.locator("#pairs svg.forest").count() == 5
    assert page.locator("#pairs svg.forest.first").count() >= 1
    page.get_by_role("button", name="Swap").click()
    assert lines.nth(0).locator("td").nth(0).inner_text() == f"+{-difference:.3f}"
    assert lines.nth(0).locator("td").last.inner_text() == third
    chosen.nth(0).select_option(index=0)
    assert chosen.nth(1).input_value() == third


def test_arrows_move_along_tabs(page: Any) -> None:
    tabs = page.locator("#env-tabs [role=tab]")
    tabs.nth(0).focus()
    for key, shown in (
        ("ArrowRight", 1),
        ("ArrowLeft", 0),
        ("ArrowLeft", 3),
        ("Home", 0),
        ("End", 3),
    ):
        page.keyboard.press(key)
        assert [tabs.nth(i).get_attribute("aria-selected") for i in range(4)].index("true") == shown
        assert [page.locator(f"#env-{i}").is_visible() for i in range(4)].index(True) == shown
        assert page.evaluate("document.activeElement.id") == f"env-tab-{shown}"
    assert page.locator("#env-tabs [tabindex='0']").count() == 1


def test_boards_stay_apart_and_may_be_empty(page: Any, made: dict[str, Any]) -> None:
    page.get_by_role("tab", name="Self-reported").click()
    assert agents(page) == [row["agent"] for row in made["boards"][1]["rows"]]
    page.keyboard.press("ArrowRight")
    assert page.locator("#ranks .empty").inner_text() == "No agents on this board yet."
    assert not page.locator("#compare").is_visible()
    assert not page.locator("#sensitivity").is_visible()


def test_whatever_may_be_missing_may_be_missing(
    opened: Callable[..., Watched], tmp_path: Path
) -> None:
    """A board with little on it, and a page without boards: drawn, without an error."""
    path = tmp_path / "sparse.html"
    path.write_text(render(sparse()), encoding="utf-8")
    page = opened(path.as_uri()).page
    assert agents(page) == ["alone", "alone", "nothing"]
    page.locator("#worlds").scroll_into_view_if_needed()
    page.wait_for_selector("#env-0 .scatterlayer .trace")
    assert "cannot be compared" in page.locator("#compare .lead").inner_text()
    assert not page.locator("#profiles, #sensitivity").last.is_visible()
    for selector in ("#csv-ranking", "#csv-worlds", "#csv-pairs"):
        assert saved(page, selector)
    path.write_text(render({**sparse(), "boards": []}), encoding="utf-8")
    page.reload()
    assert page.locator("#ranks .empty").inner_text() == "No agents on this board yet."


def saved(page: Any, selector: str) -> list[list[str]]:
    with page.expect_download() as download:
        page.locator(selector).click()
    text = download.value.path().read_bytes().decode()
    return list(csv.reader(io.StringIO(text, newline="")))


def test_downloads_hold_the_numbers(page: Any, made: dict[str, Any]) -> None:
    """As they are; and no name becomes a formula in a spreadsheet."""
    head, *lines = saved(page, "#csv-ranking")
    place = {name: i for i, name in enumerate(head)}
    safe = [
        f"'{name}" if name.startswith("=") else name for name in [r["agent"] for r in rows(made)]
    ]
    assert [line[place["agent"]] for line in lines] == safe
    assert "'=cmd()" in safe
    lows = [float(line[place["normalised_low"]]) for line in lines[:-1]]
    assert lows == pytest.approx([row["normalised"][1] for row in rows(made)[:-1]], rel=1e-6)
    assert lines[-1][place["normalised"]] == ""
    worlds = saved(page, "#csv-worlds")
    assert len(worlds) == 1 + 4 * 11 - 1  # ten agents and a reference, one run not run
    curves = saved(page, "#env-0 .csv-curves")
    assert len(curves) == 1 + 11 * 60
    last = rows(made)[0]["envs"][0]["curve"]["mean"][-1]
    assert float(curves[60][3]) == pytest.approx(last, rel=1e-6)
    pairs = saved(page, "#csv-pairs")
    assert len(pairs) == 1 + 5 * 10 * 9
    first = made["boards"][0]["pairs"]["all"]["difference"][0][1]
    assert float(pairs[1][3]) == pytest.approx(first, rel=1e-6)
    assert first < 0  # and a negative number is no formula


def test_a_column_that_python_declares_is_shown_sorted_and_saved(
    opened: Callable[..., Watched], made: dict[str, Any], tmp_path: Path
) -> None:
    """No script knows its name."""
    new = copy.deepcopy(made)
    column = {"key": "median", "label": "Median", "title": "Of runs", "digits": 4}
    for board in new["boards"]:
        board["columns"].append({**column, "interval": True})
        board["world_columns"].append({**column, "interval": False})
        for i, row in enumerate(board["rows"]):
            row["median"] = [10.0 - i, 9.5 - i, None] if i else None
            for env in filter(None, row["envs"]):
                env["median"] = 0.25 + i
    path = tmp_path / "column.html"
    path.write_text(render(new), encoding="utf-8")
    page = opened(path.as_uri()).page
    heading(page, "median").click()
    assert agents(page) == expected(new, lambda row: _number(row, "median"), down=False)
    assert page.locator("td.c-median").first.inner_text().startswith("1.0000")
    assert heading(page, "median").get_attribute("title") == "Of runs"
    head, *lines = saved(page, "#csv-ranking")
    places = [head.index(name) for name in ("median", "median_low", "median_high")]
    assert [lines[1][place] for place in places] == ["9", "8.5", ""]
    head, *lines = saved(page, "#csv-worlds")
    assert lines[0][head.index("median")] == "0.25"
    page.locator("#env-0 summary").click()
    assert "Median" in page.locator("#env-0 .numbers th").all_inner_texts()
    assert "0.2500" in page.locator("#env-0 .numbers td").all_inner_texts()


def test_hostile_names_are_text_everywhere(page: Any) -> None:
    """In the table, the legend, the menus and Plotly's labels, which understand some HTML."""
    assert set(HOSTILE) <= set(agents(page))
    page.locator("#env-0 .part").nth(1).scroll_into_view_if_needed()
    found = page.locator('[data-chart^="phases"] .ytick text')
    until(page, lambda: HOSTILE[0] in found.all_text_contents())
    ticks = found.all_text_contents()
    assert any(tick.startswith("</script><img src=x") for tick in ticks)
    assert page.locator("img[src=x], #page script, #page b:has-text('&amp;')").count() == 0
    assert HOSTILE[1] in page.locator("#compare option").all_text_contents()


def test_only_web_addresses_become_links(page: Any) -> None:
    names = page.locator(".agent-name")
    names.nth(0).click()
    link = page.locator(".provenance a")
    assert link.get_attribute("href") == "https://example.org/agents/0"
    assert link.get_attribute("rel") == "noopener noreferrer"
    names.nth(0).click()
    page.locator("tr.agent").nth(1).locator("td").last.click()  # anywhere in the row
    assert "javascript:alert(1)" in page.locator(".provenance").inner_text()
    assert link.count() == 0


def test_a_script_that_gets_in_is_not_run(opened: Any, file_url: str) -> None:
    """Were there a hole, the policy would still stand."""
    watched = opened(file_url)
    watched.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.hole = 1';"
        " document.body.append(s); }"
    )
    assert watched.page.evaluate("window.hole") is None
    assert "Content Security Policy" in watched.errors.pop()


def test_dark_and_light(opened: Callable[..., Watched], file_url: str) -> None:
    page = opened(file_url, color_scheme="dark").page
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_role("button", name="Light").click()
    light = page.evaluate(paper)
    assert sum(map(int, dark[4:-1].split(","))) < 150 < 600 < sum(map(int, light[4:-1].split(",")))
    page.reload()
    assert page.evaluate(paper) == light
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(paper) == dark


def test_a_phone_scrolls_tables_not_the_page(opened: Callable[..., Watched], file_url: str) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    page = opened(file_url, **phone).page
    page.locator(".agent-name").nth(3).click()
    page.locator("#profiles").scroll_into_view_if_needed()
    page.wait_for_selector("#profiles .scatterlayer")
    assert page.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [390, 390]
    box = page.locator("#ranking .scroller")
    assert box.evaluate("node => node.scrollWidth > node.clientWidth")
    box.evaluate("node => (node.scrollLeft = 300)")
    left = box.evaluate("node => node.getBoundingClientRect().left")
    assert page.locator("th.c-agent[scope=row]").first.bounding_box()["x"] == pytest.approx(left)


def changed(
    made: dict[str, Any], tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> str:
    """The address of a page with something changed."""
    other = copy.deepcopy(made)
    change(other)
    path = tmp_path / "changed.html"
    path.write_text(render(other), encoding="utf-8")
    return path.as_uri()


def test_a_table_that_goes_on_says_so(
    opened: Callable[..., Watched], made: dict[str, Any], tmp_path: Path
) -> None:
    def widen(page: dict[str, Any]) -> None:
        board = page["boards"][0]
        board["envs"] = board["envs"] * 3
        for row in [*board["rows"], *board["references"]]:
            row["envs"] = row["envs"] * 3

    url = changed(made, tmp_path, widen)
    page = opened(url).page
    hint, box = page.locator("#scroll-hint"), page.locator("#ranking .scroller")
    assert "columns more: scroll the table sideways" in hint.inner_text()
    assert "more" in box.get_attribute("class").split()
    box.evaluate("node => (node.scrollLeft = node.scrollWidth)")
    until(page, lambda: "more" not in box.get_attribute("class").split())
    page.set_viewport_size({"width": 2400, "height": 600})
    page.evaluate("document.querySelector('main').style.maxWidth = 'none'")
    page.set_viewport_size({"width": 2390, "height": 600})
    until(page, lambda: not hint.is_visible())


def test_own_results_have_no_column_of_trust(
    opened: Callable[..., Watched], made: dict[str, Any], tmp_path: Path
) -> None:
    def untried(page: dict[str, Any]) -> None:
        for row in page["boards"][0]["rows"]:
            row["tier"] = None

    assert opened(changed(made, tmp_path, lambda page: None)).page.locator("th.c-tier").count() == 1
    assert opened(changed(made, tmp_path, untried)).page.locator("th.c-tier").count() == 0


def test_who_is_left_out_by_its_own_word_is_not_incomplete(
    opened: Callable[..., Watched], made: dict[str, Any], tmp_path: Path
) -> None:
    def limit(page: dict[str, Any]) -> None:
        page["boards"][0]["rows"][-1]["only"] = "arms only"

    for change, said in ((lambda page: None, "incomplete"), (limit, "arms only")):
        page = opened(changed(made, tmp_path, change)).page
        assert page.locator("#ranks .partial").all_inner_texts() == [said]


def test_too_few_runs_to_compare_are_said(
    opened: Callable[..., Watched], made: dict[str, Any], tmp_path: Path
) -> None:
    def shorten(page: dict[str, Any]) -> None:
        board = page["boards"][0]
        for pairs in (board["pairs"]["all"], *board["pairs"]["envs"]):
            del pairs["low"], pairs["high"]
        for row in [*board["rows"], *board["references"]]:
            for cell in filter(None, row["envs"]):
                cell["curve"].update(low=None, high=None)

    page = opened(changed(made, tmp_path, shorten)).page
    first, second = (row["agent"] for row in rows(made)[:2])
    said = page.locator("#compare .lead").inner_text()
    assert said == f"Over all worlds there are too few runs to tell {first} and {second} apart."
    assert "not clear in 0, too few runs in 4." in page.locator("#compare").inner_text()
    cells = page.locator("#pairs tbody tr").first.locator("td").all_inner_texts()
    assert (cells[1], cells[-1]) == ("\u2013", "too few runs")
    curves, profiles = (
        page.locator(f'[data-chart^="{name}"]').first.get_attribute("aria-label")
        for name in ("curves", "profiles")
    )
    assert "bands" not in curves
    assert "with 95 % bands" in profiles


def test_simulated_worlds_say_so_and_pictures_follow_the_theme(
    opened: Callable[..., Watched], made: dict[str, Any], tmp_path: Path
) -> None:
    dark = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="

    def simulate(page: dict[str, Any]) -> None:
        page["boards"][0]["envs"][0] |= {"simulated": True, "dark_picture": dark}

    page = opened(changed(made, tmp_path, simulate), color_scheme="dark").page
    assert page.locator("#env-tabs [role=tab]").first.inner_text().endswith(", simulated")
    assert "simulated, in the place of measurements" in page.locator("#env-0").inner_text()
    image = page.locator("#env-0 .picture img")
    assert image.get_attribute("src") == dark
    page.get_by_role("button", name="Light").click()
    assert image.get_attribute("src") == made["boards"][0]["envs"][0]["picture"]
    assert page.locator("#env-tabs [role=tab]").nth(1).inner_text().count("simulated") == 0


def test_a_long_name_opens_with_its_row(
    opened: Callable[..., Watched], made: dict[str, Any], tmp_path: Path
) -> None:
    long = "an-agent:with=" + "a" * 90

    def rename(page: dict[str, Any]) -> None:
        page["boards"][0]["rows"][0]["agent"] = long

    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    page = opened(changed(made, tmp_path, rename), **phone).page
    name = page.locator(".agent-name .name").first
    cut = "node => node.scrollWidth > node.clientWidth"
    assert name.evaluate(cut)
    name.tap()
    until(page, lambda: not page.locator(".agent-name .name").first.evaluate(cut))


def test_paper_shows_everything_and_no_controls(page: Any, made: dict[str, Any]) -> None:
    page.emulate_media(media="print")
    until(page, lambda: page.locator("#env-3 .scatterlayer .trace").count() == 12)
    assert all(page.locator(f"#env-{k}").is_visible() for k in range(4))
    assert page.locator(".printed .provenance").count() == len(rows(made))
    assert page.locator("details:not([open])").count() == 0
    controls = page.locator("button, select, input[type=search], [role=tab]")
    seen = [text for text in controls.all() if text.is_visible()]
    assert {node.get_attribute("class") for node in seen} <= {"sort", "agent-name"}
    page.emulate_media(media="screen")
    until(page, lambda: not page.locator("#env-3").is_visible())
    assert page.locator("#filter").is_visible()


def test_readers_of_screens_find_their_way(page: Any) -> None:
    """Ids are unique, references lead somewhere, every control and table has a name."""
    problems = page.evaluate(
        """() => {
        const all = (s) => [...document.querySelectorAll(s)];
        const ids = all("[id]").map((node) => node.id);
        const bad = ids.filter((id, i) => ids.indexOf(id) !== i);
        for (const name of ["aria-controls", "aria-labelledby", "for"])
          for (const node of all(`#page [${name}]`))
            if (!document.getElementById(node.getAttribute(name))) bad.push(node.outerHTML);
        for (const node of all("#page input, #page select"))
          if (!node.labels.length && !node.ariaLabel) bad.push(node.outerHTML);
        for (const node of all("#page table, #page button, img"))
          if (!(node.caption ?? node).textContent.trim() && !node.alt) bad.push(node.outerHTML);
        return bad;
      }"""
    )
    assert problems == []
    assert page.locator("main, nav, header").count() >= 3
    assert page.locator("h1").count() == 1
