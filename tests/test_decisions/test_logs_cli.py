"""Tests of ``periodic-gp data log``."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from periodic_decisions.logs.log import DecisionLogError
from periodic_decisions.logs.policies import parse_policy, read_schedule
from periodic_envs.worlds.replay import EXAMPLE
from tests.console import call, error_of
from tests.errors import raises


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Forty days by the hour: billing is best in the morning, sales in the afternoon."""
    rng = np.random.default_rng(0)
    n = 24 * 40
    arm = rng.integers(0, 2, n)
    morning = np.arange(n) % 24 < 12
    reward = np.where(arm == 0, morning, ~morning) + 0.5 * rng.standard_normal(n)
    log = pd.DataFrame(
        {
            "time": pd.date_range("2024-01-01", periods=n, freq="1h"),
            "arm": np.array(["billing", "sales"])[arm],
            "reward": reward,
            "probability": 0.5,
        }
    )
    log.loc[3, "reward"] = np.nan
    log.to_csv(tmp_path / "log.csv", index=False)
    return tmp_path / "log.csv"


def estimates_of(*options: str) -> dict[tuple[str, str], Any]:
    """Return the estimates of a command by policy and estimator."""
    result = call("data", "log", *options, "--json")
    assert result.returncode == 0, result.stderr
    estimates = json.loads(result.stdout)["estimates"]
    return {(one["policy"], one["estimator"]): one for one in estimates}


def test_data_log_describes_a_log(path: Path) -> None:
    result = call("data", "log", str(path))
    assert result.returncode == 0, result.stderr
    assert "959 decisions at 959 times, 2024-01-01 00:00 to 2024-02-09 23:00" in result.stdout
    assert "24 phases and 40 blocks" in result.stdout
    assert "95 % interval" not in result.stdout


def test_data_log_judges_policies(path: Path) -> None:
    plan = path.parent / "plan.csv"
    arms = ["billing" if hour < 12 else "sales" for hour in range(24)]
    pd.DataFrame({"when": [f"{h:02}:00" for h in range(24)], "arm": arms}).to_csv(plan, index=False)
    policies = ["arm:billing", f"schedule:{plan}", "best-per-phase", "agent:phase-ucb"]
    options = [word for policy in policies for word in ("--policy", policy)]
    estimates = estimates_of(str(path), *options)
    for policy, estimator, truth in (
        ("the log's own policy", "mean", 0.5),
        ("arm:billing", "dr", 0.5),
        ("schedule:plan.csv", "dr", 1.0),
        ("best-per-phase", "dr", 1.0),
    ):
        # Noise of 0.5 on 480 rows or more: six standard errors.
        estimate = estimates[policy, estimator]
        assert abs(estimate["value"] - truth) < 0.15
        assert estimate["low"] < estimate["value"] < estimate["high"]
    assert 0.5 < estimates["agent:phase-ucb", "replay"]["value"] < 1.1
    assert {"arm:billing", "schedule:plan.csv"} <= set(
        call("data", "log", str(path), *options).stdout.split()
    )


def test_data_log_has_an_estimate_for_each_estimator(path: Path) -> None:
    options = ("--policy", "arm:billing", "--estimator", "ips", "--estimator", "dm")
    estimates = estimates_of(str(path), *options)
    assert list(estimates)[1:] == [("arm:billing", "ips"), ("arm:billing", "dm")]
    assert [len(one["notes"]) for one in estimates.values()] == [0, 0, 1]


def test_data_log_refuses_without_overlap(path: Path) -> None:
    log = pd.read_csv(path)
    mornings = pd.to_datetime(log["time"]).dt.hour < 12
    log[(log["arm"] == "billing") | ~mornings].to_csv(path, index=False)
    options = (str(path), "--policy", "arm:sales")
    result = call("data", "log", *options)
    assert (result.returncode, "[no-overlap]" in result.stderr) == (1, True)
    assert "the log's own policy" in result.stdout  # the other estimates are printed
    assert "00:00, 01:00, 02:00" in result.stdout  # phases at which sales was never chosen
    estimates = estimates_of(*options, "--partial")
    assert estimates["arm:sales", "dr"]["no_overlap"] == pytest.approx(0.32, abs=0.005)


