"""Madrid, replayed and simulated."""

import zipfile
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.importing import import_paths
from periodic_envs.data.madrid.stations import STATIONS, coordinates_km
from periodic_envs.data.recording import fill_gaps
from periodic_envs.env import PeriodicBanditEnv

ID = "PeriodicGP-Madrid-v0"
SIM = "PeriodicGP-MadridSim-v0"


def make(env_id: str = ID, **kwargs: object) -> PeriodicBanditEnv:
    env = gym.make(env_id, **kwargs).unwrapped
    assert isinstance(env, PeriodicBanditEnv)
    return env


def rewards(env: PeriodicBanditEnv) -> np.ndarray:
    """All rewards of the test hours (hours, stations)."""
    env.reset(seed=0)
    times = env.public.first_step + np.arange(env.horizon)
    return env.episode.process.mean(np.arange(env.public.n_actions), times[:, None])


def regret(env: PeriodicBanditEnv, policy) -> float:
    observation, _ = env.reset(seed=0)
    over = False
    while not over:
        observation, _, _, over, info = env.step(policy(int(observation[0])))
    return info["cumulative_regret"]


# The paper's window: the figures that were measured before this code was written.


def test_the_figures_of_the_papers_window(madrid: Path) -> None:
    env = make()
    table = rewards(env)
    assert table.shape == (192, 24)
    assert table.max(1).sum() == pytest.approx(7378, abs=0.5)
    station_50 = list(STATIONS).index(50)
    assert regret(env, lambda t: station_50) == pytest.approx(1094, abs=0.5)
    best = [table[hour::24].mean(0).argmax() for hour in range(24)]
    assert regret(env, lambda t: best[t % 24]) == pytest.approx(1085, abs=0.5)
    assert (table.max(1) - table.mean(1)).sum() == pytest.approx(5796, abs=0.5)


def test_warm_start_is_the_best_pair_of_each_hour(madrid: Path) -> None:
    env = make()
    observation, info = env.reset(seed=0)
    assert observation[0] == info["t"] == 48
    warm = info["warm_start"]
    assert warm["t"].tolist() == list(range(48))
    early = rewards(make(warm_start_days=0))[:48]
    assert (warm["reward"] == early.max(1)).all()
    assert (warm["action"] == early.argmax(1)).all()


def test_what_is_replayed_is_what_was_measured(madrid: Path) -> None:
    table = rewards(make(warm_start_days=0))
    assert (table[0, 0], table.shape) == (1.0, (240, 24))
    whole = rewards(make(start="2018-03-05", days=1, warm_start_days=0))
    assert (whole == table[48:72]).all()
    assert (rewards(make(objective="min")) == -rewards(make())).all()
    few = make(stations=[50, 4])
    assert few.public.action_names == ("Plaza Castilla", "Pza. de España")
    assert (rewards(few) == rewards(make())[:, [16, 0]]).all()


def test_min_seeks_the_cleanest_air(madrid: Path) -> None:
    env = make(objective="min")
    env.reset(seed=0)
    *_, info = env.step(16)
    table = -rewards(env)
    env.reset(seed=0)
    assert info["regret"] == table[0, 16] - table[0].min()


def test_a_window_over_new_year(madrid: Path) -> None:
    table = rewards(make(start="2017-12-30", days=4, warm_start_days=0))
    assert (table[48:] == rewards(make(start="2018-01-01", days=2, warm_start_days=0))).all()


def test_other_magnitudes(madrid: Path) -> None:
    assert make(magnitude="NO2").public.n_actions == 24
    ozone = make(magnitude="o3")
    assert ozone.public.n_actions == 14
    assert rewards(ozone)[0, 0] == round(rewards(ozone)[0, 0], 2)
    assert make(magnitude=8).data_fingerprint == make(magnitude="NO2").data_fingerprint


