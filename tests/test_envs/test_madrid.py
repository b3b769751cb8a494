"""Madrid, replayed and simulated."""

import datetime
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.importing import import_paths
from periodic_envs.data.madrid.stations import STATIONS, coordinates_km
from periodic_envs.data.recording import fill_gaps
from periodic_envs.env import PeriodicBanditEnv
from tests.errors import raises
from tests.test_envs.envs import episode, make, table

ID, SIM = "PeriodicGP-Madrid-v0", "PeriodicGP-MadridSim-v0"


def rewards(**kwargs: object) -> np.ndarray:
    return table(make(ID, **kwargs))


def regret(env: PeriodicBanditEnv, arms: list[int]) -> float:
    """Return the regret of an episode in which hour t has arm t mod len(arms)."""
    env.reset(seed=0)
    infos = [env.step(arms[(48 + step) % len(arms)])[4] for step in range(env.horizon)]
    return infos[-1]["cumulative_regret"]


def test_papers_window_has_the_known_figures(madrid: Path) -> None:
    """Figures that were measured independently of this code."""
    hours, env = rewards(), make(ID)
    assert (hours.shape, hours.max(1).sum()) == ((192, 24), pytest.approx(7378, abs=0.5))
    assert regret(env, [list(STATIONS).index(50)]) == pytest.approx(1094, abs=0.5)
    by_hour = [int(hours[hour::24].mean(0).argmax()) for hour in range(24)]
    assert regret(env, by_hour) == pytest.approx(1085, abs=0.5)
    assert (hours.max(1) - hours.mean(1)).sum() == pytest.approx(5796, abs=0.5)


def test_replay_is_cut_from_the_measurements(madrid: Path) -> None:
    whole = rewards(warm_start_days=0)
    assert (whole[0, 0], whole.shape) == (1.0, (240, 24))
    assert (rewards(start="2018-03-05", days=1, warm_start_days=0) == whole[48:72]).all()
    assert (rewards(objective="min") == -whole[48:]).all()
    assert (rewards(stations=[50, 4]) == whole[48:, [16, 0]]).all()
    assert make(ID, stations=[50, 4]).public.action_names == ("Plaza Castilla", "Pza. de España")
    observation, info = make(ID).reset(seed=0)
    assert observation[0] == info["t"] == 48
    warm_start = info["warm_start"]
    assert warm_start["t"].tolist() == list(range(48))
    assert (warm_start["reward"] == whole[:48].max(1)).all()
    assert (warm_start["action"] == whole[:48].argmax(1)).all()
    over_new_year = rewards(start="2017-12-30", days=4, warm_start_days=0)
    assert (over_new_year[48:] == rewards(start="2018-01-01", days=2, warm_start_days=0)).all()


def test_replay_is_the_same_for_every_seed(madrid: Path) -> None:
    env = make(ID)
    assert data_equivalence(episode(env, 1), episode(env, 2), exact=True)
    check_env(env, skip_render_check=True)


def test_magnitudes_are_names_or_numbers(madrid: Path) -> None:
    assert make(ID, magnitude=8).data_fingerprint == make(ID, magnitude="NO2").data_fingerprint
    ozone = rewards(magnitude="o3")
    assert (ozone.shape, ozone[0, 0]) == ((192, 14), round(ozone[0, 0], 2))


@pytest.mark.parametrize(
    ("kwargs", "code", "place"),
    [
        ({"start": "2015-06-01"}, "not-imported", "2015"),
        ({"start": "2018-12-30"}, "not-imported", "2019"),
        ({"start": "2016-12-03"}, "missing-values", "station 36"),
        ({"missing": "error"}, "missing-values", "station 50"),
        ({"magnitude": "SO3"}, "unknown-magnitude", "SO3"),
        ({"magnitude": 99}, "not-measured", "99"),
        ({"stations": [4, 17], "magnitude": "CO"}, "not-measured", "station 17"),
    ],
)
def test_madrid_rejects_missing_windows(madrid: Path, kwargs: dict, code: str, place: str) -> None:
    with raises(DataError, code) as caught:
        make(ID, **kwargs)
    assert place in str(caught.value)


def test_month_that_was_not_imported_is_named(
    tmp_path: Path, data_folder: Path, madrid_files: Path
) -> None:
    with zipfile.ZipFile(madrid_files / "Anio2018.zip") as archive:
        archive.extract("mar_mo18.csv", tmp_path)
    import_paths([tmp_path / "mar_mo18.csv"])
    make(ID)
    with raises(DataError, "not-imported") as caught:
        make(ID, start="2018-03-28")
    assert "2018-04-01" in str(caught.value)


def test_gaps_are_counted_and_reported(madrid: Path) -> None:
    env = make(ID)
    (note,) = env.data_notes
    assert "18 of 5,760" in note
    assert env.reset(seed=0)[1]["data_notes"] == note
    assert make(ID, missing="hold").data_fingerprint != env.data_fingerprint
    assert not make(ID, stations=[4, 11]).data_notes


