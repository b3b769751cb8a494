"""Columns of results, declared once for all tables and the page."""

import json
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from agents.registry import AgentSpec
from evaluation import columns
from evaluation.columns import COLUMNS, Column, columns_of
from evaluation.page import render
from evaluation.page.content import about_agent, board_content
from evaluation.protocol import Protocol
from evaluation.results import Results
from evaluation.specs import REFERENCE_ROWS, REFERENCES
from evaluation.store import StoredRun, StoredSweep
from evaluation.tables import overall_table, task_table

STEPS, SEEDS = 6, 3
MEDIAN = Column(
    "middle_regret",
    "Middle regret",
    "The median over runs of the regret at the end",
    digits=4,
    task=lambda runs, agent: float(np.median(runs.regrets[agent])),
    overall=lambda tasks, agent: float(np.median(1.0 - tasks.score(agent))),
)


@dataclass(frozen=True)
class Invented:
    """Results in which agent a loses 1, 2 and 3 in its runs, and agent b twice as much."""

    sweep: StoredSweep

    def runs(self) -> list[StoredRun]:
        runs = []
        for env in self.sweep.protocol["envs"]:
            for agent, track, factor in (("a", "online", 1), ("b", "online", 2), (REFERENCES,) * 3):
                for seed in range(SEEDS):
                    key = json.dumps([agent, seed])
                    regret = None if agent == REFERENCES else float(factor) * (seed + 1)
                    values = (env["label"], agent, track, seed, None, STEPS, regret, 0.6)
                    runs.append(StoredRun(key, *values))
        return runs

    def columns(self, key: str) -> dict[str, Any]:
        agent, seed = json.loads(key)
        steps = {"t": np.arange(STEPS)}
        if agent == REFERENCES:
            losses = dict.fromkeys(REFERENCE_ROWS, np.full(STEPS, 1.5))
            return {**steps, **losses, "period": np.full(STEPS, 3.0)}
        total = (1 if agent == "a" else 2) * (seed + 1)
        return {**steps, "regret": np.full(STEPS, total / STEPS)}

    def size(self) -> int:
        return len(self.runs())

    def machines(self) -> list[dict[str, Any]]:
        return []


@pytest.fixture
def results() -> Results:
    envs = [{"id": "PeriodicGP-SyntheticDiscrete-v0", "label": f"world {i}"} for i in (0, 1)]
    agents = [{"name": "random", "label": label} for label in "ab"]
    protocol = Protocol.from_dict({"envs": envs, "agents": agents, "seeds": "0:3", "horizon": 6})
    return Results(Invented(StoredSweep(1, "", "invented", protocol.to_dict(), {}, "", "")))


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


def printed(results: Results) -> str:
    tables = task_table(results, baseline="b"), overall_table(results, baseline="b")
    return "\n".join(table.text(300) for table in tables)


@pytest.mark.usefixtures("with_median")
def test_column_is_shown_in_all_tables(results: Results) -> None:
    of_tasks = results.table().set_index(["task", "agent"])
    assert of_tasks.loc["world 1", "b"].middle_regret == 4.0
    assert results.overall().set_index("agent").loc["a"].middle_regret == pytest.approx(2 / 9)
    assert task_table(results).rows[0]["middle_regret"] == 2.0
    text = printed(results)
    assert text.count("Middle regret") == 3  # two tasks, and all together
    assert "4.0000" in text
    assert "0.2222" in text
    made = json.loads(json.dumps(content(results), allow_nan=False))
    named = {"key": "middle_regret", "label": "Middle regret", "digits": 4, "interval": False}
    for place in ("columns", "world_columns"):
        assert made[place][-1] == {**named, "title": MEDIAN.description}
    best = made["rows"][0]
    assert best["agent"] == "a"
    assert best["middle_regret"] == pytest.approx(2 / 9, rel=1e-4)
    assert best["envs"][1]["middle_regret"] == 2.0
    assert made["references"][0]["envs"][0]["middle_regret"] == 9.0


@pytest.mark.parametrize("runs", [3, 5])
def test_page_shows_intervals_of_enough_runs(
    results: Results, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SEEDS", runs)
    made = content(Results(results.source))
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
    times = {row["agent"]: row["ms_per_step"] for row in content(results)["rows"]}
    assert times == {"a": 100.0, "b": 7.0}


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
    monkeypatch.setattr(Invented, "runs", lambda self: [])
    empty = Results(Invented(results.sweep))
    for method in (Results.table, Results.overall):
        assert list(method(empty)) == list(method(results))
        assert len(method(empty)) == 0
    assert str(empty.table()).count("No finished runs.") == 2
    assert content(empty)["rows"] == []