def test_twelve_windows_of_every_year(madrid: Path) -> None:
    """All but one can be used; that one is refused with the station to leave out."""
    refused = []
    for year in (2016, 2017, 2018):
        for month in range(1, 13):
            try:
                make(start=f"{year}-{month:02d}-03")
            except DataError:
                refused.append((year, month))
    assert refused == [(2016, 12)]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"start": "2015-06-01"}, r"needs the year 2015, .* \(imported: 2016, 2017, 2018\)"),
        ({"start": "2018-12-30"}, "needs the year 2019, which is not imported"),
        ({"start": "2016-12-03"}, r"of: station 36 \(100.0%\), .* stations=\[4, 8,"),
        ({"missing": "error"}, r"station 50 \(6.7%\).*missing='interpolate'"),
        ({"magnitude": "SO3"}, "there is no magnitude 'SO3'; there are SO2, CO, NO"),
        ({"magnitude": 99}, "99 was not measured in 2018"),
        ({"stations": [4, 17], "magnitude": "CO"}, r"station 17 did not measure CO .*these did: 4"),
    ],
)
def test_windows_that_are_not_there(madrid: Path, kwargs: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make(**kwargs)


@pytest.mark.parametrize("env_id", [ID, SIM])
@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"start": "3 March"}, "start must be a day like '2018-03-03', got '3 March'"),
        ({"start": 20180303}, "start must be a day"),
        ({"start": "9999-12-25"}, "start must be a day"),
        ({"stations": [[4], [8]]}, "stations must be a list"),
        ({"stations": [4.0, 8.0]}, "stations must be a list"),
        ({"days": 0}, "days must be a whole number"),
        (
            {"days": 2, "warm_start_days": 2},
            "days must be more than warm_start_days, which is 2, got 2",
        ),
        ({"objective": "best"}, "objective must be one of max, min"),
        ({"stations": [4]}, "stations must be a list of at least two different station numbers"),
        ({"stations": [4, 4]}, "at least two different"),
        ({"stations": [4, 5]}, "out of 4, 8, 11.*there is no station 5"),
        ({"stations": 4}, "stations must be a list"),
        ({"period_hours": 0}, "period_hours must be a finite number greater than 0"),
        ({"horizon": 10_000}, "horizon must be at most"),
    ],
)
def test_arguments(env_id: str, kwargs: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(env_id, **kwargs)


def test_a_month_that_was_not_imported(
    tmp_path: Path, data_folder: Path, madrid_files: Path
) -> None:
    with zipfile.ZipFile(madrid_files / "Anio2018.zip") as archive:
        archive.extract("mar_mo18.csv", tmp_path)
    import_paths([tmp_path / "mar_mo18.csv"])
    make()
    with pytest.raises(DataError, match=r"nothing is imported of 2018-04-01 in 2018-03-28 to"):
        make(start="2018-03-28")


def test_gaps_are_counted_and_filled_as_asked(madrid: Path) -> None:
    env = make()
    assert env.data_notes == (
        "18 of 5,760 hourly values were missing and filled by missing='interpolate'",
    )
    assert env.reset(seed=0)[1]["data_notes"] == env.data_notes[0]
    held = make(missing="hold")
    assert held.data_fingerprint != env.data_fingerprint
    assert not make(stations=[4, 11]).setup.origin.notes


def test_fill_gaps() -> None:
    nan = np.nan
    table = np.array([[nan, 1.0], [1.0, 1.0], [nan, nan], [4.0, nan], [4.0, 7.0], [4.0, 7.0]])
    straight = fill_gaps(table, ["a", "b"], policy="interpolate", what="it")
    assert straight.T.tolist() == [[1, 1, 2.5, 4, 4, 4], [1, 1, 3, 5, 7, 7]]
    hold = fill_gaps(table, ["a", "b"], policy="hold", what="it")
    assert hold.T.tolist() == [[1, 1, 1, 4, 4, 4], [1, 1, 1, 1, 7, 7]]
    with pytest.raises(DataError, match=r"in it too much is missing of: a \(33.3%\), b \(33.3%\)"):
        fill_gaps(table, ["a", "b"], policy="error", what="it")
    table[:4, 1] = nan
    with pytest.raises(DataError, match=r"of: b \(66.7%\); at most 50%"):
        fill_gaps(table, ["a", "b"], policy="interpolate", what="it")


def test_coordinates_are_kilometres() -> None:
    from_to = coordinates_km([17, 58])
    assert np.hypot(*(from_to[1] - from_to[0])) == pytest.approx(19.7, abs=0.1)
    assert np.abs(coordinates_km(list(STATIONS)).mean(0)).max() < 1e-9
    assert from_to[1, 1] > from_to[0, 1]  # El Pardo is north of Villaverde


# With and without data.


def test_checkers_with_data(madrid: Path) -> None:
    """Without data they are run by the tests over the registry."""
    check_env(make())
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(gym.make(ID))


@pytest.mark.parametrize("env_id", [ID, SIM])
def test_vector_equals_scalar_with_data(madrid: Path, env_id: str) -> None:
    batch = gym.make_vec(env_id, 3, vectorization_mode="vector_entry_point")
    envs = [gym.make(env_id) for _ in range(3)]
    observations, infos = batch.reset(seed=5)
    starts = [env.reset(seed=5 + i) for i, env in enumerate(envs)]
    assert (observations == np.stack([start[0] for start in starts])).all()
    source = "measurements" if env_id == ID else "simulator"
    assert infos["data_source"].tolist() == [source] * 3
    assert batch.unwrapped.data_source == source
    assert batch.unwrapped.data_fingerprint == envs[0].unwrapped.data_fingerprint
    for step in range(30):
        actions = np.array([step % 24, 3, 7])
        observations, rewards_, _, _, infos = batch.step(actions)
        for i, env in enumerate(envs):
            observation, reward, _, _, info = env.step(int(actions[i]))
            assert (observation == observations[i]).all()
            assert reward == rewards_[i]
            assert all(info[key] == infos[key][i] for key in info)


def test_every_seed_is_the_same_window(madrid: Path) -> None:
    env = make()
    assert env.setup.origin.replay
    traces = []
    for seed in (1, 2):
        start = env.reset(seed=seed)
        traces.append([start, *(env.step(3) for _ in range(20))])
    assert data_equivalence(*traces, exact=True)
