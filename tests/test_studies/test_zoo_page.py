"""The page of the zoo: who is in it, and that its words follow its numbers."""

import re
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from gymnasium import spaces

from agents.registry import online_names
from agents.zoo.gp.et_gp_ucb import ETGPUCB
from evaluation.protocol import Protocol
from evaluation.results import UNIFORM
from evaluation.store import Store
from studies.claims import Verdict
from studies.comparison import Comparison
from studies.lab import Lab
from studies.zoo.argument import CONTINUOUS, FINITE, claims
from studies.zoo.bench import Bench, best_and_alike, best_elsewhere, champions
from studies.zoo.controls import (
    BOX,
    Controls,
    by_theorem,
    cut_agents,
    run_controls,
    width_agents,
    with_few_arms,
)
from studies.zoo.controls_text import controls_numbers, controls_parts
from studies.zoo.families import (
    BLOCKS,
    CITED,
    FAMILIES,
    GENERAL,
    GROUPS,
    LINEAR,
    LINEAR_BY_THEOREM,
    LOCAL,
    PERIODIC,
    family_of,
    sweep_agents,
)
from studies.zoo.page import argument_parts
from studies.zoo.picture import heat_map
from studies.zoo.study import ZooSize, _protocol, write_zoo
from studies.zoo.widths import (
    chosen,
)
from tests.test_evaluation.test_cli import call

TINY = ZooSize("quick", seeds=2, horizon=8, worlds=tuple(GROUPS["not repeating"]))
FEW = ["random", "gp-ucb", PERIODIC, "phase-ts", "d-linucb"]
WORLDS = [world for worlds in GROUPS.values() for world in worlds]
FAULTY = Path(__file__).parents[1] / "test_evaluation" / "faulty_agents.py"


def test_every_agent_has_one_family() -> None:
    listed = Counter(agent for family in FAMILIES.values() for agent in family)
    assert set(listed.values()) == {1}
    assert all(FAMILIES.values()), "a family that the page shows is empty"
    assert {*online_names(), LOCAL} == set(sweep_agents())
    assert {*CITED, *GENERAL, *BLOCKS, PERIODIC} <= set(listed)
    assert {*LINEAR, LINEAR_BY_THEOREM} == set(FAMILIES["linear, periodic"])
    assert family_of("ppo") == "others"


