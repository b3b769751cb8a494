"""Agents of ours on the page of the reproduction: judged by their figures, apart from the paper."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from evaluation.cli.studies import _CLAIM

from evaluation.results import Results
from evaluation.statistics import Interval, paired_difference, paired_ratio
from evaluation.store import Store
from periodic_envs.data.errors import DataError
from studies import comparison
from studies.claims import Claim, Section, Verdict, at_most
from studies.comparison import Comparison
from studies.methods import GP, METHODS, PERIODIC
from studies.paper import (
    FULL,
    QUICK,
    STUDIES,
    beyond,
    city,
    guesses,
    reproduce,
    unknown_period,
)
from studies.paper.ours import AUTO, PRETRAINED, SEARCH
from studies.paper.page import write_sections
from studies.paper.synthetic import TRUE
from studies.stamp import make_stamp
from tests.test_studies.test_reproduction import make_lab, small

RUNS = 12


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals of few resamples: what is drawn here is clear."""
    for made in (paired_ratio, paired_difference):
        monkeypatch.setattr(comparison, made.__name__, partial(made, resamples=199))


def frame(**shares: float) -> pd.DataFrame:
    """Regret on twelve runs, a share of a common one each, with a little noise."""
    rng = np.random.default_rng(0)
    base = rng.uniform(800, 1200, RUNS)
    return pd.DataFrame({a: base * s * rng.uniform(0.98, 1.02, RUNS) for a, s in shares.items()})


