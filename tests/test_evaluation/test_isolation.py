"""Agents in processes of their own: the same numbers, and nothing to find."""

import os
import time

import pandas as pd
import pytest

from evaluation.keys import own_files, own_hash
from evaluation.runner import run
from evaluation.running.worker import execute
from tests.platforms import linux_only

from .test_sweep import AGENTS, protocol, reasons

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")


@pytest.fixture(scope="module")
def isolated():
    names = ("random", "gp-ucb", "Good", "SearchesMemory", "SearchesFiles", "Talks")
    return run(protocol(*names), workers=2, isolation="process")


def test_the_numbers_are_the_same(isolated) -> None:
    alone = isolated.steps
    alone = alone[~alone["agent"].str.contains("Searches|Talks")].reset_index(drop=True)
    together = run(protocol("random", "gp-ucb", "Good"), workers=0).steps
    pd.testing.assert_frame_equal(alone, together)


def test_boxes_cross_the_line_unchanged() -> None:
    world = {"envs": ["PeriodicGP-Synthetic-v0:dim=2"], "horizon": 3, "seeds": "4"}
    alone = run(protocol("gp-thompson", **world), workers=1, isolation="process").steps
    pd.testing.assert_frame_equal(alone, run(protocol("gp-thompson", **world), workers=0).steps)


@pytest.mark.parametrize("spy", ["SearchesMemory", "SearchesFiles"])
def test_a_spy_finds_nothing(isolated, spy: str) -> None:
    steps = isolated.steps
    assert set(steps[steps["agent"].str.endswith(spy)]["action"]) == {0.0}


def test_in_one_process_the_spy_finds_the_world() -> None:
    """So the test above can fail."""
    steps = run(protocol("SearchesMemory", seeds="0:1"), workers=0).steps
    assert set(steps["action"]) == {1}


def test_every_failure_is_told() -> None:
    bad = ("Raises", "RaisesAtBirth", "Exits", "Leaves", "Eats", "WrongType", "Rambles")
    found = reasons(run(protocol(*bad, seeds="0:1"), workers=2, isolation="process"))
    assert "RuntimeError: a bad day (faulty_agents.py, line" in found["Raises"]
    assert "never born" in found["RaisesAtBirth"]
    assert found["Exits"] == "the agent's process ended"
    assert "SystemExit: enough" in found["Leaves"]
    assert "memory" in found["Eats"]
    assert "left" in found["WrongType"]
    assert found["Rambles"] == "the agent's process gave no answer to the question"


@linux_only
def test_a_stubborn_agent_is_ended_with_its_run(tmp_path) -> None:
    found = reasons(
        run(protocol("HangsStubbornly", seeds="0:1", seconds=1.0), workers=1, isolation="process")
    )
    assert "took more than 1 seconds" in found["HangsStubbornly"]
    log = tmp_path / "log"
    run(protocol(f"Counts:log={log},pause=0.01", seeds="0:1"), workers=1, isolation="process")
    pid, end = int(log.read_text()), time.monotonic() + 10.0
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{pid}")


def test_answers_that_were_not_asked_for_are_refused() -> None:
    found = reasons(run(protocol("AnswersAhead", seeds="0:1"), workers=1, isolation="process"))
    assert found["AnswersAhead"] == "the agent's process spoke before it was asked"


@linux_only
def test_what_an_agent_started_is_ended_with_it(tmp_path) -> None:
    log = tmp_path / "log"
    run(
        protocol(f"LeavesSomebody:log={log}", "random", seeds="0:1"), workers=1, isolation="process"
    )
    end = time.monotonic() + 10.0
    while time.monotonic() < end and os.path.exists(f"/proc/{log.read_text()}"):
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{log.read_text()}")


def test_no_line_to_the_driver_is_left_in_any_childs_hands() -> None:
    """What comes through it is unpickled there."""
    steps = run(protocol("SearchesFiles", seeds="0:1"), workers=1).steps
    assert set(steps["action"]) == {0}


def test_without_a_zygote_it_says_so() -> None:
    from dataclasses import replace

    from evaluation.runs import runs_of

    run = next(run for run in runs_of(protocol("Good")) if run.agent_spec is not None)
    assert (
        "isolated agents need worker processes" in execute(replace(run, isolation="process")).reason
    )


def test_code_is_read_and_not_run(tmp_path) -> None:
    file = tmp_path / "bomb.py"
    file.write_text("raise SystemExit('it was run')\nclass Agent: pass\n")
    assert own_files(f"{file}:Agent") == [file]
    before = own_hash(f"{file}:Agent")
    file.write_text(file.read_text() + "# changed\n")
    assert own_hash(f"{file}:Agent") != before
    assert own_hash("gp-ucb") is None


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere.py:Agent", "there is no file 'nowhere.py'"),
        (f"{AGENTS}:Missing", "has no such class; it has Good"),
        ("no_such_module:Agent", "no module 'no_such_module' is installed"),
    ],
)
def test_a_missing_agent_is_named_before_anything_runs(name: str, sentence: str) -> None:
    from evaluation.specs import ProtocolError

    with pytest.raises(ProtocolError, match=sentence):
        run(protocol(name), workers=0)


def test_names_bound_in_other_ways_are_found(tmp_path) -> None:
    file = tmp_path / "ways.py"
    file.write_text("from agents.zoo.arms.random import Random as A\nB = A\nif True:\n    C = A\n")
    for name in "ABC":
        assert own_files(f"{file}:{name}")