def test_every_world_of_the_protocol_has_one_group() -> None:
    protocol = Protocol.load("standard")
    assert sorted(WORLDS) == sorted(entry.label for entry in protocol.envs)
    for worlds, kind in ((CONTINUOUS, spaces.Box), (FINITE, spaces.Discrete)):
        for entry in protocol.envs:
            if entry.label in worlds:
                assert isinstance(entry.spec.make().action_space, kind), entry.label
    assert {*CONTINUOUS, *FINITE} == set(GROUPS["repeating"])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny page; the second time nothing is left to run."""
    folder = tmp_path_factory.mktemp("zoo")
    heard: list = []
    for _ in range(2):
        heard.clear()
        with Store(folder / "store.sqlite") as store:
            write_zoo(
                TINY,
                store=store,
                out=folder,
                workers=0,
                agents=[*FEW, f"{FAULTY}:Raises"],
                reporting=lambda title: nullcontext(heard.append),
            )
    assert {(progress.done, progress.run) for progress in heard} == {
        (progress.runs, None) for progress in heard
    }
    return folder


def test_the_page_is_whole(tiny: Path) -> None:
    page = (tiny / "zoo.md").read_text()
    for heading in (
        "Which family wins where",
        "What the paper's argument",
        "Controls",
        "Every agent",
        "World by",
    ):
        assert f"## {heading}" in page
    assert page.count("\n### ") == 9
    assert "Verdict" not in page  # of so few runs
    assert page.count("Fewer than 5 runs tell nothing apart") == 2
    assert f" {TINY.horizon} steps long" in page
    assert "ms per step" not in page.partition("## World by world")[2]
    assert "Written by `periodic-gp zoo --quick` (the quick version" in page
    for agent in FEW:
        row = re.search(rf"^\| [^|]+ \| {agent} \|.*\| ([\d.]+) \|$", page, re.MULTILINE)
        assert row, agent
        assert float(row[1]) > 0  # milliseconds per step
    for picture in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page):
        assert (tiny / picture).stat().st_size > 10_000
    assert "## Runs that failed" in page
    assert "Raises in PeriodicGP-Piecewise-v0: " in page


def centred(rng: np.random.Generator, deviation: float, runs: int) -> np.ndarray:
    """Draws whose mean is zero, so that means in the text do not hang on how many agents exist."""
    draws = rng.normal(0, deviation, runs)
    return draws - draws.mean()


def random_bench(better: dict[str, float], runs: int = 10) -> Bench:
    """A sweep whose agents have given mean regrets, 0.5 by default, in every world."""
    agents = [agent for family in FAMILIES.values() for agent in family]
    rng = np.random.default_rng(0)
    shares = {}
    for world in WORLDS:
        common = centred(rng, 0.1, runs)
        columns = {a: better.get(a, 0.5) + common + centred(rng, 0.02, runs) for a in agents}
        shares[world] = pd.DataFrame({**columns, UNIFORM: np.ones(runs)})
    return Bench(shares, dict.fromkeys(agents, 1.0))


def verdicts(bench: Bench) -> list[Verdict]:
    return [claim.verdict for claim in claims(bench)]


def test_verdicts_follow_the_numbers() -> None:
    """Differences are 25 standard errors: no false alarms to count."""
    good = verdicts(random_bench({PERIODIC: 0.3}))
    assert good[0] is good[4] is good[5] is Verdict.HOLDS
    assert good[2] is Verdict.UNKNOWN  # said of methods, not of what our cut makes of them
    assert good[7] is Verdict.FAILS  # it is better in Piecewise, too
    bad = verdicts(random_bench({PERIODIC: 0.8}))
    assert bad[0] is Verdict.FAILS
    assert bad[7] is Verdict.HOLDS


def test_every_claim_has_its_verdict() -> None:
    text = "\n\n".join(argument_parts(claims(random_bench({PERIODIC: 0.3})), decided=True))
    assert text.count("### ") == text.count("**Verdict: ") == 9
    assert "**Verdict: holds.**" in text


def test_one_exception_is_told() -> None:
    """Differences are 25 standard errors."""
    first = claims(random_bench({PERIODIC: 0.3, "d-linucb": 0.1}))[0]
    assert first.verdict is Verdict.IN_PART
    assert "clearly worse than d-linucb;" in first.found
    assert "The best of them, d-linucb, has 0.1" in first.found
    assert set(first.numbers) == {*CITED, PERIODIC}


def test_linear_bandits_are_judged_as_practitioners_run_them() -> None:
    """The theorem's width is told and decides nothing. Differences are 25 standard errors."""
    levels = {PERIODIC: 0.3, LINEAR_BY_THEOREM: 0.1}
    last = claims(random_bench(levels))[-1]
    assert last.verdict is Verdict.HOLDS
    assert "Of 2 methods" in last.found
    assert "With the theorem's width (fourier-linucb) they have 0.10 [" in last.found
    assert set(last.numbers) == {"linucb", "lints", PERIODIC}
    assert verdicts(random_bench({PERIODIC: 0.3, "linucb": 0.1}))[-1] is Verdict.IN_PART
    bench = random_bench(levels)
    shares = {world: frame.drop(columns=list(LINEAR)) for world, frame in bench.shares.items()}
    unrun = claims(Bench(shares, bench.ms_per_step))[-1]
    assert (unrun.verdict, unrun.found) == (Verdict.UNKNOWN, "These methods were not run.")


