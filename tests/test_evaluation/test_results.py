"""Results as text, in notebooks, as figures, pages and files."""

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
from evaluation.errors import UnknownNameError
from evaluation.page.content import picture
from evaluation.plots import NothingToDrawError
from evaluation.protocol import Protocol
from evaluation.results import Results
from evaluation.specs import REFERENCE_ROWS, WorldSpec
from evaluation.store import StoreError
from evaluation.tables import ResultsTable
from tests.errors import raises
from tests.test_evaluation.test_tables import A, B, results

LONG = "an-agent:with_a_name=that_is_longer,than=a_third,of=the_screen"


@pytest.fixture(scope="module")
def three() -> Results:
    return results({"<b>bold</b>": A, LONG: B, "c": [10_000.0 * a for a in A]})


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
    regrets = three.table().set_index(["task", "agent"])["regret"]
    for cell in ("world 0", "world 1", "oracle", LONG, f"{regrets['world 1', 'c']:,.1f}"):
        assert cell in text


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
        assert html.index(">agent<") < html.index(">Regret") < html.index(">Normalised")
    assert LONG in three._repr_html_()


def test_compare_with_a_baseline_equals_the_table(three: Results) -> None:
    differences = three.compare("c").set_index(["task", "agent"])
    assert "c" not in differences.index.get_level_values("agent")
    whole = three.table(baseline="c").set_index(["task", "agent"])
    row = "world 0", LONG
    assert differences.loc[row, "difference"] == whole.loc[row, "difference"]


def test_compare_takes_agents_of_two_tracks() -> None:
    two_tracks = results({"a": A, "b": B}, tracks={"b": "pretrained"})
    pair = two_tracks.compare("b", "a")
    whole = two_tracks.table().set_index(["task", "agent"])["regret"]
    trained = two_tracks.table(track="pretrained").set_index(["task", "agent"])["regret"]
    for task, row in pair.set_index("task").iterrows():
        gap = trained[task, "b"] - whole[task, "a"]
        assert row["difference"] == pytest.approx(gap)
        assert row["difference_low"] <= gap <= row["difference_high"]
    for text in (str(pair), pair._repr_html_()):
        assert "Minus a" in text
    with raises(UnknownNameError, "unknown-agent"):
        two_tracks.compare("b")


def test_overall_orders_ties_as_the_protocol() -> None:
    tied = results({f"agent {n}": (A, B)[n % 2] for n in range(40)})
    order = [int(n) for n in re.findall(r"^agent (\d+)  ", str(tied.overall()), re.MULTILINE)]
    assert order == [*range(0, 40, 2), *range(1, 40, 2)]


