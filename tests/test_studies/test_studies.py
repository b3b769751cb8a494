"""Studies that are run as modules: their options, their pages, and where those come from."""

import json
from argparse import Namespace
from pathlib import Path

import pandas as pd
import pytest

from evaluation.cli import studies as commands
from studies import beyond, paper
from studies.flagship import AUTO, worlds
from studies.flagship.page import write_page
from studies.lab import study_lab, study_parser
from studies.stamp import stamps_in

DOCS = Path(__file__).parents[2] / "docs"


def test_the_flagship_s_page_says_what_its_figures_say(tmp_path: Path) -> None:
    """docs/auto-gp.md is docs/auto-gp.json in words: neither is changed by hand."""
    page = (DOCS / "auto-gp.md").read_text()
    write_page(json.loads((DOCS / "auto-gp.json").read_text()), tmp_path, stamps_in(page))
    assert (tmp_path / "auto-gp.md").read_text() == page


@pytest.mark.parametrize(("only", "said"), [(["synthetic"], False), (["madrid"], True), ([], True)])
def test_reproduce_speaks_of_madrid_where_it_was_run(
    only: list[str],
    said: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = tmp_path / "page.md"
    page.write_text("")
    monkeypatch.setattr(paper, "reproduce", lambda size, **place: page)
    monkeypatch.setenv("PERIODIC_GP_DATA", str(tmp_path / "nothing"))
    commands.reproduce(quick=True, only=only, out=tmp_path, store=tmp_path / "s.sqlite")
    assert ("Madrid was simulated" in capsys.readouterr().out) == said


def test_a_page_of_few_parts_is_written(tmp_path: Path) -> None:
    write_page({}, tmp_path, [])
    page = (tmp_path / "auto-gp.md").read_text()
    assert "## Reach" in page
    assert "## Madrid 2018" not in page


def test_new_rows_keep_the_old_ratio_on_record() -> None:
    old = [{"world": "a", "seeds": "0:10", "ratio": [1.2]}, {"world": "b", "seeds": "0:10"}]
    again = {"world": "a", "seeds": "0:40", "ratio": [1.1]}
    a, b = worlds.merged(old, [again])
    assert a == again | {"before": {"seeds": "0:10", "ratio": [1.2]}}
    assert b == old[1]


def test_the_season_is_known_to_the_others_only(tmp_path: Path) -> None:
    """The flagship's row of an unknown period is held against the world where it is known."""
    world = worlds.HIDDEN + worlds.KNOWN
    options = Namespace(seeds="0:5", worlds=[world], store=tmp_path / "s.sqlite", workers=0)
    asked = []

    class Answer:
        def __init__(self, envs: list, agents: list) -> None:
            regret = {AUTO: 2.0 if len(agents) > 1 else 3.0, "gp-ucb": 1.0}
            rows = [
                {"env": env["label"], "agent": agent, "seed": seed, "regret": regret[agent] + seed}
                for env in envs
                for agent in regret
                if agent in agents
                for seed in range(5)
            ]
            self.totals = pd.DataFrame(rows)

    with study_lab("auto-gp", options) as lab:

        def run(name: str, *, envs: list, agents: list, seeds: str) -> Answer:
            asked.append((name, envs[0]["arguments"]["reveal_period"], agents))
            return Answer(envs, agents)

        lab.run = run  # type: ignore[method-assign, assignment]
        known, unknown = worlds.core(lab)
    assert [revealed for _, revealed, _ in asked] == [True, False]
    assert asked[1][2] == [AUTO]
    assert (known["best"], known["best_regret"]) == (unknown["best"], unknown["best_regret"])
    assert known["auto"] == unknown["auto"] - 1.0
    assert unknown["world"] == "HiddenPeriod-v0, period unknown"


def test_an_unknown_part_is_said(capsys: pytest.CaptureFixture) -> None:
    parser = study_parser("About.", store="x.sqlite", parts=["one", "two"])
    assert parser.parse_args([]).parts == []
    assert parser.parse_args(["two"]).parts == ["two"]
    with pytest.raises(SystemExit):
        parser.parse_args(["three"])
    assert "there is no part 'three'; choose from one, two" in capsys.readouterr().err


def test_a_failed_run_ends_a_study_with_a_sentence(tmp_path: Path) -> None:
    options = Namespace(store=tmp_path / "s.sqlite", workers=0)
    faulty = str(Path(__file__).parents[1] / "test_evaluation" / "faulty_agents.py")
    with (
        pytest.raises(SystemExit, match=r"a bad day .*; finished runs are in .*s\.sqlite"),
        study_lab("x", options) as lab,
    ):
        lab.run("y", envs=["PeriodicGP-SyntheticDiscrete-v0"], agents=[f"{faulty}:Raises"])


def test_the_best_of_the_others_counts() -> None:
    index = pd.MultiIndex.from_product([["w"], ["a", "b", "c"], range(6)])
    regret = pd.Series([10.0] * 6 + [8.0] * 6 + [9.0] * 6, index)
    claim = beyond.Claim("w", "a", ("b", "c"), 1.3)
    world, agent, mine, best, theirs, ratio, gap, reached = beyond.row(claim, regret)
    assert (world, agent, mine, best, theirs) == ("w", "a", "10.0", "b", "8.0")
    assert ratio.startswith("1.250 [")
    assert gap.startswith("+2.0 [")
    assert reached == "1.3: yes"