def test_what_was_not_run_is_not_judged() -> None:
    bench = random_bench({})
    shares = {
        w: f.drop(columns=[*CITED, *FAMILIES["arms, stationary"]]) for w, f in bench.shares.items()
    }
    found = claims(Bench(shares, bench.ms_per_step))
    for claim in (found[0], found[1], found[2], found[7]):
        assert claim.verdict is Verdict.UNKNOWN
        assert claim.found == "These methods were not run."
    few = claims(random_bench({PERIODIC: 0.3}, runs=3))
    assert {claim.verdict for claim in few} == {Verdict.UNKNOWN}


def test_long_stretches_are_asked_of_both_grounds() -> None:
    stationary = dict.fromkeys(FAMILIES["arms, stationary"], 0.4)
    bench = random_bench(stationary)
    piecewise = bench.shares["PeriodicGP-Piecewise-v0"]
    assert verdicts(bench)[1] is Verdict.IN_PART  # stationary ones are better on both
    piecewise[list(CITED)] -= 0.3
    assert verdicts(bench)[1] is Verdict.HOLDS


def test_families_are_judged_by_runs_that_they_were_not_chosen_on() -> None:
    """Twenty agents of pure noise: their best is no better than one of them."""
    rng = np.random.default_rng(0)
    regret = rng.normal(1.0, 0.2, (200, 20))
    # Standard error 0.014: six of them.
    assert best_elsewhere(regret).mean() == pytest.approx(1.0, abs=0.085)
    assert best_elsewhere(regret[:1]).tolist() == [regret[0].min()]
    frame = pd.DataFrame({"a": [1.0] * 6, "b": [2.0] * 6, "c": [0.5, 1.6] * 3})
    teams = champions(Comparison(frame), {"one": ("a", "b"), "two": ("c",), "none": ("d",)})
    assert teams.regret.columns.tolist() == ["one", "two"]
    assert teams.regret["one"].tolist() == [1.0] * 6
    assert best_and_alike(teams) == ("one", ["two"])


def test_the_picture_shows_what_is_missing() -> None:
    bench = random_bench({})
    del bench.shares[WORLDS[0]]["ucb1"]
    texts = heat_map(bench).axes[0].texts
    assert len(texts) == len(bench.agents) * len(WORLDS) - 1


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.zoo.study.QUICK", TINY)
    monkeypatch.setattr("studies.zoo.study.sweep_agents", lambda: ["gp-ucb", "phase-ts"])
    place = ("--out", str(tmp_path), "--store", str(tmp_path / "s.sqlite"))
    result = call("zoo", "--quick", *place, "--workers", "0")
    assert result.returncode == 0, result.stderr
    assert "too few runs to decide" in result.stdout
    assert (tmp_path / "zoo.md").is_file()


def test_the_standard_protocol_has_every_agent_of_the_zoo() -> None:
    run = {entry.spec.name for entry in Protocol.load("standard").agents}
    assert run == {name.partition(":")[0] for members in FAMILIES.values() for name in members}


def widths_bench(better: dict[str, float], runs: int = 10) -> Bench:
    """Controls whose agents have given mean regrets, 0.5 by default, in every world."""
    agents = width_agents()
    rng = np.random.default_rng(0)
    shares = {}
    for world in WORLDS:
        common = centred(rng, 0.1, runs)
        columns = {a: better.get(a, 0.5) + common + centred(rng, 0.02, runs) for a in agents}
        shares[world] = pd.DataFrame(columns)
    return Bench(shares, dict.fromkeys(agents, 1.0))


