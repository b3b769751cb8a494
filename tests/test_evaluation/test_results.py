"""Results as text, in notebooks, as figures, pages and files."""

import errno
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evaluation
from evaluation.columns import simulated_tasks
from evaluation.page.content import picture
from evaluation.page.html import PageError
from evaluation.plots import NothingToDrawError
from evaluation.protocol import Protocol
from evaluation.results import Results
from evaluation.specs import REFERENCE_ROWS, WorldSpec
from evaluation.store import StoreError
from evaluation.tables import ResultsTable
from tests.test_evaluation.test_tables import A, B, results

LONG = "an-agent:with_a_name=that_is_longer,than=a_third,of=the_screen"


@pytest.fixture(scope="module")
def three() -> Results:
    made = results({"<b>bold</b>": A, LONG: B, "c": [10_000.0 * a for a in A]})
    return made


@pytest.mark.parametrize("width", [120, 250])
def test_table_text_fits_the_screen(
    three: Results, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for text in (repr(three), str(three.table(baseline="c")), str(three.overall())):
        assert max(map(len, text.splitlines())) <= width
        assert not re.search(r"\.\.\.|…", text)
    monkeypatch.setenv("COLUMNS", "40")
    assert all(line.count("[") == line.count("]") for line in str(three.table()).splitlines())
    monkeypatch.setenv("COLUMNS", str(width))
    text = str(three.table(baseline="c"))
    for words in ("Regret [95 %]", "p (Holm)", "world 0 (online)", "world 1 (online)", "oracle"):
        assert words in text
    regrets = three.table().set_index(["task", "agent"])["regret"]
    assert f"{regrets['world 1', 'c']:,.1f}" in text
    assert LONG in text


def test_table_is_a_data_frame(three: Results) -> None:
    table = three.table()
    assert isinstance(table, ResultsTable)
    assert "regret" in table
    assert type(table[table["agent"] == "c"]).__name__ == "DataFrame"
    assert type(table.groupby("agent")["regret"].mean()).__name__ == "Series"


def test_table_html_is_escaped(three: Results) -> None:
    for html in (three._repr_html_(), three.table()._repr_html_()):
        assert not re.search("<b>bold|<script", html)
        assert "&lt;b&gt;bold&lt;/b&gt;" in html
        assert html.index(">agent<") < html.index(">Regret [95 %]<") < html.index(">Normalised")
    assert LONG in three._repr_html_()


def test_compare_with_a_baseline_equals_the_table(three: Results) -> None:
    differences = three.compare("c").set_index(["task", "agent"])
    assert "c" not in differences.index.get_level_values("agent")
    whole = three.table(baseline="c").set_index(["task", "agent"])
    assert (
        differences.loc[("world 0", LONG), "difference"]
        == whole.loc[("world 0", LONG), "difference"]
    )
    assert "Minus c" in str(three.compare("c"))


def test_compare_takes_agents_of_two_tracks() -> None:
    found = results({"a": A, "b": B}, tracks={"b": "pretrained"})
    pair = found.compare("b", "a").set_index("task")
    whole = found.table().set_index(["task", "agent"])["regret"]
    trained = found.table(track="pretrained").set_index(["task", "agent"])["regret"]
    for task, row in pair.iterrows():
        gap = trained[task, "b"] - whole[task, "a"]
        assert row["difference"] == pytest.approx(gap)
        assert row["difference_low"] <= gap <= row["difference_high"]
    assert "Minus a" in str(found.compare("b", "a"))
    assert ">Minus a" in found.compare("b", "a")._repr_html_()
    with pytest.raises(ValueError, match="no agent 'b' in the track online; there are a, oracle"):
        found.compare("b")


def test_overall_orders_ties_as_the_protocol() -> None:
    two = {f"agent {n}": (A, B)[n % 2] for n in range(40)}
    tied = results(two)
    names = [line.split("  ")[0].strip() for line in str(tied.overall()).splitlines()]
    shown = [int(name.split()[1]) for name in names if name.startswith("agent ")]
    assert shown == [*range(0, 40, 2), *range(1, 40, 2)]


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (lambda r: r.table(baseline="oracel"), r"no agent 'oracel' in .*; did you mean 'oracle'\?"),
        (lambda r: r.overall(baseline="d"), "no agent 'd' in the track online; there are <b>"),
        (lambda r: r.overall(baseline="oracle"), "no agent 'oracle' in the track online"),
        (lambda r: r.table(track="onlin"), r"no track 'onlin' here; did you mean 'online'\?"),
        (lambda r: r.overall(track="onlin"), r"no track 'onlin' here; did you mean 'online'\?"),
        (lambda r: r.compare("c", track="onlin"), "no track 'onlin' here"),
        (lambda r: r.compare("d"), r"no agent 'd' in the track online; .*oracle"),
        (lambda r: r.compare("c", "d"), "no agent 'd' here; there are <b>.*oracle"),
        (lambda r: r.select(agents=["d"]), "there is no agent 'd' here"),
        (lambda r: r.plot(agents=["d"]), "there is no agent 'd' here"),
        (lambda r: r.plot(agents="c"), r"agents must be a list, got 'c': write agents=\[...\]"),
        (lambda r: r.plot(envs=["wrld 1"]), "no environment 'wrld 1' here; did you mean 'world 1'"),
        (lambda r: r.plot(["x"]), r"kind must be one of curves, phases, profiles, got \['x'\]"),
        (lambda r: r.plot(envs=3), r"envs must be a list, got 3: write envs=\[...\]"),
        (lambda r: r.plot(envs=[["x"]]), r"no environment \['x'\] here; there are world 0"),
        (lambda r: r.plot(agents=[]), "agents must not be empty: omit it to select all"),
        (lambda r: r.regrets("wrld 1"), "no task 'wrld 1' here; did you mean 'world 1'"),
        (lambda r: r.curves("wrld 1", "c"), "no task 'wrld 1' here; did you mean 'world 1'"),
        (lambda r: r.curves("world 1", "d"), "no agent 'd' in the track online; there are <b>"),
    ],
)
def test_results_reject_unknown_names(
    three: Results, method: Callable[[Results], Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        method(three)


@pytest.mark.parametrize(
    ("kind", "runs", "drawn"),
    [("curves", 4, False), ("curves", 5, True), ("profiles", 2, False), ("profiles", 3, True)],
)
def test_plot_draws_bands_of_enough_runs(kind: str, runs: int, drawn: bool) -> None:
    few = results({"a": A[:runs], "b": B[:runs]})
    for axes in few.plot(kind).axes:
        bands = [path for band in axes.collections for path in band.get_paths()]
        assert bool(bands) == drawn


def test_plot_of_some_agents_keeps_their_colours(three: Results) -> None:
    def colours(figure: Any) -> dict[str, str]:
        return {line.get_label(): line.get_color() for line in figure.axes[0].get_lines()}

    some = three.plot(agents=["c", LONG], envs=["world 1"])
    assert [axes.get_title() for axes in some.axes] == ["world 1"]
    assert colours(some).keys() == {"c", LONG}
    assert colours(some).items() <= colours(three.plot()).items()
    assert colours(three.plot("profiles", agents=["c"])).keys() == {"c"}


def test_plot_has_a_notebook_representation(three: Results) -> None:
    assert three.plot()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_results_mark_simulated_worlds(tmp_path: Path) -> None:
    worlds = ["PeriodicGP-MadridSim-v0:horizon=3", "PeriodicGP-SyntheticDiscrete-v0:horizon=3"]
    found = evaluation.run("smoke", agents=["random"], envs=worlds, seeds="0:2", workers=0)
    assert f"{worlds[0]} (online, simulated)" in str(found).replace("\n", "")
    assert f"{worlds[1]} (online)" in str(found).replace("\n", "")
    assert f"{worlds[0]} (online, simulated)" in found._repr_html_()
    titles = [axes.get_title().replace("\n", " ") for axes in found.plot().axes]
    assert titles == [f"{worlds[0]}, simulated", worlds[1]]
    page = found.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert worlds[0] in page


def test_simulated_tasks_depend_on_the_data() -> None:
    def tasks(source: str | None) -> list[str]:
        sweep = types.SimpleNamespace(data={"Madrid": source})
        return simulated_tasks(types.SimpleNamespace(sweep=sweep, tasks={"Madrid": ["Madrid"]}))  # type: ignore[arg-type]

    assert tasks("simulator") == ["Madrid"]
    assert tasks("measurements") == tasks(None) == []


@pytest.mark.parametrize(
    ("env_id", "arguments", "drawn"),
    [
        ("PeriodicGP-SyntheticDiscrete-v0", {}, True),
        ("PeriodicGP-SyntheticDiscrete-v0", {"horizon": 10**8}, False),
        ("PeriodicGP-Replay-v0", {"data": "/etc/passwd"}, False),
        ("antigravity:X-v0", {}, False),
        ("X-v0", {}, False),
    ],
)
def test_picture_makes_only_registered_small_worlds(
    env_id: str, arguments: dict[str, Any], drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"id": env_id, "arguments": arguments, "label": "w", "group": "w"}
    protocol = {"name": "p", "envs": [entry], "seeds": [0], "horizon": 30}
    stored = types.SimpleNamespace(sweep=types.SimpleNamespace(protocol=protocol))
    made: list[str] = []
    make = WorldSpec.make
    monkeypatch.setattr(WorldSpec, "make", lambda spec: (made.append(str(spec)), make(spec))[1])
    shown = picture(stored, "w")  # type: ignore[arg-type]
    assert (shown["picture"] is not None) == bool(made) == drawn
    assert "antigravity" not in sys.modules


# --- selections and files


def test_select_keeps_some_agents_and_tasks(three: Results) -> None:
    assert str(three.select(envs=["world 1"]).overall()).startswith("One task (online)")
    some = three.select(agents=["c"], envs=["world 1"])
    assert (list(some.tasks), some.agents()) == (["world 1"], ["c"])
    for frame in (some.totals, some.table()):
        assert set(frame["agent"]) == {"c", *REFERENCE_ROWS}


def test_provenance_names_versions_and_dates(three: Results) -> None:
    facts = three.provenance[["protocol", "date", "seeds"]].tolist()
    assert facts == [three.sweep.name, three.sweep.started[:10], "5 from 0"]


def test_latex_has_all_rows_and_escapes_labels(three: Results) -> None:
    text = three.to_latex(baseline="c")
    assert text.startswith("\\begin{tabular}")
    assert "Minus c [95 \\%]" in text
    assert LONG.replace("_", "\\_") in text
    assert text.count("world 1") == len(three.table()[three.table()["task"] == "world 1"])


@pytest.fixture(scope="module")
def varied() -> Results:
    """Runs with failures, trained agents and worlds that change."""
    shift = "PeriodicGP-Shift-v0:changes=2,change=period,period=8,horizon=40"
    agents = [{"name": "random"}, {"name": "fixed"}, {"name": "gp-ucb", "settings": {"beta": 1.0}}]
    protocol = {"envs": [shift, "PeriodicGP-Synthetic-v0:horizon=40"], "agents": agents}
    made = evaluation.run(Protocol.from_dict({**protocol, "seeds": "0:6"}), workers=0)
    return made


@pytest.mark.parametrize("points", [0, 20])
def test_saved_totals_give_the_same_tables(varied: Results, tmp_path: Path, points: int) -> None:
    path = tmp_path / "totals.parquet"
    varied.save_totals(path, points=points)
    again = evaluation.load(path)
    assert repr(again) == repr(varied)
    pd.testing.assert_frame_equal(again.totals, varied.totals)
    pd.testing.assert_series_equal(again.provenance, varied.provenance)
    task = next(iter(varied.tasks))
    if points:
        curve, whole = again.curves(task, "fixed"), varied.curves(task, "fixed")
        assert curve.names == whole.names
        cumulative = np.cumsum(whole.regret, axis=1)[:, curve.t]
        np.testing.assert_allclose(np.cumsum(curve.regret, axis=1), cumulative, rtol=1e-6)
        assert again.plot()
    else:
        with pytest.raises(NothingToDrawError, match="load the store, or totals saved with points"):
            again.plot()
    with pytest.raises(NothingToDrawError, match="phases require all steps"):
        again.plot("phases")


def test_saved_totals_keep_failures_and_trainings(tmp_path: Path) -> None:
    failing = results({"a": [1.0, float("nan")], "b": [1.5, 1.2]})
    failing.save_totals(tmp_path / "t.parquet")
    again = evaluation.load(tmp_path / "t.parquet")
    assert [run.reason for run in again.failures] == ["failed", "failed"]
    pd.testing.assert_frame_equal(again.totals, failing.totals)
    assert str(again.table(baseline="b")) == str(failing.table(baseline="b"))


OTHER_TABLE = pd.DataFrame({"env": ["x"]}).to_parquet()


@pytest.mark.parametrize("content", [b"", b"PAR1 and so on", OTHER_TABLE])
def test_load_rejects_other_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.parquet"
    for _ in range(2):  # at first there is no file
        with pytest.raises(StoreError, match="cannot read totals from"):
            evaluation.load(path)
        path.write_bytes(content)


def test_load_reads_a_store(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    made = evaluation.run("smoke", agents=["random"], seeds="0:1", store=path, workers=0)
    for sweep in (None, "smoke", made.sweep.id):
        assert repr(evaluation.load(path, sweep)) == repr(made)


def test_page_reports_a_full_disk(
    three: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path.with_name(".part")))

    monkeypatch.setattr("evaluation.page.content.store_content", lambda *_: {})
    monkeypatch.setattr("evaluation.page.html.render", lambda content: "")
    with pytest.raises(PageError, match=r"cannot write .*x\.html': No such file or directory"):
        three.to_html(tmp_path / "nodir" / "x.html")
    monkeypatch.setattr("evaluation.page.html.write_atomically", full)
    with pytest.raises(OSError, match=r"cannot write .*x\.html': No space left on device$"):
        three.to_html(tmp_path / "x.html")


def test_results_summarise_equal_failures(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Lazy:\n    act = update = None\n    def __init__(self, problem, rng): 1 / 0\n"
    )
    name = f"{tmp_path / 'mine.py'}:Lazy"
    worlds = ["PeriodicGP-SyntheticDiscrete-v0:horizon=3"]
    failed = evaluation.run("smoke", agents=[name], envs=worlds, seeds="0:3", workers=0)
    text = str(failed).replace("\n", " ")
    assert text.count("Failed: ") == 1
    assert f"Failed: {name} in 3 runs, the first of them in {worlds[0]}, seed 0: Zero" in text
    assert text.endswith("or if asked for (retry_failed=True).")
