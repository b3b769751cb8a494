"""Columns of results, declared once for all tables and the page."""

import json
from typing import Any

import numpy as np
import pytest

from agents.registry import AgentSpec
from evaluation import columns
from evaluation.columns import COLUMNS, Column, columns_of
from evaluation.page import render
from evaluation.page.content import about_agent, board_content
from evaluation.results import Results
from evaluation.store import SweepSource
from evaluation.tables import overall_table, task_table
from tests.test_evaluation.test_tables import results as results_of

MEDIAN = Column(
    "middle_regret",
    "Middle regret",
    "The median over runs of the regret at the end",
    digits=4,
    task=lambda runs, agent: float(np.median(runs.regrets[agent])),
    overall=lambda tasks, agent: float(np.median(1.0 - tasks.score(agent))),
)


REGRETS = {"a": [1.0, 2.0, 3.0, 4.0, 5.0], "b": [2.0, 4.0, 6.0, 8.0, 10.0]}
"""Regrets per step; those in the second of two worlds are twice as large."""


@pytest.fixture
def results() -> Results:
    return results_of({agent: regrets[:3] for agent, regrets in REGRETS.items()})


@pytest.fixture
def with_median(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "COLUMNS", [*COLUMNS, MEDIAN])


def content(results: Results) -> dict[str, Any]:
    agent = AgentSpec("random")
    about = {"a": about_agent(agent), "b": about_agent(agent, ms_per_step=7.0)}
    made = board_content(results, "online", about)
    page = {"title": "", "subtitle": "", "facts": [], "notes": [], "remarks": []}
    assert render({**page, "boards": [made]})
    return made


@pytest.mark.usefixtures("with_median")
def test_column_appears_in_all_tables(results: Results) -> None:
    of_tasks = results.table().set_index(["task", "agent"])["middle_regret"]
    assert (of_tasks["world 1", "a"], of_tasks["world 1", "b"]) == (40.0, 80.0)
    assert results.overall().set_index("agent").loc["a"].middle_regret == 1.0
    text = "".join(each(results, baseline="b").text(300) for each in (task_table, overall_table))
    assert text.count(MEDIAN.label) == 3  # two tasks, and all together
    assert {"80.0000", "1.0000"} <= set(text.split())
    made = json.loads(json.dumps(content(results), allow_nan=False))
    about = {"key": "middle_regret", "label": "Middle regret", "digits": 4, "interval": False}
    for place in ("columns", "world_columns"):
        assert made[place][-1] == {**about, "title": MEDIAN.description}
    best, chance = made["rows"][0], made["references"][-1]
    assert (best["agent"], best["middle_regret"]) == ("a", 1.0)
    assert best["envs"][1]["middle_regret"] == 40.0
    assert chance["envs"][1]["middle_regret"] == 40.0


@pytest.mark.parametrize("runs", [3, 5])
def test_page_shows_intervals_of_enough_runs(runs: int) -> None:
    made = content(results_of({agent: own[:runs] for agent, own in REGRETS.items()}))
    for row in made["rows"]:
        assert isinstance(row["profile"]["low"], list)  # runs of both worlds count together
        for world in row["envs"]:
            assert (world["curve"]["low"] is None) == (world["curve"]["high"] is None) == (runs < 5)
            assert (world["regret"][1] is None) == (runs < 5)
    for pairs in (made["pairs"]["all"], *made["pairs"]["envs"]):
        assert pairs["difference"][0][1] is not None
        assert pairs["p"][0][1] is not None
        assert ("low" in pairs) == ("high" in pairs) == (runs == 5)


def test_page_columns_have_keys_of_their_own(results: Results) -> None:
    made = content(results)
    row, world = made["rows"][0], made["rows"][0]["envs"][0]
    facts = {*about_agent(AgentSpec("random")), "agent", "look", "rank", "envs", "profile"}
    for column in COLUMNS:
        assert column.key not in facts | {"curve", "by_phase"}
    assert {column["key"] for column in made["columns"]} == row.keys() - facts
    assert {c["key"] for c in made["world_columns"]} == world.keys() - {"curve", "by_phase"}


def test_page_shows_the_judges_time(results: Results) -> None:
    rows = content(results)["rows"]
    assert {row["agent"]: row["ms_per_step"] for row in rows} == {"a": 3000.0, "b": 7.0}


@pytest.mark.parametrize(
    ("track", "baseline", "included", "excluded"),
    [
        ("online", None, set(), {"interactions", "difference"}),
        ("online", "b", {"difference", "p_value"}, {"training_seconds"}),
        ("pretrained", None, {"interactions", "training_seconds"}, {"p_value"}),
    ],
)
def test_columns_depend_on_track_and_baseline(
    track: str, baseline: str | None, included: set[str], excluded: set[str]
) -> None:
    keys = {column.key for column in columns_of("task", track=track, baseline=baseline)}
    assert included | {"regret", "normalised", "runs", "ms_per_step"} <= keys
    assert keys.isdisjoint({*excluded, "mean_rank", "better"})


def test_tables_without_finished_runs_are_empty(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SweepSource, "runs", lambda self: [])
    empty = Results(results.source)
    for method in (Results.table, Results.overall):
        assert list(method(empty)) == list(method(results))
        assert len(method(empty)) == 0
    assert all(task in str(empty.table()) for task in results.tasks)
    assert content(empty)["rows"] == []
