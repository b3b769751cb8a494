"""Your own data as an environment."""

import json
import pickle
import runpy
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env, data_equivalence

from periodic_envs.data import DataError
from periodic_envs.data.table import read_rewards
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.worlds.replay import EXAMPLE, Replay

ID = "PeriodicGP-Replay-v0"


@pytest.fixture
def table() -> pd.DataFrame:
    """Two days of three arms; day and night, and a little that does not repeat."""
    hours = np.arange(48)
    swing = np.cos(2 * np.pi * hours / 24)
    values = {"north": 5 + swing, "south": 5 - swing, "west": 4.5 + 0.01 * hours}
    times = pd.date_range("2024-01-01", periods=48, freq="h")
    return pd.DataFrame({"time": times, **values})


def make(data: object, **kwargs: object) -> PeriodicBanditEnv:
    env = gym.make(ID, data=data, **{"period": 24, **kwargs}).unwrapped
    assert isinstance(env, PeriodicBanditEnv)
    return env


def play(env: gym.Env, actions: object) -> list[tuple]:
    return [env.reset(seed=0), *(env.step(int(action)) for action in actions)]


def test_rewards_are_as_recorded(table: pd.DataFrame) -> None:
    env = make(table)
    actions = np.random.default_rng(0).integers(0, 3, 48)
    steps = play(env, actions)[1:]
    recorded = table.iloc[:, 1:].to_numpy()
    assert [step[1] for step in steps] == recorded[np.arange(48), actions].tolist()
    assert [step[3] for step in steps] == [False] * 47 + [True]
    regret = (recorded.max(1) - recorded[np.arange(48), actions]).sum()
    assert steps[-1][4]["cumulative_regret"] == pytest.approx(regret)
    assert steps[-1][4]["data_source"] == "dataframe"
    assert env.public.action_names == ("north", "south", "west")
    assert env.public.periods == (24.0,)
    assert env.noise_std is None


def test_several_seasons(table: pd.DataFrame) -> None:
    """All are public; the phase is that of the first."""
    env, one = make(table, period=[12, 24]), make(table, period=12)
    assert env.public.periods == (12.0, 24.0)
    assert data_equivalence(play(env, [0] * 30), play(one, [0] * 30), exact=True)
    check_env(env, skip_render_check=True)
    assert make(table, period=[12, 24], reveal_period=False).public.periods == ()
    for wrong, words in [([], "different numbers"), ([24, 24], "different"), ([0], "each period")]:
        with pytest.raises(ValueError, match=words):
            make(table, period=wrong)


def test_regret_of_a_static_policy(table: pd.DataFrame) -> None:
    """By hand: two arms, one always 1, the other 3 at every second step."""
    frame = pd.DataFrame({"t": range(6), "steady": 1.0, "odd": [0.0, 3.0] * 3})
    env = make(frame, period=2)
    assert [step[4]["cumulative_regret"] for step in play(env, [0] * 6)[1:]] == [0, 2, 2, 4, 4, 6]
    assert [step[4]["cumulative_regret"] for step in play(env, [1] * 6)[1:]] == [1, 1, 2, 2, 3, 3]


def test_checkers_on_a_file(table: pd.DataFrame, tmp_path: Path) -> None:
    table.to_csv(tmp_path / "x.csv", index=False)
    env = make(str(tmp_path / "x.csv"), warm_start=5)
    check_env(env, skip_render_check=True)
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(env, warn=True)


def test_long_and_wide_are_the_same_environment(table: pd.DataFrame, tmp_path: Path) -> None:
    long = table.melt(id_vars="time", var_name="arm", value_name="reward")
    table.to_csv(tmp_path / "wide.csv", index=False)
    long.to_parquet(tmp_path / "long.parquet")
    envs = [make(str(tmp_path / "wide.csv")), make(str(tmp_path / "long.parquet"))]
    traces = [play(env, np.arange(48) % 3) for env in envs]
    assert data_equivalence(*traces, exact=True)
    assert envs[0].data_fingerprint == envs[1].data_fingerprint == make(table).data_fingerprint
    assert envs[0].data_source == "file"


def test_the_fingerprint_knows_what_matters(table: pd.DataFrame) -> None:
    changed = table.copy()
    changed.loc[7, "west"] += 1e-9
    variants = [
        make(table),
        make(changed),
        make(table, objective="min"),
        make(table, steps=47),
        make(table, start="2024-01-01 01:00"),
        make(table.rename(columns={"west": "east"})),
        make(table, arms=["south", "north"]),
        make(table, arm_features={"north": 1, "south": 2, "west": 3}),
    ]
    assert len({env.data_fingerprint for env in variants}) == len(variants)
    for known in ({"horizon": 5}, {"period": 12}, {"warm_start": 2}):
        assert make(table).data_fingerprint == make(table, **known).data_fingerprint