def test_controls_say_who_is_better_at_equal_widths() -> None:
    """Differences are 10 standard errors and more: no false alarms to count."""
    best = chosen()
    levels = {PERIODIC: 0.3, best[PERIODIC]: 0.3, by_theorem(PERIODIC): 0.6, best["d-ucb"]: 0.2}
    quiet = {world: [0, 0] for world in WORLDS}
    text = "\n".join(controls_parts(Controls(widths_bench(levels), None, quiet)))
    wide = next(line for line in text.splitlines() if f"`{by_theorem(PERIODIC)}` is" in line)
    assert "clearly better than none; clearly worse than" in wide
    assert "gp-ucb:beta=theorem" in wide
    assert not any(name in wide.split("`")[2].split(", ") for name in LINEAR)  # no theorem's
    even = next(
        line
        for line in text.splitlines()
        if "chosen for it" in line and f"`{best[PERIODIC]}` is" in line
    )
    assert f"clearly worse than {best['d-ucb']}; not told apart from none." in even
    assert all(best[name] in even for name in ("ucb1", "gp-ucb", *LINEAR))
    row = next(line for line in text.splitlines() if line.startswith("| d-ucb "))
    assert "| 0.50 [" in row
    assert "| 0.20 [" in row
    assert row.count("| -0.30 [") == 1  # the gain
    assert row.count("| -0.10 [") == 1  # beside periodic-gp-ucb's
    assert text.index("| d-ucb ") < text.index(f"| {PERIODIC} |") < text.index("| ucb1 ")
    assert "hardly ever did so: 0 times in 22 runs (none). In 11 of 11 worlds it never" in text
    often = Controls(widths_bench(levels), None, {WORLDS[0]: [3, 4], WORLDS[1]: [0, 1]})
    assert (
        "did so: 8 times in 4 runs (Synthetic 7, SyntheticDiscrete 1). In 0 of 2"
        in (controls_parts(often)[-1])
    )


def test_fewer_arms_are_compared_agent_by_agent() -> None:
    """Differences are constant but for a wobble that cancels."""
    assert {"ucb1", "phase-ucb", "d-linucb"} <= set(cut_agents())
    assert not {"gp-ucb", "random", "fixed", "cab1"} & set(cut_agents())
    change = {"ucb1": -0.2, "phase-ucb": -0.1, "d-linucb": 0.3, "d-ucb": 0.0}
    wobble, rng = 0.01 * np.array([1.0, -1.0] * 5), np.random.default_rng(0)
    frame = pd.DataFrame({agent: rng.normal(0.8, 0.1, 10) for agent in change})
    for agent, difference in change.items():
        frame[with_few_arms(agent)] = frame[agent] + difference + wobble
    controls = Controls(widths_bench({}), Comparison(frame), {WORLDS[0]: [0]})
    text = "\n".join(controls_parts(controls))
    assert "of 4\nagents 2 do clearly better with 5, 1 clearly worse." in text
    assert re.search(r"^\| d-linucb \| .* \| \+0\.30 \[", text, re.MULTILINE)
    few = controls_numbers(controls)["arms"]["ucb1:box_arms=5"]
    assert few == pytest.approx(frame["ucb1"].mean() - 0.2)


def test_controls_are_run_in_the_worlds_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A belief that is contradicted twice in eight steps, and two agents for arms."""
    monkeypatch.setattr(ETGPUCB, "_contradicts", lambda self, action, t, y: t % 4 == 3)
    monkeypatch.setattr("studies.zoo.controls.cut_agents", lambda: ["ucb1", "bob"])
    size = ZooSize("quick", seeds=2, horizon=8, worlds=(BOX, "PeriodicGP-SyntheticDiscrete-v0"))
    heard: list = []
    with Store() as store:
        lab = Lab(size, store, workers=0, reporting=lambda title: nullcontext(heard.append))
        controls = run_controls(_protocol(size, ["random"]), lab)
    assert controls.resets == {world: [2, 2] for world in size.worlds or ()}
    assert controls.arms is not None
    assert {"ucb1", "ucb1:box_arms=5", "bob", "bob:box_arms=5"} <= set(controls.arms.regret)
    assert list(controls.widths.shares) == list(size.worlds or ())
    assert heard[-1].done == heard[-1].runs
    assert not heard[-1].failed


def test_the_controls_have_a_page_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studies.zoo.study.QUICK", TINY)
    place = ("--out", str(tmp_path), "--store", str(tmp_path / "s.sqlite"))
    result = call("zoo", "--quick", "--controls", *place, "--workers", "0")
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "zoo-controls.md").read_text()
    assert "Written by `periodic-gp zoo --quick --controls`" in page
    assert "`et-gp-ucb`" in page
    assert not (tmp_path / "zoo.md").exists()