class FakeLab:
    """Answers every run with a frame, and keeps what was asked for and drawn."""

    def __init__(self, answer: Any, monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
        self.size, self.asked, self.drawn = FULL, [], {}
        monkeypatch.setattr(module, "regrets", lambda name: answer(name))

    def run(self, name: str, **asked: Any) -> str:
        self.asked.append({"name": name, **asked})
        return name

    def picture(self, figure: Any, name: str, caption: str) -> str:
        self.drawn[name] = figure
        return f"![{caption}]({name}.png)"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all years were imported."""
    from studies.paper import trials

    monkeypatch.setattr(trials.imported, "years", lambda: [2016, 2017, 2018])


# --- verdicts --------------------------------------------------------------------------------


def test_an_aim_is_judged_by_the_whole_interval() -> None:
    kept, close = Interval(1.0, 0.9, 1.1), Interval(1.0, 0.9, 1.101)
    broken, few = Interval(1.2, 1.05, 1.4), Interval(1.0, np.nan, np.nan)
    assert at_most([kept, kept], 1.1) is Verdict.HOLDS
    assert at_most([close], 1.1) is Verdict.IN_PART
    assert at_most([kept, broken], 1.1) is Verdict.IN_PART
    assert at_most([broken, broken], 1.1) is Verdict.FAILS
    assert at_most([Interval(1.11, 0.9, 1.3)], 1.1) is Verdict.FAILS
    assert at_most([kept, few], 1.1) is Verdict.UNKNOWN


def synthetic(**change: float) -> Comparison:
    shares = {PERIODIC: 1.2, GP: 1.5, "TV-GP-UCB": 2.0, "R-GP-UCB": 2.1, "C-GP-UCB": 2.2, TRUE: 0.8}
    return Comparison(frame(**{**shares, **dict.fromkeys(unknown_period.OURS, 0.85), **change}))


STUDIED = (unknown_period._structure, unknown_period._search, unknown_period._less)


def test_verdicts_in_the_synthetic_world_follow_the_figures() -> None:
    blind = SEARCH + unknown_period.BLIND
    good = synthetic(**{blind: 1.1})
    judged = [study(good) for study in STUDIED]
    assert [claim.verdict for claim in judged] == [Verdict.HOLDS] * 3
    assert "times (" in judged[0].found
    assert unknown_period._structure(synthetic(**{AUTO: 1.0})).verdict is Verdict.FAILS
    assert unknown_period._search(synthetic(**{blind: 1.8})).verdict is Verdict.IN_PART
    bad = unknown_period._less(synthetic(**{blind: 1.8}))
    assert bad.verdict is Verdict.IN_PART
    assert f"refuted for {blind};" in bad.found


def test_hidden_and_known_are_paired_by_seed() -> None:
    worlds = [unknown_period.HIDDEN, unknown_period.KNOWN]
    rows = pd.MultiIndex.from_product([worlds, [3, 1]], names=["env", "seed"])
    hidden = [1.0, 2.0, np.nan, np.nan]
    regret = pd.DataFrame(dict.fromkeys(unknown_period.HIDDEN_FROM, hidden), rows)
    regret[AUTO], regret[GP] = [1.0, 2.0, 30.0, 20.0], [np.nan, np.nan, 300.0, 200.0]
    found = unknown_period.side_by_side(regret)
    assert found.loc[
        3, [AUTO, GP, AUTO + unknown_period.BLIND, SEARCH + unknown_period.BLIND]
    ].tolist() == [
        30.0,
        300.0,
        1.0,
        1.0,
    ]
    assert SEARCH not in found


@pytest.mark.parametrize(("share", "verdict"), [(1.02, Verdict.HOLDS), (1.3, Verdict.FAILS)])
def test_guesses_are_held_against_the_right_period(
    share: float, verdict: Verdict, measured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {guesses.guessed(period): share for period in FULL.guesses}
    relied = {guesses.relied(period): 1.4 for period in FULL.guesses}
    right = {guesses.relied(24): 1.0, guesses.guessed(24): 9.0}  # its own guess is not judged
    lab: Any = FakeLab(lambda _: frame(**wrong, **relied, **right), monkeypatch, guesses)
    (close, safer), text = guesses.study(lab)
    assert close.verdict is verdict
    assert safer.verdict is Verdict.HOLDS
    assert "Relying on the wrong ones: 1.39 to 1.41" in close.found
    assert len(close.numbers) == len(safer.numbers) == 12
    assert close.numbers["about:22 (l = 1)"] == pytest.approx(share, rel=0.02)
    assert all(f"| period=about:{period} |" in "".join(text) for period in (*FULL.guesses, 24))
    given = [a["settings"] for run in lab.asked for a in run["agents"] if a["label"] == "period=6"]
    assert [settings["time_length_scale"] for settings in given] == [10.0, 1.0]
    assert len(lab.asked[0]["envs"]) == 12


# --- tracks ----------------------------------------------------------------------------------


def city_frame(**change: float) -> pd.DataFrame:
    shares = dict.fromkeys([*METHODS, *city.OURS], 1.6) | {AUTO: 0.85, PRETRAINED: 0.7}
    references = {"best-fixed": 1.0, "best-per-phase": 0.6, "uniform-random": 2.2}
    return frame(**{**shares, **references, **change})


def test_the_pretrained_agent_is_shown_apart(
    measured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab: Any = FakeLab(lambda _: city_frame(), monkeypatch, city)
    claims, text = city.study(lab)
    tables = [part for part in text if part.startswith("|")]
    assert len(tables) == 2
    assert PRETRAINED not in tables[0]
    assert tables[0].count("\n") == 1 + len(METHODS) + len(city.OURS)
    assert [line.split(" |")[0] for line in tables[1].split("\n")[2:]] == [f"| {PRETRAINED}"]
    (asked,) = lab.asked
    tracks = {agent["label"]: agent.get("track", "online") for agent in asked["agents"]}
    assert {label for label, track in tracks.items() if track == "pretrained"} == {PRETRAINED}
    online, pretrained = lab.drawn["beyond-madrid"].axes
    assert PRETRAINED not in [tick.get_text() for tick in online.get_yticklabels()]
    assert [tick.get_text() for tick in pretrained.get_yticklabels()] == [PRETRAINED]
    assert [claim.verdict for claim in claims] == [Verdict.HOLDS] * 3
    assert "best station of each hour 0.60" in "".join(text)
    assert sum(PRETRAINED in claim.says + claim.found for claim in claims) == 1


def test_madrid_s_aims_can_fail(measured: None, monkeypatch: pytest.MonkeyPatch) -> None:
    worse = city_frame(**{AUTO: 1.1, PRETRAINED: 0.9, GP: 1.0})
    claims, _ = city.study(FakeLab(lambda _: worse, monkeypatch, city))  # type: ignore[arg-type]
    assert [c.verdict for c in claims] == [Verdict.FAILS, Verdict.IN_PART, Verdict.FAILS]


def test_without_measurements_our_aims_on_madrid_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    claims, _ = city.study(FakeLab(lambda _: city_frame(), monkeypatch, city))  # type: ignore[arg-type]
    assert {claim.verdict for claim in claims} == {Verdict.UNKNOWN}
    assert all(claim.found.startswith("Simulated: ") for claim in claims)


def test_missing_years_are_said_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from studies.paper import trials

    monkeypatch.setattr(trials.imported, "years", lambda: [2016])
    with pytest.raises(DataError, match="needs the measurements of 2018"), Store() as store:
        reproduce(small(), store=store, out=tmp_path, only=[beyond.NAME], workers=0)
    assert not list(tmp_path.iterdir())


# --- the page --------------------------------------------------------------------------------


def test_our_aims_are_not_counted_among_the_paper_s_claims(tmp_path: Path) -> None:
    holds = Claim("Section 1", "It works.", "it does.", Verdict.HOLDS)
    asked = Claim("Section 2", "Does it work?", "it does.", Verdict.HOLDS, ours=True)
    aim = Claim("Ours, here", "Ours works.", "it does not.", Verdict.FAILS, ours=True)
    sections = [
        Section("beyond", "Beyond the paper", [aim], ["Our text."], ours=True),
        Section("gains", "Theirs", [holds, asked], ["Their text."]),
    ]
    stamp = make_stamp("x", study="studies.paper")
    page = write_sections(tmp_path, "page", sections, QUICK, stamp).read_text()
    assert "Of 2 claims 2 hold." in page
    assert "Of 1 aims of ours 1 do not hold." in page
    assert "### 2. Section 2\n\n**We ask:** Does it work?" in page
    assert "### B1. Ours, here\n\n**Our aim:** Ours works." in page
    assert "Command: `periodic-gp reproduce --quick --only beyond`" in page
    assert page.index("Their text.") < page.index("## Slips") < page.index("Our text.")
    assert [claim for claim, *_ in _CLAIM.findall(page)] == [
        "1. It works.",
        "2. Does it work?",
        "B1. Ours works.",
    ]


def test_a_page_of_one_kind_speaks_of_no_other(tmp_path: Path) -> None:
    claim = Claim("Section 1", "So.", "so.", Verdict.HOLDS)
    for ours in (True, False):
        section = Section("name", "Title", [claim], ours=ours)
        stamp = make_stamp("x", study="studies.paper")
        page = write_sections(tmp_path, "page", [section], QUICK, stamp).read_text()
        assert bool(re.search(r"Of \d+ claims", page)) is not ours
        assert bool(re.search(r"Of \d+ aims of ours", page)) is ours


def test_the_study_runs_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all agents, in hidden worlds that are those that are told."""
    assert list(STUDIES)[-1] == beyond.NAME
    monkeypatch.setattr(unknown_period, "as_printed", dict)  # a fit of a second
    lab = make_lab(tmp_path, small(side_seeds=1))
    asked: list[Results] = []
    run = lab.run

    def short(name: str, **more: Any) -> Results:
        asked.append(run(name, **more, horizon=6))
        return asked[-1]

    lab.run = short  # type: ignore[method-assign]
    claims, text = unknown_period.study(lab)
    totals = asked[0].totals
    fixed = totals[totals["agent"] == "best-fixed"].set_index("env")["regret"]
    assert fixed[unknown_period.KNOWN] == fixed[unknown_period.HIDDEN] > 0
    assert len(claims) == 3
    assert (tmp_path / "pictures" / "beyond-synthetic.png").stat().st_size > 10_000
    assert all(f"| {name} |" in text[-1] for name in (*METHODS, TRUE, *unknown_period.OURS))
