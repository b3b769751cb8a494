"""Your own data as an environment."""

import pickle
from collections.abc import Callable
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
from tests.errors import raises
from tests.test_envs import envs

ID = "PeriodicGP-Replay-v0"
LATE = pd.Timestamp("2024-01-01 05:30")


@pytest.fixture
def table() -> pd.DataFrame:
    """Two days of three arms; day and night, and a little that does not repeat."""
    hours = np.arange(48)
    swing = np.cos(2 * np.pi * hours / 24)
    values = {"north": 5 + swing, "south": 5 - swing, "west": 4.5 + 0.01 * hours}
    times = pd.date_range("2024-01-01", periods=48, freq="h")
    return pd.DataFrame({"time": times, **values})


@pytest.fixture
def file(table: pd.DataFrame, tmp_path: Path) -> str:
    """The table as a file."""
    table.to_csv(tmp_path / "x.csv", index=False)
    return str(tmp_path / "x.csv")


def make(data: object, **kwargs: object) -> PeriodicBanditEnv:
    return envs.make(ID, data=data, **{"period": 24, **kwargs})


def play(env: gym.Env, actions: Any) -> list[tuple]:
    return [env.reset(seed=0), *(env.step(int(action)) for action in actions)]


def test_replay_gives_the_recorded_rewards(table: pd.DataFrame) -> None:
    env = make(table)
    actions = np.random.default_rng(0).integers(0, 3, 48)
    steps = play(env, actions)[1:]
    recorded = table.iloc[:, 1:].to_numpy()
    assert [step[1] for step in steps] == recorded[np.arange(48), actions].tolist()
    assert [step[3] for step in steps] == [False] * 47 + [True]
    assert env.public.action_names == ("north", "south", "west")
    assert (env.public.periods, env.noise_std, env.data_source) == ((24.0,), None, "dataframe")


def test_replay_adds_up_the_regret() -> None:
    """By hand: two arms, one always 1, the other 3 at every second step."""
    env = make(pd.DataFrame({"t": range(6), "steady": 1.0, "odd": [0.0, 3.0] * 3}), period=2)
    for arm, expected in ((0, [0, 2, 2, 4, 4, 6]), (1, [1, 1, 2, 2, 3, 3])):
        assert [s[4]["cumulative_regret"] for s in play(env, [arm] * 6)[1:]] == expected


def test_replay_publishes_all_seasons(table: pd.DataFrame) -> None:
    env, one = make(table, period=[12, 24]), make(table, period=12)
    assert env.public.periods == (12.0, 24.0)
    assert data_equivalence(play(env, [0] * 30), play(one, [0] * 30), exact=True)
    assert make(table, period=[12, 24], reveal_period=False).public.periods == ()


def test_replay_takes_long_and_wide_tables(table: pd.DataFrame, file: str, tmp_path: Path) -> None:
    long = table.melt(id_vars="time", var_name="arm", value_name="reward")
    long.to_parquet(tmp_path / "long.parquet")
    wide, tall = make(file), make(str(tmp_path / "long.parquet"))
    assert data_equivalence(
        play(wide, np.arange(48) % 3), play(tall, np.arange(48) % 3), exact=True
    )
    assert wide.data_fingerprint == tall.data_fingerprint == make(table).data_fingerprint
    assert wide.data_source == "file"
    check_env(make(file, warm_start=5), skip_render_check=True)


def test_fingerprint_changes_with_the_data(table: pd.DataFrame) -> None:
    changed = table.copy()
    changed.loc[7, "west"] += 1e-9
    others: list[dict] = [{"objective": "min"}, {"steps": 47}, {"start": "2024-01-01 01:00"}]
    others += [{"arms": ["south", "north"]}, {"arm_features": {"north": 1, "south": 2, "west": 3}}]
    variants = [make(table, **kwargs) for kwargs in others]
    variants += [make(table), make(changed), make(table.rename(columns={"west": "east"}))]
    assert len({env.data_fingerprint for env in variants}) == len(variants)
    for known in ({"horizon": 5}, {"period": 12}, {"warm_start": 2}):
        assert make(table).data_fingerprint == make(table, **known).data_fingerprint


def test_replay_is_remade_from_spec_and_pickle(file: str) -> None:
    kwargs = {"start": "2024-01-01 06:00", "steps": 30, "warm_start": 2, "arms": ["west", "south"]}
    env = gym.make(ID, data=file, period=24, **kwargs)
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    Path(file).unlink()
    copy = pickle.loads(pickle.dumps(env))
    for other in (again, copy):
        assert data_equivalence(play(env, [0, 1] * 14), play(other, [0, 1] * 14), exact=True)