def test_vector_equals_scalar(table: pd.DataFrame) -> None:
    batch = gym.make_vec(
        ID, 2, vectorization_mode="vector_entry_point", data=table, period=24, warm_start=3
    )
    env = make(table, warm_start=3)
    _, infos = batch.reset(seed=0)
    _, info = env.reset(seed=0)
    np.testing.assert_array_equal(infos["warm_start"]["reward"][1], info["warm_start"]["reward"])
    for action in range(3):
        observations, rewards, _, _, infos = batch.step(np.array([0, action]))
        observation, reward, _, _, info = env.step(action)
        np.testing.assert_array_equal(observations[1], observation)
        assert rewards[1] == reward
        assert infos["regret"][1] == info["regret"]


def test_spec_with_a_path_is_json(table: pd.DataFrame, tmp_path: Path) -> None:
    path = str(tmp_path / "x.csv")
    table.to_csv(path, index=False)
    kwargs = {"start": "2024-01-01 06:00", "steps": 30, "warm_start": 2, "arms": ["west", "south"]}
    env = gym.make(ID, data=path, period=24, **kwargs)
    text = env.spec.to_json()
    assert json.loads(text)["kwargs"]["data"] == path
    again = gym.make(EnvSpec.from_json(text))
    assert data_equivalence(play(env, [0, 1] * 14), play(again, [0, 1] * 14), exact=True)


