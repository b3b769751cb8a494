"""Madrid without measurements: what stands in for them, and how it says so."""

import datetime
import json
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.simulator import MadridSimulator
from tests.test_envs.test_madrid import ID, SIM, make


def test_measurements_and_simulator_never_look_alike(
    imported_folder: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated = make()
    _, info = simulated.reset(seed=0)
    assert info["data_source"] == simulated.data_source == "simulator"
    assert simulated.step(0)[-1]["data_source"] == "simulator"
    monkeypatch.setenv("PERIODIC_GP_DATA", str(imported_folder))
    real = make()
    _, info = real.reset(seed=0)
    assert info["data_source"] == real.data_source == "measurements"
    assert real.step(0)[-1]["data_source"] == "measurements"
    assert real.data_fingerprint != simulated.data_fingerprint
    assert real.setup.world != simulated.setup.world
    assert not simulated.setup.origin.replay
    # One that was made before the import stays what it was.
    assert simulated.reset(seed=0)[1]["data_source"] == "simulator"


def test_the_stand_in_says_so_once(data_folder: Path) -> None:
    code = (
        "import warnings, gymnasium as gym, periodic_envs\n"
        "warnings.simplefilter('always')\n"
        "for year in (2018, 2019): gym.make('PeriodicGP-Madrid-v0', start=f'{year}-03-03')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stderr.count("SimulatedDataWarning: no measurements are imported") == 1
    assert "periodic-gp data download madrid --year 2018" in result.stderr


@pytest.mark.parametrize(
    "kwargs",
    [
        {"start": "2018-11-03"},
        {"days": 5},
        {"warm_start_days": 1},
        {"objective": "min"},
        {"stations": [8, 4, 50]},
        {"period_hours": 12.0},
    ],
    ids=str,
)
def test_the_stand_in_is_what_was_asked_for(kwargs: dict) -> None:
    given = {"start": "2018-03-03", "days": 10, **kwargs}
    stand_in, simulated = make(**kwargs), make(SIM, **given)
    assert stand_in.data_fingerprint == simulated.data_fingerprint
    assert stand_in.public.periods == simulated.public.periods
    assert stand_in.public.action_names == simulated.public.action_names
    for env in (stand_in, simulated):
        env.reset(seed=3)
        assert env.horizon == 24 * (given["days"] - given.get("warm_start_days", 2))
    tables = [env.episode.process.values for env in (stand_in, simulated)]
    assert np.array_equal(*tables)
    assert (tables[0].max() < 0) == (kwargs.get("objective") == "min")


def test_the_start_day_of_the_simulator() -> None:
    """Given, it sets the season; drawn, it differs from seed to seed."""
    means = {}
    for start in ("2017-07-01", "2017-12-01"):
        env = make(SIM, start=start)
        draws = [env.reset(seed=s) and env.episode.process.values.mean() for s in range(8)]
        means[start] = np.mean(draws)
    assert means["2017-12-01"] > 2 * means["2017-07-01"]  # winter is dirtier
    env = make(SIM)
    drawn = [env.reset(seed=s) and env.episode.process.values.mean() for s in range(30)]
    assert max(drawn) > 4 * min(drawn)


def test_the_fingerprint_knows_the_simulators_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    before = make(SIM).data_fingerprint
    calibrated = MadridSimulator.calibrated()
    changed = replace(calibrated, saturation=calibrated.saturation * 1.01)
    monkeypatch.setattr(MadridSimulator, "calibrated", staticmethod(lambda: changed))
    assert make(SIM).data_fingerprint != before


def test_the_stand_in_knows_only_no(data_folder: Path) -> None:
    with pytest.raises(DataError, match=r"only NO \(simulated\), not O3; get the data with"):
        make(magnitude="O3")


def test_fingerprints() -> None:
    """Whatever fixes the rewards changes it; what agents merely know does not."""
    same = [make(SIM), make(SIM, period_hours=12.0), make(SIM, warm_start_days=1)]
    assert len({env.data_fingerprint for env in same}) == 1
    others = [{"start": "2018-03-03"}, {"days": 9}, {"objective": "min"}, {"stations": [4, 8]}]
    prints = [make(SIM, **kwargs).data_fingerprint for kwargs in others]
    assert len({same[0].data_fingerprint, *prints}) == 5


def test_simulated_fortnights_differ() -> None:
    env = make(SIM)
    assert (env.horizon, env.public.first_step) == (288, 48)
    tables = []
    for seed in (0, 1):
        env.reset(seed=seed)
        tables.append(env.episode.process.values)
    assert tables[0].shape == tables[1].shape == (336, 24)
    assert (tables[0] != tables[1]).mean() > 0.5
    assert min(table.min() for table in tables) >= 1
    few = make(SIM, stations=[50, 4])
    few.reset(seed=0)
    assert (few.episode.process.values == tables[0][:, [16, 0]]).all()


def test_arguments_stay_plain_data(madrid: Path) -> None:
    kwargs = {"start": "2018-11-03", "stations": [4, 8, 50], "objective": "min"}
    spec = gym.make(ID, **kwargs).spec
    again = EnvSpec.from_json(spec.to_json())
    assert json.loads(json.dumps(again.kwargs)) == again.kwargs
    assert gym.make(again).unwrapped.data_fingerprint == make(**kwargs).data_fingerprint
    day = make(**{**kwargs, "start": datetime.date(2018, 11, 3)})
    assert day.data_fingerprint == make(**kwargs).data_fingerprint


def test_the_period_that_agents_know() -> None:
    env = make(SIM, period_hours=26.0)
    assert env.public.periods == (26.0,)
    env.reset(seed=0)
    assert env.step(0)[-1]["phase"] == 48 % 26


def test_no_warning_with_data(madrid: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make()