def test_data_log_asks_for_unclear_columns(path: Path) -> None:
    names = {"arm": "desk", "reward": "sold", "probability": "share"}
    pd.read_csv(path).rename(columns=names).to_csv(path, index=False)
    assert error_of("data", "log", str(path)) == "ambiguous-table"
    assert call("data", "log", str(path), "--probability-column", "share").returncode == 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--policy", "foo"), "invalid-policy"),
        (("--policy", "schedule:none.csv"), "file-not-found"),
        (("--policy", "agent:unknown"), "unknown-agent"),
        (("--estimator", "best"), "unknown-estimator"),
    ],
)
def test_data_log_checks_options_before_the_file(options: tuple[str, str], code: str) -> None:
    assert error_of("data", "log", str(EXAMPLE), *options) == code


def test_data_log_reads_odd_cells(tmp_path: Path) -> None:
    """Times with offsets are read in the given time zone."""
    times = pd.date_range("2024-10-20", periods=24 * 14, freq="h", tz="Europe/Berlin")
    rows = [
        f"{time.isoformat(sep=' ')};{'Süd' if time.hour < 6 else 'Nord'};"
        + ("defekt" if i == 5 else f"{i % 7},5")
        for i, time in enumerate(times)
    ]
    rows += [f"{time.isoformat(sep=' ')};Nord;1,0" for time in times if time.hour == 3]
    file = tmp_path / "log.csv"
    file.write_bytes("\n".join(["Zeit;arm;reward", *rows]).encode("cp1252"))
    options = ("--encoding", "cp1252", "--na-values", "defekt", "--timezone", "Europe/Berlin")
    result = call("data", "log", str(file), *options)
    assert result.returncode == 0, result.stderr
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line}
    assert lines["Nord"].endswith("  00:00, 01:00, 02:00, 04:00, 05:00")
    assert f"{len(rows) - 1} decisions" in result.stdout


def test_data_check_and_data_log_point_to_each_other(path: Path) -> None:
    assert f"periodic-gp data log {path}" in call("data", "check", str(path)).stdout
    for options in ((str(path), "--table"), (str(EXAMPLE),)):
        assert "data log" not in call("data", "check", *options).stdout
    table = pd.read_csv(EXAMPLE)
    table.melt(table.columns[0], var_name="arm", value_name="reward").to_csv(path, index=False)
    assert error_of("data", "log", str(path)) == "not-a-log"
    assert call("data", "log", str(path), "--log").returncode == 0


def test_data_log_needs_a_period_for_numbers(path: Path) -> None:
    log = pd.read_csv(path)
    log.assign(time=range(len(log))).to_csv(path, index=False)
    assert error_of("data", "log", str(path)) == "missing-argument"
    assert call("data", "log", str(path), "--period", "24").returncode == 0
    assert error_of("data", "log", str(path), "--period", "24", "--clip", "0") == "out-of-range"


# --- schedules -------------------------------------------------------------------------------


def schedule_of(folder: Path, text: str) -> Path:
    (folder / "plan.csv").write_text(text)
    return folder / "plan.csv"


@pytest.mark.parametrize(
    "text",
    [
        "phase,arm\n1,a\n",
        "when,arm\n24:00,a\n",
        "when,arm\nfunday,a\n",
        "when,arm\nJan Mon,a\n",
        "when,arm\n09:15,a\n",
        "when,arm\nMon,a\n09:00,b\n",
        "when,arm\nMon,a\nMon,b\n",
    ],
)
def test_read_schedule_refuses_other_forms(tmp_path: Path, text: str) -> None:
    with raises(DecisionLogError, "invalid-schedule"):
        read_schedule(schedule_of(tmp_path, text))


@pytest.mark.parametrize(
    ("slots", "form"),
    [
        (["Mon 00:00", "Sun 23:00"], "%a %H:00"),
        (["00:00", "09:00"], "%H:00"),
        (["Mon", "Tue"], "%a"),
        (["step 0", "step 1"], "step"),
    ],
)
def test_read_schedule_reads_plans_of_data_check(
    tmp_path: Path, slots: list[str], form: str
) -> None:
    text = f"phase,when,arm,low\n0,{slots[0]},a,\n1,{slots[1]},b,\n"
    plan = read_schedule(schedule_of(tmp_path, text))
    assert (plan.slots, plan.plan) == (form, {slots[0]: "a", slots[1]: "b"})


@pytest.mark.parametrize("text", ["", "arm:", "best", "schedule:"])
def test_parse_policy_refuses_other_text(text: str) -> None:
    with raises(DecisionLogError, "invalid-policy"):
        parse_policy(text)
