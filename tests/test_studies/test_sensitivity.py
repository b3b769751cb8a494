"""Every setting a third of its default and three times as large, and what is said of it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from agents.registry import AgentSpec
from evaluation.protocol import Protocol
from evaluation.store import Store
from studies.lab import Lab
from studies.sensitivity.page import Sensitivity, numbers_of, text_of
from studies.sensitivity.study import WORLDS, main
from studies.sensitivity.variants import (
    ABOUT_WORLD,
    NO_EFFECT,
    NO_NUMBER,
    TOGETHER,
    ZERO,
    left_alone,
    variants_of,
)
from studies.stamp import stamps_in
from studies.zoo.bench import Bench
from studies.zoo.by_world import Problems, problems_of
from studies.zoo.families import sweep_agents


@pytest.fixture(scope="module")
def problems() -> Problems:
    """What is told in two runs of each world of the study."""
    standard = Protocol.load("standard").restricted(envs=WORLDS, seeds=[2000, 2001])
    return problems_of(standard, Lab(None, Store(), workers=0))


def changes(agent: str, problems: Problems) -> dict[str, tuple[str, str, str]]:
    return {v.setting: (v.default, v.less, v.more) for v in variants_of(agent, problems)}


def test_numbers_are_scaled_and_words_are_left_alone(problems: Problems) -> None:
    found = changes("sw-ucb", problems)
    assert found["xi"] == ("0.6", "sw-ucb:xi=0.2", "sw-ucb:xi=1.8")
    assert found["box_arms"] == ("20", "sw-ucb:box_arms=7", "sw-ucb:box_arms=60")
    assert set(found) == {"xi", "box_arms", "window", "scale"}
    assert changes("fourier-linucb", problems)["regulariser"][0] == "1.0"  # not its base class's
    assert left_alone("sw-ucb", problems) == {}
    assert changes("random", problems) == {}
    left = left_alone("kl-ucb", problems)
    assert left == {"divergence": NO_NUMBER, "c": ZERO}  # three times nothing is nothing
    assert left_alone("bob", problems) == {"window": NO_EFFECT, "variation": NO_EFFECT}
    assert left_alone("phase-ts", problems) == {"period": ABOUT_WORLD}


def test_what_a_rule_gives_is_scaled_world_by_world(problems: Problems) -> None:
    (window,) = [v for v in variants_of("sw-linucb", problems) if v.setting == "window"]
    assert window.default == "rule: 54 to 71"
    assert window.less == "sw-linucb:window*0.333"
    assert window.names[window.less][WORLDS[0]] == "sw-linucb:window=18"
    assert window.names[window.more][WORLDS[3]] == "sw-linucb:window=213"
    (scale,) = [v for v in variants_of("thompson", problems) if v.setting == "scale"]
    assert scale.default == "rule: 1; not in RideShare, MadridSim"
    assert scale.names["thompson:scale*3"] == {
        world: "thompson:scale=3.0" if told else "thompson"
        for world, told in zip(WORLDS, (True, True, True, False, False), strict=True)
    }
    exploration = changes("auto-gp-ucb", problems)["beta"]
    assert exploration == ("rule: paper or steady", "auto-gp-ucb:beta*0.333", "auto-gp-ucb:beta*3")


def test_a_discount_is_scaled_by_its_memory(problems: Problems) -> None:
    (gamma,) = [v for v in variants_of("d-ucb", problems) if v.setting == "gamma"]
    assert gamma.default == "rule: 0.982; by its memory"
    usual = 1 - 0.25 / math.sqrt(200)
    for name, factor in ((gamma.less, 1 / 3), (gamma.more, 3)):
        found = AgentSpec.parse(gamma.names[name][WORLDS[0]]).settings["gamma"]
        assert 1 / (1 - found) == pytest.approx(factor / (1 - usual), rel=1e-3)


def test_a_scale_is_given_with_its_mean(problems: Problems) -> None:
    (scale,) = [v for v in variants_of("gp-ucb", problems) if v.setting == "prior_scale"]
    assert scale.names[scale.more][WORLDS[0]] == "gp-ucb:prior_mean=0.0,prior_scale=3.0"
    assert scale.names[scale.more][WORLDS[4]] == "gp-ucb"  # where each run's warm start sets it
    assert left_alone("gp-ucb", problems)["prior_mean"] == TOGETHER


def test_no_agent_has_less_than_its_paper_lets_one_set(problems: Problems) -> None:
    """Agents whose rules were never varied: box_arms alone, or nothing."""
    for agent in ("kl-ucb", "thompson", "exp3-s", "phase-ucb", "ucb-air", "periodic-exp4"):
        assert {*changes(agent, problems)} - {"box_arms"}, agent
    assert changes("auto-gp-ucb", problems)


def test_a_schedule_s_weight_is_scaled_where_it_matters(problems: Problems) -> None:
    beta = changes("gp-ucb", problems)["beta"]
    assert beta == ("paper", "gp-ucb:beta=paper*0.333", "gp-ucb:beta=paper*3")
    assert "beta" not in changes("gp-thompson", problems)
    assert "nu" not in changes("gp-ucb", problems)


def test_settings_of_a_variant_are_kept(problems: Problems) -> None:
    found = changes("periodic-gp-ucb:time_length_scale=1", problems)
    assert found["time_length_scale"][1:] == (
        "periodic-gp-ucb:time_length_scale=0.333",
        "periodic-gp-ucb:time_length_scale=3.0",
    )
    assert found["length_scale"][1] == "periodic-gp-ucb:time_length_scale=1,length_scale=0.333"


def test_clearly_better_and_worse_settings_are_named(problems: Problems) -> None:
    (variant,) = [v for v in variants_of("ucb1", problems) if v.setting == "xi"]
    noise = pd.Series([0.0, 0.01, -0.01, 0.02, -0.02, 0.0])
    table = {"ucb1": 0.5 + noise, variant.less: 0.4 + noise[::-1], variant.more: 0.7 + noise}
    regret = pd.DataFrame({name: list(values) for name, values in table.items()})
    bench = Bench(dict.fromkeys(WORLDS, regret), {})
    found = Sensitivity(bench, [variant], ["ucb1"], ["`x`: why"], {"ucb1": {"y": NO_NUMBER}})
    text = text_of(found, command="c", worlds=WORLDS, seeds="0:6")
    assert "Words and switches, or nothing by default: y of `ucb1`." in text
    assert "2 values were tried" in text
    assert "differences of all 30 runs" in text
    assert "- `ucb1:xi=0.667`: -0.10" in text
    assert "- `ucb1:xi=6.0`" not in text
    assert "| ucb1 | xi=0.667 | 0.50" in text
    assert "**0.40" in text
    assert "*0.70" in text
    assert "- `x`: why" in text
    assert numbers_of(found) == {"ucb1": pytest.approx({n: regret[n].mean() for n in regret})}


def chance(problems: Problems, better: str | None, runs: int = 10) -> Sensitivity:
    """Every value of every agent as good as its default, in noise, but for one that is better."""
    agents = [agent for agent in sweep_agents() if agent != "random"]
    variants = [variant for agent in agents for variant in variants_of(agent, problems)]
    names = [*agents, *(name for v in variants for name in (v.less, v.more))]
    rng = np.random.default_rng(7)
    shares = {}
    for world in WORLDS:
        frame = pd.DataFrame({name: rng.normal(0.5, 0.1, runs) for name in dict.fromkeys(names)})
        if better is not None:
            frame[better] -= 0.2
        shares[world] = frame
    return Sensitivity(Bench(shares, {}), variants, agents, [], {})


def test_of_many_values_none_is_better_by_chance(problems: Problems) -> None:
    """Some four hundred values without any effect: intervals find some, verdicts find none.

    By Holm's method the chance of a false alarm is 5 %; the seed is one without.
    """
    found = chance(problems, None)
    count = len(found.tried)
    assert count > 300
    alone = [n for n, agent in found.tried.items() if found.pooled.better(n, agent)]
    assert len(alone) > 2
    assert set(found.verdicts.values()) == {None}
    text = text_of(found, command="c", worlds=WORLDS, seeds="0:10")
    assert f"{count} values were tried" in text
    assert f"about {round(0.05 * count)} intervals" in text
    assert f"One by one, the intervals of {len(alone)} more lie" in " ".join(text.split())
    assert "\n\nNothing.\n" in text
    assert not re.search(r"\| \*", text)  # neither bold nor slanted


def test_what_is_better_survives_the_correction(problems: Problems) -> None:
    """The difference is 10 standard errors."""
    found = chance(problems, "d-ucb:1/(1-gamma)*3")
    assert [name for name, less in found.verdicts.items() if less] == ["d-ucb:1/(1-gamma)*3"]
    assert "\n- `d-ucb:1/(1-gamma)*3`: -0.2" in text_of(
        found, command="c", worlds=WORLDS, seeds="0:10"
    )
    assert set(chance(problems, "d-ucb:1/(1-gamma)*3", runs=3).verdicts.values()) == {None}


def test_a_quick_run_writes_a_stamped_page(tmp_path: Path) -> None:
    words = ["--quick", "--agents", "ucb1", "fixed", "periodic-exp4", "--workers", "0"]
    main([*words, "--store", str(tmp_path / "s.sqlite"), "--docs", str(tmp_path)])
    page = (tmp_path / "sensitivity.md").read_text()
    assert "over 2 runs of each (seeds 2000:2002" in page
    assert "| fixed | box_arms | 20 |" in page
    assert re.search(r"^\| ucb1 \| scale \| rule: 1; not in .* \| 0\.\d\d \|", page, re.MULTILINE)
    assert "- `periodic-exp4:gamma=3.0`: ValueError: gamma must lie in (0, 1]" in page
    assert (tmp_path / "sensitivity" / "ranges.png").stat().st_size > 1000
    (stamp,) = stamps_in(page)
    assert set(stamp.code["agents"]) == {"ucb1", "fixed", "periodic-exp4"}
