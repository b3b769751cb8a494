"""What ``info`` says of a step is worked out when it is read, and then as if it always were."""

import copy
import json
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import periodic_envs

NAMES = {
    *("t", "phase", "regret", "cumulative_regret", "mean_reward", "optimal_reward"),
    "optimal_action",
}


def vector(env_id: str, **kwargs: object) -> gym.vector.VectorEnv:
    return gym.make_vec(env_id, 3, vectorization_mode="vector_entry_point", **kwargs)


@pytest.mark.parametrize("env_id", periodic_envs.ids())
@pytest.mark.parametrize("make", [gym.make, vector])
def test_read_late_is_read_at_once(env_id: str, make) -> None:
    """In any order, even after the next reset."""
    told = []
    for late in (False, True):
        env = make(env_id, horizon=6)
        env.reset(seed=2)
        env.action_space.seed(0)
        infos = [env.step(env.action_space.sample())[4] for _ in range(3)]
        if not late:
            told.append([dict(info) for info in infos])
        infos += [env.step(env.action_space.sample())[4] for _ in range(3)]
        if late:
            env.reset(seed=9)
            told.append([dict(info) for info in reversed(infos[:3])][::-1])
    for early, later in zip(*told, strict=True):
        assert set(early) == set(later)
        for key in early:
            np.testing.assert_array_equal(early[key], later[key], err_msg=key)


def unchecked(env_id: str, **kwargs: object) -> gym.Env:
    """Without Gymnasium's checker, which reads the first infos."""
    return gym.make(env_id, disable_env_checker=True, **kwargs)


@pytest.mark.parametrize("make", [unchecked, vector])
def test_no_optimum_is_searched_that_nobody_reads(make, monkeypatch: pytest.MonkeyPatch) -> None:
    env = make("PeriodicGP-Synthetic-v0", horizon=4)
    env.reset(seed=0)
    for module in ("batch", "process"):
        monkeypatch.setattr(f"periodic_envs.{module}.maximise", lambda *_: 1 / 0)
    for _ in range(4):
        info = env.step(np.zeros_like(env.action_space.sample()))[4]
        assert "regret" in info
        assert "final_obs" not in info
    assert np.all(info["t"] == 3)
    with pytest.raises(ZeroDivisionError):
        info["regret"]


def fresh() -> dict:
    env = gym.make("PeriodicGP-Synthetic-v0")
    env.reset(seed=0)
    return env.step(np.zeros(1))[4]


def test_it_is_a_dictionary() -> None:
    known = dict(fresh())
    assert type(known) is dict
    assert set(known) == NAMES
    assert {**fresh()} == known == fresh()
    assert fresh() == known
    assert fresh() | {"a": 1} == known | {"a": 1}
    assert len(fresh()) == len(known)
    assert list(fresh()) == list(known) == list(fresh().keys())
    assert list(fresh().values()) == list(known.values())
    assert list(fresh().items()) == list(known.items())
    assert repr(fresh()) == repr(known)
    assert json.dumps(fresh(), default=np.ndarray.tolist).startswith('{"t": 0, "phase": 0.0,')
    assert fresh().get("regret") == known["regret"]
    assert fresh().get("nothing", 7) == 7
    assert fresh().pop("regret") == known["regret"]
    assert fresh().setdefault("regret", 9) == known["regret"]
    for copied in (copy.copy(fresh()), copy.deepcopy(fresh()), fresh().copy()):
        assert copied == known
    assert type(pickle.loads(pickle.dumps(fresh()))) is dict
    with pytest.raises(KeyError, match="nothing"):
        fresh()["nothing"]


def test_what_was_set_meanwhile_stays() -> None:
    info = fresh()
    info["regret"] = -1.0
    info["mine"] = 5
    assert info["t"] == 0
    assert (info["regret"], info["mine"]) == (-1.0, 5)
    del info["regret"]
    assert "regret" not in info


def test_the_time_stays_as_it_was_set() -> None:
    env = gym.make("PeriodicGP-Synthetic-v0")
    env.reset(seed=0)
    info = env.step(env.action_space.sample())[4]
    info["t"] = 99
    assert dict(info)["t"] == info["t"] == 99


def test_every_mask_is_an_array_of_its_own() -> None:
    envs = gym.make_vec("PeriodicGP-Synthetic-v0", num_envs=3)
    envs.reset(seed=0)
    info = envs.step(envs.action_space.sample())[4]
    info["_regret"][:] = False
    assert info["_t"].all()


def test_wrappers_add_to_it() -> None:
    env = RecordEpisodeStatistics(vector("PeriodicGP-SyntheticDiscrete-v0", horizon=2))
    env.reset(seed=0)
    env.step(np.zeros(3, dtype=int))
    info = env.step(np.zeros(3, dtype=int))[4]
    assert info["episode"]["l"].tolist() == [2, 2, 2]
    assert info["cumulative_regret"].shape == (3,)
