"""Priors in files: those without places, in units of their own, and of the first version."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from agents import Problem, make_agent
from agents.auto.learned_prior import SHIPPED, PriorError, load_prior

PROFILE = [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]


def prior(tmp_path: Path, **changes: Any) -> str:
    content = {
        "format": "periodic-gp prior",
        "version": 2,
        "about": "Prior for a test: nothing.",
        "period": 2.0,
        "transform": "identity",
        "unit": 50.0,
        "profile": PROFILE,
        "noise_variance": 0.2,
        "terms": [{"part": "level", "factor": [[0.1]] * 3, "own": [0.1] * 3}],
    }
    path = tmp_path / "prior.json"
    path.write_text(json.dumps(content | changes))
    return str(path)


def problem(arms: int = 3, **known: Any) -> Problem:
    observed = spaces.Box(np.array([0.0]), np.array([1e6]), dtype=np.float64)
    return Problem(spaces.Discrete(arms), observed, **{"periods": (2.0,), **known})


def test_rewards_are_in_units_of_the_file(tmp_path: Path) -> None:
    agent = make_agent(f"auto-gp-ucb:prior={prior(tmp_path)}", problem(), np.random.default_rng(0))
    for t in (0.0, 1.0, 2.0):
        np.testing.assert_allclose(agent.belief(t)[0], 50.0 * np.array(PROFILE[int(t % 2)]))


@pytest.mark.parametrize("transform", ["identity", "sqrt", "log1p"])
def test_every_scale_is_read(tmp_path: Path, transform: str) -> None:
    found = load_prior(prior(tmp_path, transform=transform, unit=0.5), problem())
    assert found.scale.transform == transform
    rewards = np.array([-3.0, 0.0, 7.0])
    np.testing.assert_allclose(
        found.scale.backward(found.scale.forward(rewards)), rewards, atol=1e-9
    )


def test_without_places_the_arms_must_be_as_many(tmp_path: Path) -> None:
    with pytest.raises(PriorError, match=r"it is about 3 arms, the problem has 4$"):
        load_prior(prior(tmp_path), problem(arms=4))


def test_a_prior_without_a_profile_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(PriorError, match="damaged"):
        load_prior(prior(tmp_path, profile=[]), problem())


@pytest.mark.parametrize("unit", [0.0, -1.0, float("inf"), float("nan")])
def test_a_unit_that_is_none_is_refused(tmp_path: Path, unit: float) -> None:
    with pytest.raises(PriorError, match="its unit must be finite and > 0"):
        load_prior(prior(tmp_path, unit=unit), problem())


def test_files_of_the_first_version_are_read(tmp_path: Path) -> None:
    content = json.loads(SHIPPED["madrid"].read_text()) | {"version": 1}
    del content["unit"]
    path = tmp_path / "first.json"
    path.write_text(json.dumps(content))
    known = problem(24, action_features=np.array(content["places"]), periods=(24.0,))
    first, shipped = (load_prior(name, known) for name in (str(path), "madrid"))
    np.testing.assert_array_equal(first.profile, shipped.profile)
    assert first.scale == shipped.scale