def test_replay_reads_a_file_once_until_it_changes(
    table: pd.DataFrame, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    monkeypatch.setattr(
        "periodic_envs.data.table.read_rewards",
        lambda source, **how: reads.append(source) or read_rewards(source, **how),
    )
    worlds = [Replay(data=file, period=24, start=day) for day in ("2024-01-01", "2024-01-02")]
    assert ([len(world.table.values) for world in worlds], len(reads)) == ([48, 24], 1)
    table.assign(north=table["north"] + 1).to_csv(file, index=False)
    assert Replay(data=file, period=24).table.values[0, 0] == table["north"][0] + 1
    assert len(Replay(data=file, period=24, arms=["west", "north"]).table.names) == 2


def test_objective_min_seeks_the_least(table: pd.DataFrame) -> None:
    _, reward, _, _, info = play(make(table, objective="min"), [0])[1]
    assert (reward, info["optimal_action"], info["regret"]) == (-6.0, 1, 2.0)
    zeros = pd.DataFrame({"t": range(3), "a": 0.0, "b": 1.0})
    assert not np.signbit(envs.table(make(zeros, objective="min"))[:, 0]).any()


def test_window_begins_with_the_warm_start(table: pd.DataFrame) -> None:
    env = make(table, start="2024-01-01 12:00", steps=20, warm_start=4)
    observation, info = env.reset(seed=0)
    assert observation[0] == info["t"] == 4
    assert env.horizon == 16
    window = table.iloc[12:32, 1:].to_numpy()
    assert {name: values.tolist() for name, values in info["warm_start"].items()} == {
        "t": [0, 1, 2, 3],
        "action": window[:4].argmax(1).tolist(),
        "reward": window[:4].max(1).tolist(),
    }
    assert (env.step(2)[1], make(table, warm_start=4, horizon=3).horizon) == (window[4, 2], 3)


@pytest.mark.parametrize(
    "kwargs",
    [
        *({"period": wrong} for wrong in (-1, [], [24, 24], [0])),
        {"objective": "best"},
        {"horizon": 45, "warm_start": 4},
        {"missing": "drop"},
    ],
    ids=str,
)
def test_replay_rejects_bad_arguments(table: pd.DataFrame, kwargs: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        make(table, **kwargs)


def test_example_needs_no_arguments() -> None:
    example = envs.make(ID)
    assert (example.public.periods, example.data_source) == ((168.0,), "example")
    assert make(str(EXAMPLE), period=168).data_fingerprint == example.data_fingerprint


def test_gaps_are_filled_and_reported(table: pd.DataFrame) -> None:
    holed = table.drop(index=[10, 11])
    with pytest.warns(UserWarning, match="4.17%"):
        env = make(holed)
    np.testing.assert_allclose(envs.table(env)[8:14, 2], 4.5 + 0.01 * np.arange(8, 14))
    with pytest.warns(UserWarning, match="hold"):
        env = make(holed, missing="hold")
    assert envs.table(env)[11, 2] == pytest.approx(4.59)
    with raises(DataError, "missing-values"):
        make(holed, missing="error")
    make(holed, start="2024-01-01 12:00")  # without a warning: the window has no gap


@pytest.mark.parametrize(
    ("make_env", "code"),
    [
        (lambda t: make(t, period=None), "missing-argument"),
        (lambda t: make(t, steps=20, warm_start=20), "too-few-steps"),
        (lambda t: make(t, steps=49), "too-few-steps"),
        (lambda t: make(t, start="2025-01-01"), "outside-data"),
        (lambda t: make(t, arms=5), "invalid-arms"),
        (lambda t: make(t, arms=["north", "east"]), "unknown-column"),
        (lambda t: make(t, arm_features={"north": 1, "west": 2}), "missing-coordinates"),
        (lambda t: make(pd.concat([t, t.iloc[[3]]])), "repeated-times"),
        (lambda t: make(t.drop(columns=["south", "west"])), "invalid-arms"),
        (lambda t: make(t.assign(time=t["time"].dt.strftime("%d.%m.%Y %H:%M"))), "not-a-time"),
        (lambda t: make(t.assign(west=t["west"].astype(str) + " EUR")), "not-a-number"),
        (lambda t: make(t.assign(west=np.nan)), "missing-values"),
        (lambda t: make(t.assign(west=np.inf)), "infinite-values"),
        (lambda t: make(t.assign(west=1e308)), "value-too-large"),
        (lambda t: make(t.assign(time=t["time"].where(t.index != 5))), "missing-times"),
        (lambda t: make(t.iloc[:0]), "no-data"),
        (
            lambda t: make(t.assign(time=t["time"].where(t.index != 5, LATE))),
            "irregular-times",
        ),
    ],
)
def test_replay_rejects_unclean_tables(table: pd.DataFrame, make_env: Callable, code: str) -> None:
    with raises(DataError, code):
        make_env(table)


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("x.csv", b"t;a;b\n1;2,5;3\n2;3;4\n", "invalid-arms"),
        ("x.parquet", b"PAR1" + bytes(100), "damaged-file"),
        ("x.xlsx", b"", "wrong-format"),
        ("x/none.csv", None, "file-not-found"),
    ],
)
def test_replay_rejects_unclean_files(
    tmp_path: Path, name: str, content: bytes | None, code: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with raises(DataError, code):
        make(str(tmp_path / name))


def test_arm_features_are_public(table: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("arm,x,y\nwest,1,2\nnorth,3,4\nsouth,5,6\n")
    env = make(table, arm_features=str(tmp_path / "f.csv"))
    assert (env.public.dim, env.public.action_features.tolist()) == (2, [[3, 4], [5, 6], [1, 2]])