@pytest.mark.parametrize(
    ("method", "code", "name"),
    [
        (lambda r: r.table(baseline="oracel"), "unknown-agent", "'oracle'"),
        (lambda r: r.overall(baseline="d"), "unknown-agent", "<b>"),
        (lambda r: r.overall(baseline="oracle"), "unknown-agent", "<b>"),
        (lambda r: r.table(track="onlin"), "unknown-track", "'online'"),
        (lambda r: r.overall(track="onlin"), "unknown-track", "'online'"),
        (lambda r: r.compare("c", track="onlin"), "unknown-track", "'online'"),
        (lambda r: r.compare("d"), "unknown-agent", "oracle"),
        (lambda r: r.compare("c", "d"), "unknown-agent", "<b>.*oracle"),
        (lambda r: r.select(agents=["d"]), "unknown-agent", "<b>"),
        (lambda r: r.plot(agents=["d"]), "unknown-agent", "<b>"),
        (lambda r: r.plot(agents="c"), None, "agents"),
        (lambda r: r.plot(envs=["wrld 1"]), "unknown-environment", "'world 1'"),
        (lambda r: r.plot(["x"]), None, "kind"),
        (lambda r: r.plot(envs=3), None, "envs"),
        (lambda r: r.plot(envs=[["x"]]), "unknown-environment", "world 0"),
        (lambda r: r.plot(agents=[]), None, "agents"),
        (lambda r: r.regrets("wrld 1"), "unknown-task", "'world 1'"),
        (lambda r: r.curves("wrld 1", "c"), "unknown-task", "'world 1'"),
        (lambda r: r.curves("world 1", "d"), "unknown-agent", "<b>"),
    ],
)
def test_results_reject_bad_arguments(
    three: Results, method: Callable[[Results], Any], code: str | None, name: str
) -> None:
    """Errors name similar names, all names, or the argument."""
    with pytest.raises(ValueError, match=name) as caught:
        method(three)
    assert getattr(caught.value, "code", None) == code


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
    played = evaluation.run("smoke", agents=["random"], envs=worlds, seeds="0:2", workers=0)
    for text in (str(played).replace("\n", ""), played._repr_html_()):
        for world, mark in zip(worlds, (", simulated", ""), strict=True):
            assert f"{world} (online{mark})" in text
    titles = [axes.get_title().replace("\n", " ") for axes in played.plot().axes]
    assert titles == [f"{worlds[0]}, simulated", worlds[1]]
    page = played.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
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
    world = picture(stored, "w")  # type: ignore[arg-type]
    assert (world["picture"] is not None) == bool(made) == drawn
    assert "antigravity" not in sys.modules


# --- selections and files


def test_select_keeps_some_agents_and_tasks(three: Results) -> None:
    some = three.select(agents=["c"], envs=["world 1"])
    assert (list(some.tasks), some.agents()) == (["world 1"], ["c"])
    for frame in (some.totals, some.table()):
        assert set(frame["agent"]) == {"c", *REFERENCE_ROWS}


def test_provenance_names_versions_and_dates(three: Results) -> None:
    assert three.provenance[["protocol", "date", "seeds"]].tolist() == [
        three.sweep.name,
        three.sweep.started[:10],
        "5 from 0",
    ]


def test_latex_has_all_rows_and_escapes_labels(three: Results) -> None:
    text = three.to_latex(baseline="c")
    assert text.startswith("\\begin{tabular}")
    assert "Minus c" in text
    assert LONG.replace("_", "\\_") in text
    assert text.count("world 1") == len(three.table()[three.table()["task"] == "world 1"])


@pytest.fixture(scope="module")
def varied() -> Results:
    """Runs with failures, trained agents and worlds that change."""
    shift = "PeriodicGP-Shift-v0:changes=2,change=period,period=8"
    return evaluation.run(
        Protocol.from_dict(
            {
                "envs": [shift, "PeriodicGP-Synthetic-v0"],
                "agents": ["random", "fixed", "gp-ucb:beta=1.0"],
                "seeds": "0:6",
                "horizon": 40,
            }
        ),
        workers=0,
    )


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
        with raises(NothingToDrawError, "missing-steps"):
            again.plot()
    with raises(NothingToDrawError, "missing-steps"):
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
    for code in ("file-not-found", "cannot-read"):
        with raises(StoreError, code):
            evaluation.load(path)
        path.write_bytes(content)


def test_load_reads_a_store(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    made = evaluation.run("smoke", agents=["random"], seeds="0:1", store=path, workers=0)
    for sweep in (None, "smoke", made.sweep.id):
        assert repr(evaluation.load(path, sweep)) == repr(made)


def test_results_summarise_equal_failures(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Lazy:\n    act = update = None\n    def __init__(self, problem, rng): 1 / 0\n"
    )
    name = f"{tmp_path / 'mine.py'}:Lazy"
    protocol = {"envs": ["PeriodicGP-SyntheticDiscrete-v0"], "agents": [name], "seeds": "0:3"}
    failed = evaluation.run(Protocol.from_dict({**protocol, "horizon": 3}), workers=0)
    assert len(failed.failures) == 3
    assert str(failed).count("ZeroDivisionError") == 1
