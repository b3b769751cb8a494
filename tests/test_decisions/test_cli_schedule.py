"""Tests of schedules from files with irregularities."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from periodic_envs.worlds.replay import EXAMPLE
from tests.console import call, error_of


def plan_of(file: Path, *options: str) -> tuple[str, dict[str, dict[str, str]]]:
    """Return the output for a file, and its schedule by slot."""
    target = file.with_name("plan.csv")
    result = call("data", "check", str(file), "--schedule", str(target), *options)
    assert result.returncode == 0, result.stderr
    with target.open(newline="") as lines:
        return result.stdout, {row["when"]: row for row in csv.DictReader(lines)}


def test_schedule_of_a_week_of_hours(tmp_path: Path) -> None:
    """The table has eight weeks of hours from a Wednesday on."""
    times = pd.date_range("2024-01-03 05:00", periods=56 * 24, freq="h")
    rng = np.random.default_rng(0)
    hour, working = times.hour.to_numpy(), times.day_of_week.to_numpy() < 5
    means = {
        "billing": np.where(working & (hour >= 9) & (hour < 12), 30, 4),
        "sales": np.where((hour < 6) | (hour >= 20), 12, 8),
        "support": np.where(~working & (hour >= 10) & (hour < 16), 25, 6),
    }
    frame = pd.DataFrame({"time": times, **{n: rng.poisson(m) for n, m in means.items()}})
    frame.to_csv(tmp_path / "calls.csv", index=False)
    output, plan = plan_of(tmp_path / "calls.csv", "--picture", str(tmp_path / "x.png"))
    assert "  Mon-Fri 09:00-12:00   billing" in output
    assert "  Sat, Sun 10:00-16:00  support" in output
    assert list(plan)[:2] == ["Mon 00:00", "Mon 01:00"]
    assert len(plan) == 168
    assert [plan[f"Tue {h:02}:00"]["arm"] for h in (8, 9, 11, 12)] == [
        "sales", "billing", "billing", "sales",
    ]  # fmt: skip
    monday = plan["Mon 09:00"]
    for gain in (monday["gain_over_best_fixed_arm"], 22):
        assert float(monday["low"]) < float(gain) < float(monday["high"])
    assert monday["seasons_seen"] == "8"


def test_schedule_of_a_table_with_odd_cells(tmp_path: Path) -> None:
    """The table has three weeks around the change of the clock, and words among the numbers."""
    local = pd.date_range("2024-03-18", periods=21 * 24, freq="h", tz="Europe/Berlin")
    times = local.tz_localize(None)
    rng = np.random.default_rng(1)
    day = times.hour.to_numpy() // 12  # Köln before noon, Süd after it
    values = {"Köln": 10.5 - 4 * day, "Süd": 6.5 + 4 * day}
    lines = ["Zeitpunkt;Köln;Süd"]
    for i, time in enumerate(times):
        words = [
            f"{v[i] + 0.1 * rng.standard_normal():.2f}".replace(".", ",") for v in values.values()
        ]
        if i % 50 == 7:
            words[i // 50 % 2] = "geschl."
        lines.append(";".join([f"{time:%d.%m.%Y %H:%M}", *words]))
    file = tmp_path / "filialen.csv"
    file.write_bytes("\r\n".join(lines).encode("latin-1"))
    assert error_of("data", "check", str(file)) == "not-a-number"
    output, plan = plan_of(file, "--na-values", "geschl.", "--timezone", "Europe/Berlin")
    for name in ("cp1252", "10 values", "2024-03-31 02:00", "--na-values geschl."):
        assert name in output
    assert len(plan) == 24
    assert {plan["03:00"]["arm"], plan["11:00"]["arm"]} == {"Köln"}
    assert plan["12:00"]["arm"] == "Süd"


@pytest.mark.parametrize("start", ["2020-01-01", "2019-07-13"])
def test_schedule_of_years_of_days(tmp_path: Path, start: str) -> None:
    """The table has two seasons, a year of 365 days and a week: cake sells on Sundays."""
    times = pd.date_range(start, periods=4 * 365 + 1, freq="D")
    rng = np.random.default_rng(2)
    warm = -np.cos(2 * np.pi * times.day_of_year.to_numpy() / 365.25)
    sunday = times.day_of_week.to_numpy() == 6
    frame = pd.DataFrame(
        {"ice": 50 + 30 * warm, "soup": 50 - 30 * warm, "cake": np.where(sunday, 110.0, 20.0)}
    )
    frame = (frame + 5 * rng.standard_normal(frame.shape)).round(1).assign(time=times)
    frame.to_csv(tmp_path / "sales.csv", index=False)
    output, plan = plan_of(tmp_path / "sales.csv")
    for name in ("365 steps", "7 steps", "\n  Jan-Dec Sun ", "\n  Apr-Sep Mon-Sat "):
        assert name in output
    assert (plan["Jul Mon"]["arm"], plan["Jan Mon"]["arm"]) == ("ice", "soup")
    assert plan["Jan Sun"]["arm"] == "cake"


def test_data_example_writes_the_table(tmp_path: Path) -> None:
    target = tmp_path / "demand.csv"
    for _ in range(2):  # the same file may be written again
        assert call("data", "example", "demand.csv", cwd=tmp_path).returncode == 0
    played = call("play", "PeriodicGP-Replay-v0:data=demand.csv,period=168", "fixed", cwd=tmp_path)
    assert played.returncode == 0, played.stderr
    target.write_text("other")
    assert error_of("data", "example", str(target)) == "file-exists"
    assert target.read_text() == "other"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--schedule", "plan.txt"), "unknown-file-type"),
        (("--schedule", "nowhere/plan.csv"), "cannot-write"),
        (("--encoding", "klingon"), "unknown-encoding"),
        (("--timezone", "Atlantis"), "unknown-timezone"),
    ],
)
def test_data_check_rejects_bad_options(options: tuple[str, str], code: str) -> None:
    assert error_of("data", "check", str(EXAMPLE), *options) == code
