"""Tests of ``periodic-gp data log``."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from periodic_decisions.logs.log import DecisionLogError
from periodic_decisions.logs.policies import parse_policy, read_schedule
from periodic_envs.worlds.replay import EXAMPLE
from tests.test_evaluation.test_cli import call


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


def test_data_log_describes_a_log(path: Path) -> None:
    said = call("data", "log", str(path))
    assert said.returncode == 0, said.stderr
    assert "A log: time in 'time', arm in 'arm', reward in 'reward', probability in" in said.stdout
    assert "959 decisions at 959 times, 2024-01-01 00:00 to 2024-02-09 23:00" in said.stdout
    assert "1 row without a reward left out" in said.stdout
    assert "With a season of 24 steps there are 24 phases and 40 blocks" in said.stdout
    assert "No period was given: assuming a day." in said.stdout
    assert "billing" in said.stdout
    assert "value per step" not in said.stdout


def test_data_log_judges_policies(path: Path) -> None:
    plan = path.parent / "plan.csv"
    arms = ["billing" if hour < 12 else "sales" for hour in range(24)]
    pd.DataFrame({"when": [f"{h:02}:00" for h in range(24)], "arm": arms}).to_csv(plan, index=False)
    policies = ["arm:billing", f"schedule:{plan}", "best-per-phase", "agent:phase-ucb"]
    options = [word for policy in policies for word in ("--policy", policy)]
    said = call("data", "log", str(path), *options, "--json")
    assert said.returncode == 0, said.stderr
    found = {one["policy"]: one for one in json.loads(said.stdout)["estimates"]}
    for policy, truth in (
        ("the log's own policy", 0.5),
        ("arm:billing", 0.5),
        ("schedule:plan.csv", 1.0),
        ("best-per-phase", 1.0),
    ):
        # Noise of 0.5 on 480 rows or more: six standard errors.
        assert abs(found[policy]["value"] - truth) < 0.15
        assert found[policy]["low"] < found[policy]["value"] < found[policy]["high"]
    assert found["agent:phase-ucb"]["estimator"] == "replay"
    assert 0.5 < found["agent:phase-ucb"]["value"] < 1.1
    table = call("data", "log", str(path), *options[:2], "--estimator", "ips", "--estimator", "dm")
    lines = [line.split() for line in table.stdout.splitlines() if line.startswith("arm:billing ")]
    assert [line[1] for line in lines] == ["ips", "dm"]
    assert "Note on arm:billing: the estimate relies on the model" in table.stdout


def test_data_log_refuses_without_overlap(path: Path) -> None:
    log = pd.read_csv(path)
    mornings = pd.to_datetime(log["time"]).dt.hour < 12
    log[(log["arm"] == "billing") | ~mornings].to_csv(path, index=False)
    asked = ("data", "log", str(path), "--policy", "arm:sales")
    said = call(*asked)
    assert said.returncode == 1
    assert "the log cannot evaluate arm:sales: in 32% of the steps" in said.stderr
    assert "the log's own policy" in said.stdout  # all else is said
    assert "such as 'sales' at 04:00; --partial evaluates the other steps" in said.stderr
    assert "00:00, 01:00, 02:00" in said.stdout  # where sales was never chosen
    partly = call(*asked, "--partial")
    assert partly.returncode == 0, partly.stderr
    assert "estimate for 68% of the steps; the log does not support the others" in partly.stdout


def test_data_log_names_the_options_for_unclear_columns(path: Path) -> None:
    names = {"arm": "desk", "reward": "sold", "probability": "share"}
    pd.read_csv(path).rename(columns=names).to_csv(path, index=False)
    said = call("data", "log", str(path))
    assert said.returncode == 1
    assert "give --arm-column and --reward-column" in said.stderr
    assert call("data", "log", str(path), "--probability-column", "share").returncode == 0


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (("--policy", "foo"), "a policy must be"),
        (("--policy", "schedule:none.csv"), "cannot read 'none.csv'"),
        (("--policy", "agent:unknown"), "there is no agent 'unknown'"),
        (("--estimator", "best"), "unknown estimator 'best': expected"),
    ],
)
def test_data_log_checks_options_before_the_file(asked: tuple[str, str], sentence: str) -> None:
    said = call("data", "log", "no-such-file.csv", *asked)
    assert said.returncode == 1
    assert sentence in said.stderr


def test_data_log_reads_odd_cells(tmp_path: Path) -> None:
    """A decider's log has offsets: with the zone, hours are those of its clocks again."""
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
    said = call("data", "log", str(file), *options)
    assert said.returncode == 0, said.stderr
    lines = {line.split()[0]: line for line in said.stdout.splitlines() if line}
    assert lines["Nord"].endswith("  00:00, 01:00, 02:00, 04:00, 05:00")
    assert "1 row without a reward left out" in said.stdout


def test_data_check_and_data_log_point_to_each_other(path: Path) -> None:
    said = call("data", "check", str(path))
    assert said.returncode == 0, said.stderr
    assert "This is a log of decisions, not a table of all rewards (it has a prob" in said.stdout
    assert f"periodic-gp data log {path}" in said.stdout
    assert "A long table" in call("data", "check", str(path), "--table").stdout
    assert "This is a log" not in call("data", "check", str(EXAMPLE)).stdout
    other = call("data", "log", str(EXAMPLE))
    assert other.returncode == 1
    assert "is a table of rewards, not a log" in other.stderr
    assert "data check" in other.stderr


def test_data_log_needs_a_period_for_numbers(path: Path) -> None:
    log = pd.read_csv(path)
    log.assign(time=range(len(log))).to_csv(path, index=False)
    assert "--period must be given" in call("data", "log", str(path)).stderr
    assert call("data", "log", str(path), "--period", "24").returncode == 0
    assert (
        "clip must be above 0"
        in call("data", "log", str(path), "--period", "24", "--clip", "0").stderr
    )


# --- schedules -------------------------------------------------------------------------------


def duration_text(folder: Path, text: str) -> Path:
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
    with pytest.raises(DecisionLogError, match="is not a schedule"):
        read_schedule(duration_text(tmp_path, text))


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
    plan = read_schedule(duration_text(tmp_path, text))
    assert (plan.slots, plan.plan) == (form, {slots[0]: "a", slots[1]: "b"})


@pytest.mark.parametrize("text", ["", "arm:", "best", "schedule:"])
def test_parse_policy_refuses_other_text(text: str) -> None:
    with pytest.raises(
        DecisionLogError, match=r'a policy must be "arm:NAME", "schedule:FILE\.csv"'
    ):
        parse_policy(text)
