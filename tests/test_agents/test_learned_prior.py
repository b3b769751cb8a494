"""Priors in files: known places, units of their own, and what happens when they are wrong."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.auto.builders import DOUBTS
from agents.auto.learned_prior import SHIPPED, PriorError, load_prior
from agents.testing import observe
from tests.errors import raises
from tests.test_agents.playing import arms, fresh, reloaded_agent

MADRID = json.loads(SHIPPED["madrid"].read_text())
PLACES, PROFILE = np.array(MADRID["places"]), np.array(MADRID["profile"])
STATIONS = arms(24, action_features=PLACES, periods=(24.0,))
THREE = arms(3, periods=(2.0,))
SMALL = {
    "format": "periodic-gp prior",
    "version": 2,
    "about": "Prior for a test: nothing.",
    "period": 2.0,
    "transform": "identity",
    "unit": 50.0,
    "profile": [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]],
    "noise_variance": 0.2,
    "terms": [{"part": "level", "factor": [[0.1]] * 3, "own": [0.1] * 3}],
}


def prior(folder: Path, content: dict[str, Any], **changes: Any) -> str:
    path = folder / "prior.json"
    path.write_text(json.dumps(content | changes))
    return str(path)


def test_prior_has_rewards_in_units_of_the_file(tmp_path: Path) -> None:
    agent = fresh(f"auto-gp-ucb:prior={prior(tmp_path, SMALL)}", THREE)
    for t in (0, 1, 2):
        np.testing.assert_allclose(agent.belief(t)[0], 50.0 * np.array(SMALL["profile"][t % 2]))


@pytest.mark.parametrize("transform", ["identity", "sqrt", "log1p"])
def test_prior_has_every_scale(tmp_path: Path, transform: str) -> None:
    scale = load_prior(prior(tmp_path, SMALL, transform=transform, unit=0.5), THREE).scale
    rewards = np.array([-3.0, 0.0, 7.0])
    assert scale.transform == transform
    np.testing.assert_allclose(scale.backward(scale.forward(rewards)), rewards, atol=1e-9)


def test_prior_matches_places_in_any_order() -> None:
    order = np.random.default_rng(0).permutation(24)[:9]
    some = arms(9, action_features=PLACES[order], periods=(24.0,))
    whole, part = (load_prior("madrid", problem) for problem in (STATIONS, some))
    np.testing.assert_array_equal(part.profile, whole.profile[:, order])
    for ours, all_of in zip(part.kernel.terms, whole.kernel.terms, strict=True):
        expected = all_of.actions[0].matrix[np.ix_(order, order)]
        np.testing.assert_array_equal(ours.actions[0].matrix, expected)


def test_pretrained_agent_knows_the_profile_before_any_reward() -> None:
    agent = fresh("auto-gp-ucb:prior=madrid", STATIONS)
    for hour in (3, 9, 21):
        np.testing.assert_allclose(agent.belief(24.0 + hour)[0], np.expm1(PROFILE[hour]))


@pytest.mark.parametrize(
    ("table", "wrong"), [(PROFILE, False), (3.0 - PROFILE[:, ::-1], True)], ids=["right", "wrong"]
)
def test_pretrained_agent_leaves_a_wrong_prior(table: np.ndarray, wrong: bool) -> None:
    """Rewards of the profile, or of one turned upside down with its stations in reverse order."""
    agent, common = fresh("auto-gp-ucb:prior=madrid", STATIONS), 0.0
    doubted = {f"prior, doubted {d:g} times" for d in DOUBTS}
    assert set(agent.structures()) == {"prior", *doubted}
    rng = np.random.default_rng(1)
    for t in range(140):
        arm = agent.act(observe(t))
        common = 0.9 * common + 0.3 * rng.normal()
        y = table[t % 24, arm] + common + 0.4 * rng.normal()
        agent.update(observe(t), arm, float(np.expm1(max(y, 0.0))))
    assert ("prior" in agent.structures()) is not wrong, agent.structures()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_pretrained_agent_sees_the_sign_of_the_rewards(sign: float, tmp_path: Path) -> None:
    """Rewards are negatives where the least is sought: a cold start shows it at the first one."""
    agent = fresh("auto-gp-ucb:prior=madrid", STATIONS)
    for t in range(12):
        arm = agent.act(observe(t))
        agent.update(observe(t), arm, sign * float(np.expm1(PROFILE[t % 24, arm])))
    belief = agent.belief(30.0)
    assert np.sign(belief[0]).tolist() == [sign] * 24
    np.testing.assert_array_equal(reloaded_agent(agent, tmp_path).belief(30.0), belief)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"format": "something else"}, "wrong-format"),
        ({"version": 7}, "wrong-version"),
        *(({"unit": unit}, "damaged-file") for unit in (0.0, -1.0, np.inf, np.nan)),
        *(({"noise_variance": noise}, "damaged-file") for noise in (-1.0, 1e308)),
        ({"transform": "cube"}, "damaged-file"),
        *(({"terms": terms}, "damaged-file") for terms in ([], [{"part": "level"}])),
        (
            {"terms": [{"part": "level", "factor": [[0.1]] * 24, "own": [-1.0] * 24}]},
            "damaged-file",
        ),
        *(({"profile": rows}, "damaged-file") for rows in ([[1.0] * 24] * 3, "high", [])),
        ({"period": 12.0, "profile": [[1.0] * 24] * 12}, "wrong-season"),
        ({"places": [[99.0, 99.0]] * 24}, "wrong-places"),
    ],
    ids=str,
)
def test_prior_rejects_damaged_files(tmp_path: Path, change: dict[str, Any], code: str) -> None:
    with raises(PriorError, code):
        load_prior(prior(tmp_path, MADRID, **change), STATIONS)


@pytest.mark.parametrize("name", ["nowhere", "3", "", "'  '"])
def test_prior_rejects_names_of_no_file(name: str) -> None:
    with raises(PriorError, "unknown-prior"):
        fresh(f"auto-gp-ucb:prior={name}", STATIONS)


def test_prior_rejects_other_problems(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    for name, problem, code in (
        ("madrid", arms(4, periods=(6.0,)), "wrong-places"),
        (prior(tmp_path, SMALL), arms(4, periods=(2.0,)), "wrong-arms"),
        (str(tmp_path / "broken.json"), STATIONS, "damaged-file"),
    ):
        with raises(PriorError, code):
            load_prior(name, problem)
