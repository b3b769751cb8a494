"""Replay gives what stepping the environments gives, and the table of steps what was chosen."""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from evaluation.leaderboard.bundle import BundleError, RunForm, read_steps, write_steps
from evaluation.leaderboard.replay import PlayedWorld, played_worlds, run_forms, uniform_regrets
from evaluation.references import reference_regrets
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.process import PublicInfo, RewardProcess
from tests.test_evaluation.submissions import PROTOCOL


def stepped(env: PeriodicBanditEnv, seed: int, actions: Any) -> dict[str, np.ndarray]:
    """What the environment says of these actions, one after the other."""
    env.reset(seed=seed)
    rows = []
    for action in actions:
        _, reward, _, _, info = env.step(action)
        rows.append((info["t"], reward, info["regret"]))
    return dict(zip(("t", "reward", "regret"), np.array(rows).T, strict=True))


def drawn(env: PeriodicBanditEnv, rng: np.random.Generator) -> Any:
    """Actions by chance, the ends of a box among them."""
    if env.public.n_actions:
        return rng.integers(env.public.n_actions, size=env.horizon)
    points = rng.uniform(-1.0, 1.0, (env.horizon, env.public.dim))
    points[:2] = [[-1.0], [1.0]]
    return points


def check_replay(env: PeriodicBanditEnv) -> None:
    for seed in (0, 1):
        actions = drawn(env, np.random.default_rng(seed))
        expected = stepped(env, seed, actions)
        env.reset(seed=seed)
        found = PlayedWorld(env).columns(actions)
        for name, column in expected.items():
            np.testing.assert_allclose(found[name], column, rtol=1e-9, atol=1e-10, err_msg=name)


IDS = sorted(name for name in gym.registry if name.startswith("PeriodicGP-"))


@pytest.mark.parametrize("name", IDS)
def test_replay_gives_what_stepping_gives(name: str) -> None:
    made = gym.make(name, horizon=40).unwrapped
    assert isinstance(made, PeriodicBanditEnv)
    check_replay(made)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("PeriodicGP-Synthetic-v0", {"dim": 2}),
        ("PeriodicGP-RideShare-v0", {"noise": "poisson"}),
        ("PeriodicGP-Synthetic-v0", {"noise": "student-t"}),
    ],
)
def test_replay_in_other_settings(name: str, settings: dict[str, Any]) -> None:
    check_replay(gym.make(name, horizon=20, **settings).unwrapped)


@dataclass(frozen=True)
class Ramp(RewardProcess):
    """Somebody's process that understands one step at a time."""

    period: float = 7.0

    @property
    def public(self) -> PublicInfo:
        return PublicInfo(n_actions=5, dim=1, periods=(self.period,))

    def mean(self, actions: Any, t: Any) -> float:
        assert isinstance(actions, int)
        assert isinstance(t, int)
        return float(actions * (t % 7))

    def optimum(self, t: int) -> tuple[int, float]:
        return 4, 4.0 * (t % 7)


def test_a_process_that_knows_one_step_is_stepped() -> None:
    check_replay(PeriodicBanditEnv(Ramp(), horizon=20))


def test_worlds_of_a_protocol_are_those_of_its_runs() -> None:
    names = [(form.env, form.seed) for form in run_forms(PROTOCOL)]
    assert names == [(e.label, seed) for e in PROTOCOL.envs for seed in range(6)]
    assert len(list(played_worlds(PROTOCOL))) == len(names)
    for (env, seed), regret in uniform_regrets(PROTOCOL).items():
        world = PROTOCOL.world(next(e for e in PROTOCOL.envs if e.label == env)).make()
        world.reset(seed=seed)
        assert regret == reference_regrets(world)["uniform-random"].sum()


def forms(*shapes: tuple[int | None, int]) -> list[RunForm]:
    return [RunForm(f"world {i}", 0, 5, 9, arms, dim) for i, (arms, dim) in enumerate(shapes)]


@pytest.mark.parametrize(
    "runs", [forms((None, 1), (3, 1), (None, 1)), forms((None, 1), (None, 3)), forms((70_000, 1))]
)
def test_steps_are_read_as_they_were_written(runs: list[RunForm]) -> None:
    rng = np.random.default_rng(0)
    chosen = [
        rng.integers(form.arms, size=form.steps)
        if form.arms
        else rng.uniform(-1, 1, (form.steps, form.dim))
        for form in runs
    ]
    for form, own in zip(runs, chosen, strict=True):
        own[0] = form.arms - 1 if form.arms else 1.0
    data = write_steps(runs, chosen)
    for trusted in (True, False):
        for own, expected in zip(read_steps(data, runs, trusted=trusted), chosen, strict=True):
            np.testing.assert_array_equal(own, expected)


def test_a_point_of_more_dimensions_than_the_world_has_is_refused() -> None:
    wide = forms((None, 2), (None, 2))
    data = write_steps(wide, [np.zeros((9, 2))] * 2)
    with pytest.raises(BundleError, match=r"t = 5 of world 1, seed 0 is not a point of \[-1, 1\]"):
        read_steps(data, forms((None, 2), (None, 1)), trusted=True)