def test_fill_gaps_interpolates_or_holds() -> None:
    nan = np.nan
    gaps = np.array([[nan, 1.0], [1.0, 1.0], [nan, nan], [4.0, nan], [4.0, 7.0], [4.0, 7.0]])
    straight = fill_gaps(gaps, ["a", "b"], policy="interpolate", what="it")
    assert straight.T.tolist() == [[1, 1, 2.5, 4, 4, 4], [1, 1, 3, 5, 7, 7]]
    hold = fill_gaps(gaps, ["a", "b"], policy="hold", what="it")
    assert hold.T.tolist() == [[1, 1, 1, 4, 4, 4], [1, 1, 1, 1, 7, 7]]
    with pytest.raises(DataError, match=r"a \(33.3%\), b \(33.3%\)"):
        fill_gaps(gaps, ["a", "b"], policy="error", what="it")
    gaps[:4, 1] = nan
    with pytest.raises(DataError, match=r": b \(66.7%\)"):
        fill_gaps(gaps, ["a", "b"], policy="interpolate", what="it")


def test_coordinates_are_kilometres() -> None:
    villaverde, el_pardo = coordinates_km([17, 58])
    assert np.hypot(*(el_pardo - villaverde)) == pytest.approx(19.7, abs=0.1)
    assert el_pardo[1] > villaverde[1]  # El Pardo is north of Villaverde
    assert np.abs(coordinates_km(list(STATIONS)).mean(0)).max() < 1e-9


def test_source_tells_measurements_from_simulation(
    imported_folder: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated = make(ID)
    monkeypatch.setenv("PERIODIC_GP_DATA", str(imported_folder))
    real = make(ID)  # without a warning
    # An env that was made before the import stays simulated.
    for env, source in ((real, "measurements"), (simulated, "simulator")):
        _, info = env.reset(seed=0)
        assert info["data_source"] == env.data_source == env.step(0)[4]["data_source"] == source
    assert real.data_fingerprint != simulated.data_fingerprint
    assert real.setup.origin.replay
    assert not simulated.setup.origin.replay


def test_stand_in_warns_once(data_folder: Path) -> None:
    code = (
        "import warnings, gymnasium as gym, periodic_envs\n"
        "warnings.simplefilter('always')\n"
        "for year in (2018, 2019): gym.make('PeriodicGP-Madrid-v0', start=f'{year}-03-03')\n"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr.count("SimulatedDataWarning:") == 1
    assert "--year 2018" in result.stderr
    with raises(DataError, "not-imported"):
        make(ID, magnitude="O3")


@pytest.mark.parametrize(
    "kwargs",
    [
        {"start": "2018-11-03"},
        {"start": datetime.date(2018, 11, 3)},
        {"days": 5},
        {"warm_start_days": 1},
        {"objective": "min"},
        {"stations": [8, 4, 50]},
        {"period_hours": 12.0},
    ],
    ids=str,
)
def test_stand_in_is_the_simulated_world(kwargs: dict) -> None:
    arguments = {"start": "2018-03-03", "days": 10, **kwargs}
    stand_in, simulated = make(ID, **kwargs), make(SIM, **arguments)
    for fact in ("data_fingerprint", "horizon"):
        assert getattr(stand_in, fact) == getattr(simulated, fact)
    assert stand_in.public.periods == simulated.public.periods
    assert stand_in.public.action_names == simulated.public.action_names
    assert simulated.horizon == 24 * (arguments["days"] - arguments.get("warm_start_days", 2))
    np.testing.assert_array_equal(table(stand_in, 3), table(simulated, 3))
    assert (table(simulated, 3).max() < 0) == (kwargs.get("objective") == "min")


def test_simulated_fortnights_start_on_another_day_for_every_seed() -> None:
    """A given day sets the season instead: winter is dirtier."""
    means = {
        start: np.mean([table(make(SIM, start=start), seed).mean() for seed in range(8)])
        for start in ("2017-07-01", "2017-12-01")
    }
    assert means["2017-12-01"] > 2 * means["2017-07-01"]
    env = make(SIM)
    assert (env.horizon, env.public.first_step) == (288, 48)
    drawn = [table(env, seed) for seed in range(30)]
    levels = [one.mean() for one in drawn]
    assert max(levels) > 4 * min(levels)
    assert min(one.min() for one in drawn) >= 1
    np.testing.assert_array_equal(table(make(SIM, stations=[50, 4])), drawn[0][:, [16, 0]])
    known = make(SIM, period_hours=26.0)
    known.reset(seed=0)
    assert known.step(0)[4]["phase"] == 48 % 26


def test_fingerprint_changes_with_the_simulated_rewards() -> None:
    same = [make(SIM), make(SIM, period_hours=12.0), make(SIM, warm_start_days=1)]
    assert len({env.data_fingerprint for env in same}) == 1
    others = [{"start": "2018-03-03"}, {"days": 9}, {"objective": "min"}, {"stations": [4, 8]}]
    prints = [make(SIM, **kwargs).data_fingerprint for kwargs in others]
    assert len({same[0].data_fingerprint, *prints}) == 5