def test_pickle_does_not_need_the_file(table: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    table.to_csv(path, index=False)
    env = make(str(path))
    path.unlink()
    copy = pickle.loads(pickle.dumps(env))
    assert data_equivalence(play(env, [0, 1, 2]), play(copy, [0, 1, 2]), exact=True)
    assert copy.data_fingerprint == env.data_fingerprint


def test_a_file_is_read_once_until_it_changes(
    table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "table.csv"
    table.to_csv(file, index=False)
    reads = []
    monkeypatch.setattr(
        "periodic_envs.data.table.read_rewards",
        lambda source, **how: reads.append(source) or read_rewards(source, **how),
    )
    worlds = [Replay(data=str(file), period=24, start=day) for day in ("2024-01-01", "2024-01-02")]
    assert [len(world.table.values) for world in worlds] == [48, 24]
    assert len(reads) == 1
    table["north"] += 1
    table.to_csv(file, index=False)
    assert Replay(data=str(file), period=24).table.values[0, 0] == table["north"][0]
    assert len(Replay(data=str(file), period=24, arms=["west", "north"]).table.names) == 2


def test_a_changed_frame_does_not_change_the_world(table: pd.DataFrame) -> None:
    world = Replay(data=table, period=24)
    before = world._recording.rewards.copy()
    table.loc[:, "west"] = 99.0
    np.testing.assert_array_equal(world._recording.rewards, before)
    drawn = world.draw(np.random.default_rng(0), 5).values
    assert np.shares_memory(drawn, world._recording.rewards)


def test_objective_min(table: pd.DataFrame) -> None:
    env = make(table, objective="min")
    _, reward, _, _, info = play(env, [0])[1]
    assert reward == -6.0
    assert info["optimal_action"] == 1
    assert info["regret"] == 2.0
    zeros = pd.DataFrame({"t": range(3), "a": 0.0, "b": 1.0})
    assert not np.signbit(make(zeros, objective="min").setup.world._recording.rewards[:, 0]).any()
    with pytest.raises(ValueError, match="objective must be one of max, min, got 'best'"):
        make(table, objective="best")


def test_window_and_warm_start(table: pd.DataFrame) -> None:
    env = make(table, start="2024-01-01 12:00", steps=20, warm_start=4)
    observation, info = env.reset(seed=0)
    assert observation[0] == info["t"] == 4
    assert env.horizon == 16
    window = table.iloc[12:32, 1:].to_numpy()
    warm_start = info["warm_start"]
    assert warm_start["t"].tolist() == [0, 1, 2, 3]
    assert warm_start["action"].tolist() == window[:4].argmax(1).tolist()
    assert warm_start["reward"].tolist() == window[:4].max(1).tolist()
    assert env.step(2)[1] == window[4, 2]
    assert make(table, warm_start=4, horizon=3).horizon == 3
    with pytest.raises(ValueError, match="horizon must be at most 44"):
        make(table, warm_start=4, horizon=45)
    with pytest.raises(DataError, match=r"warm_start must leave a step .* 20, but .* 20 steps"):
        make(table, steps=20, warm_start=20)
    with pytest.raises(DataError, match="2024-01-01 00:00 to 2024-01-02 23:00"):
        make(table, start="2025-01-01")


def test_replay_requires_a_period(table: pd.DataFrame) -> None:
    with pytest.raises(DataError, match=r"period must be given.*'periodic-gp data check FILE'"):
        make(table, period=None)
    with pytest.raises(ValueError, match=r"period must be .* got -1"):
        make(table, period=-1)
    example = gym.make(ID).unwrapped
    assert example.public.periods == (168.0,)
    assert example.data_source == "example"
    assert make(str(EXAMPLE), period=168).data_fingerprint == example.data_fingerprint


def test_gaps_are_filled_as_asked_and_said(table: pd.DataFrame) -> None:
    holed = table.drop(index=[10, 11])
    with pytest.warns(UserWarning, match=r"4.17% of the readings are missing .*'interpolate'"):
        env = make(holed)
    west = env.setup.world._recording.rewards[8:14, 2]
    np.testing.assert_allclose(west, 4.5 + 0.01 * np.arange(8, 14))
    with pytest.warns(UserWarning, match="'hold'"):
        env = make(holed, missing="hold")
    assert env.setup.world._recording.rewards[11, 2] == pytest.approx(4.59)
    with pytest.raises(DataError, match=r"missing of: north \(4.2%\)"):
        make(holed, missing="error")
    with pytest.raises(ValueError, match="missing must be one of"):
        make(holed, missing="drop")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(holed, start="2024-01-01 12:00")  # the window has no gap


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: pd.concat([t, t.iloc[[3]]]), "each of them once"),
        (lambda t: t.drop(columns=["south", "west"]), "at least two arms"),
        (lambda t: t.assign(time=t["time"].dt.strftime("%d.%m.%Y %H:%M")), "ISO 8601"),
        (lambda t: t.assign(west=t["west"].astype(str) + " EUR"), "'west' that are not numbers"),
        (lambda t: t.assign(west=np.nan), "no reading of 'west'"),
        (lambda t: t.assign(west=np.inf), "infinite"),
        (lambda t: t.assign(time=t["time"].where(t.index != 5)), "lacks a time in row 6"),
        (lambda t: t.iloc[:0], "is empty"),
        (
            lambda t: t.assign(
                time=t["time"].where(t.index != 5, pd.Timestamp("2024-01-01 05:30"))
            ),
            "regular times",
        ),
    ],
)
def test_tables_that_are_not_clean_are_refused(
    table: pd.DataFrame, change: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        make(change(table))


def test_files_that_are_not_clean_are_refused(table: pd.DataFrame, tmp_path: Path) -> None:
    table.to_csv(tmp_path / "x.csv", sep=";", decimal=",", index=False)
    with pytest.raises(DataError, match="at least two arms"):
        make(str(tmp_path / "x.csv"))
    (tmp_path / "x.parquet").write_bytes(b"PAR1" + bytes(100))
    for name, message in (
        ("x.parquet", r"cannot read 'x.parquet' .*read_series"),
        ("none.csv", "cannot read .*none.csv"),
        ("x.xlsx", "must end in .csv or .parquet"),
    ):
        (tmp_path / "x.xlsx").touch()
        with pytest.raises(DataError, match=message):
            make(str(tmp_path / name))


def test_features_are_public(table: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("arm,x,y\nwest,1,2\nnorth,3,4\nsouth,5,6\n")
    env = make(table, arm_features=str(tmp_path / "f.csv"))
    assert env.public.dim == 2
    assert env.public.action_features.tolist() == [[3, 4], [5, 6], [1, 2]]


def test_the_example_is_what_its_script_makes(tmp_path: Path) -> None:
    script = Path(__file__).parent.parent.parent / "examples" / "make_demand.py"
    module = runpy.run_path(str(script))
    module["main"].__globals__["TARGET"] = tmp_path / "made.csv"
    module["main"]()
    assert (tmp_path / "made.csv").read_bytes() == EXAMPLE.read_bytes()


def test_strange_names_are_drawn(table: pd.DataFrame) -> None:
    env = make(table.rename(columns={"north": "$x_{", "south": "_"}), render_mode="rgb_array")
    env.reset(seed=0)
    env.step(0)
    assert env.render().shape == (600, 900, 3)


def test_many_copies_share_one_table() -> None:
    """1,024 copies of 10,000 x 50 would be 4 GB."""
    frame = pd.DataFrame(np.random.default_rng(0).random((3_000, 50))).add_prefix("arm ")
    frame.insert(0, "t", range(len(frame)))
    kwargs = {"data": frame, "period": 24, "horizon": 10}
    batch = gym.make_vec(ID, 1024, vectorization_mode="vector_entry_point", **kwargs)
    tracemalloc.start()
    batch.reset(seed=0)
    _, rewards, *_, infos = batch.step(np.arange(1024) % 50)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    row = frame.iloc[0, 1:].to_numpy()
    np.testing.assert_array_equal(rewards, row[np.arange(1024) % 50])
    assert (infos["optimal_action"] == row.argmax()).all()
    assert peak < 100e6


def test_arms_and_values_that_make_no_sense(table: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="arms must be a list of names, got 5"):
        make(table, arms=5)
    table["west"] = 1e308
    with pytest.raises(DataError, match=r"values must be below 1e\+100: rescale the data"):
        make(table)
