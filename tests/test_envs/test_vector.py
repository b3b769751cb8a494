"""The native vector environment is the scalar one, many times over."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import periodic_envs
from tests.test_envs.envs import ARMS, SYNTHETIC, make, vector

EVERY_ID = [(env_id, {}) for env_id in periodic_envs.ids()]
STEPPED = [
    (SYNTHETIC, {"dim": 2, "action_width": 2.0, "horizon": 3}),
    (SYNTHETIC, {"action_kernel": "linear", "period": 7.3}),
    ("PeriodicGP-Piecewise-v0", {"n_actions": 9, "noise": "student-t"}),
    ("PeriodicGP-HiddenPeriod-v0", {"reveal_period": True, "noise": "heteroscedastic"}),
    ("PeriodicGP-Contextual-v0", {"n_actions": 6}),
]
DRAWN = [
    (SYNTHETIC, {"dim": 2, "horizon": 30}),
    (SYNTHETIC, {"dim": 3, "period": 7.3, "horizon": 30}),
    (ARMS, {"dim": 3}),
    *STEPPED[1:4],
    ("PeriodicGP-HiddenPeriod-v0", {"n_actions": 5}),
    ("PeriodicGP-Contextual-v0", {"n_actions": 6, "period": 7.3, "context_dim": 1}),
    ("PeriodicGP-MultiSeason-v0", {"period": 23.0, "horizon": 61}),
    ("PeriodicGP-Switching-v0", {"drift": 1.0, "horizon": 37, "noise": "heteroscedastic"}),
    ("PeriodicGP-MadridSim-v0", {"stations": [4, 8, 11], "objective": "min", "days": 4}),
    ("PeriodicGP-MadridSim-v0", {"start": "2018-12-30", "warm_start_days": 0}),
    ("PeriodicGP-RideShare-v0", {"noise": "none"}),
    ("PeriodicGP-Shift-v0", {"change": ["period", "amplitude"], "n_actions": None, "horizon": 50}),
    ("PeriodicGP-Shift-v0", {"change": "swap", "notify": "full", "n_actions": 5, "changes": 3}),
    ("PeriodicGP-Shift-v0", {"dim": 3, "change": ["swap", "phase"], "notify": "change"}),
    ("PeriodicGP-Shift-v0", {"changes": 0, "notify": "full", "horizon": 20}),
]


def rewards_of(process: Any) -> np.ndarray:
    """Return the tabulated values or weights at each time."""
    table = process.values if hasattr(process, "values") else process.weights
    return np.asarray(table[process.rows])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize(("env_id", "kwargs"), EVERY_ID + STEPPED, ids=str)
def test_vector_equals_gymnasiums_vector_of_scalar_envs(
    env_id: str, kwargs: dict, mode: str
) -> None:
    """Observations, rewards, ends and ``info`` through the ends of two episodes."""
    kwargs = {"horizon": 6, **kwargs}
    sync = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": AutoresetMode(mode)}}
    singles = gym.make_vec(env_id, 3, **sync, **kwargs)
    batch = vector(env_id, autoreset_mode=mode, **kwargs)
    for seed in ([5, 6, 5], None, 10):
        assert data_equivalence(batch.reset(seed=seed), singles.reset(seed=seed))
    batch.action_space.seed(0)
    ends = 0
    for _ in range(15):
        actions = batch.action_space.sample()
        step = batch.step(actions)
        assert data_equivalence(step, singles.step(actions))
        assert step[0] in batch.observation_space
        ends += int(step[3].all())
    assert ends >= 2


@pytest.mark.parametrize(("env_id", "kwargs"), EVERY_ID + DRAWN, ids=str)
def test_vector_draws_are_the_scalar_draws_to_the_last_bit(env_id: str, kwargs: dict) -> None:
    """The generators continue from the same state, too: two episodes each."""
    setup = make(env_id, **kwargs).setup
    seeds = [0, 1, 77, 2**40, 5]
    together, aside, alone = ([np.random.default_rng(seed) for seed in seeds] for _ in range(3))
    for _ in range(2):
        for one, other in zip(aside, together, strict=True):
            one.bit_generator.state = other.bit_generator.state
        batch, draws = setup.draw_many(together), setup.world.draw_many(aside, setup.horizon)
        for i, rng in enumerate(alone):
            episode = setup.draw(rng)
            np.testing.assert_array_equal(rewards_of(draws[i]), rewards_of(episode.process))
            np.testing.assert_array_equal(batch.noise[:, i], episode.noise)
            np.testing.assert_allclose(batch.observations[:, i], episode.observations, atol=1e-12)
            assert draws[i].period == episode.process.period
            assert rng.bit_generator.state == together[i].bit_generator.state


@pytest.mark.parametrize(
    ("env_id", "copies"), [("PeriodicGP-AlmostPeriodic-v0", 20), (SYNTHETIC, 60)]
)
def test_vector_optima_are_the_scalar_optima_to_the_last_bit(env_id: str, copies: int) -> None:
    """Rounding by the shape of a batch would change one in some hundred."""
    modes = ("sync", "vector_entry_point")
    envs = [gym.make_vec(env_id, copies, vectorization_mode=m, horizon=20) for m in modes]
    for env in envs:
        env.reset(seed=0)
    for _ in range(20):
        one, other = (env.step(np.zeros((copies, 1), np.float32))[4] for env in envs)
        for key in ("optimal_action", "optimal_reward"):
            np.testing.assert_array_equal(one[key], other[key])


def test_vector_without_autoreset_is_reset_as_a_whole() -> None:
    batch = vector(ARMS, horizon=2, autoreset_mode="Disabled")
    actions = np.zeros(3, dtype=int)
    batch.reset(seed=3)
    batch.step(actions)
    assert batch.step(actions)[3].all()
    with pytest.raises(gym.error.ResetNeeded):
        batch.step(actions)
    batch.reset(options={"reset_mask": np.ones(3, dtype=bool)})
    with pytest.raises(ValueError, match="reset_mask"):
        batch.reset(options={"reset_mask": np.array([True, False, False])})


def test_vector_returns_fresh_arrays() -> None:
    batch = vector(ARMS)
    calls = [batch.reset(seed=0), *(batch.step(np.zeros(3, dtype=int)) for _ in range(2))]
    arrays = [[*call[:-1], *call[-1].values()] for call in calls]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert not any(np.shares_memory(a, b) for a in arrays[one] for b in arrays[other])
    calls[1][4]["_regret"][:] = False
    assert calls[1][4]["_t"].all()


def test_vector_works_with_limits_and_wrappers() -> None:
    env = RecordEpisodeStatistics(vector(ARMS, max_episode_steps=2))
    env.reset(seed=0)
    assert not env.step(np.zeros(3, dtype=int))[3].any()
    *_, truncated, info = env.step(np.zeros(3, dtype=int))
    assert truncated.all()
    assert info["episode"]["l"].tolist() == [2, 2, 2]
    assert vector(ARMS, horizon=7).spec.max_episode_steps == 7


@pytest.mark.parametrize(
    ("env_id", "actions"),
    [
        (SYNTHETIC, np.zeros(3)),
        (SYNTHETIC, np.full((3, 1), np.nan)),
        (SYNTHETIC, np.full((3, 1), 1.5)),
        ("PeriodicGP-RideShare-v0", np.full(3, 12)),
        ("PeriodicGP-RideShare-v0", np.full(3, -1)),
        ("PeriodicGP-RideShare-v0", np.full(3, 0.5)),
        ("PeriodicGP-RideShare-v0", np.array(["a", "b", "c"])),
    ],
)
def test_vector_rejects_bad_actions(env_id: str, actions: np.ndarray) -> None:
    batch = vector(env_id)
    with pytest.raises(gym.error.ResetNeeded):
        batch.step(actions)
    batch.reset(seed=0)
    with pytest.raises(gym.error.InvalidAction):
        batch.step(actions)


def test_vector_takes_the_limits_of_the_box_and_one_copy() -> None:
    batch = vector(SYNTHETIC, 2, max_episode_steps=1)
    batch.reset(seed=0)
    assert batch.step(np.array([[-1.0], [1.0]]))[3].all()
    assert (
        periodic_envs.PeriodicBanditVectorEnv("periodic_envs.worlds.synthetic:Synthetic").num_envs
        == 1
    )
