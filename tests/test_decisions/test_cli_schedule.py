"""Tests of schedules from files with irregularities."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.test_evaluation.test_cli import call


def plan_of(tmp_path: Path, file: Path, *options: str) -> tuple[str, dict[str, dict[str, str]]]:
    """Return the output for a file, and its schedule by slot."""
    target = tmp_path / "plan.csv"
    result = call("data", "check", str(file), "--schedule", str(target), *options)
    assert result.returncode == 0, result.stderr
    assert f"Wrote the schedule into {target}" in result.stdout
    with target.open(newline="") as lines:
        return result.stdout, {row["when"]: row for row in csv.DictReader(lines)}


def test_schedule_of_a_week_of_hours(tmp_path: Path) -> None:
    """Eight weeks of hours, from a Wednesday on: sales at night, support on weekends."""
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
    said, plan = plan_of(tmp_path, tmp_path / "calls.csv", "--picture", str(tmp_path / "x.png"))
    assert "The season is 168 steps (7 days)" in said
    assert "  Mon-Fri 09:00-12:00   billing" in said
    assert "  Sat, Sun 10:00-16:00  support" in said
    assert list(plan)[:2] == ["Mon 00:00", "Mon 01:00"]
    assert len(plan) == 168
    assert [plan[f"Tue {h:02}:00"]["arm"] for h in (8, 9, 11, 12)] == [
        "sales", "billing", "billing", "sales",
    ]  # fmt: skip
    monday = plan["Mon 09:00"]
    low, high = float(monday["low"]), float(monday["high"])
    assert low < float(monday["gain_over_best_fixed_arm"]) < high
    assert low < 22 < high
    assert monday["seasons_seen"] == "8"


def test_schedule_of_a_table_with_odd_cells(tmp_path: Path) -> None:
    """Three weeks around the change of the clock, with words among the numbers."""
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
    refused = call("data", "check", str(file))
    assert refused.returncode == 1
    assert "line 9 of 'filialen.csv' has 'geschl.'" in refused.stderr
    said, plan = plan_of(tmp_path, file, "--na-values", "geschl.", "--timezone", "Europe/Berlin")
    assert "was read as cp1252" in said
    assert "The decimal mark is a comma." in said
    assert "10 values read as missing (geschl.)." in said
    assert "Clocks were set forward at 2024-03-31 02:00." in said
    assert "The season is 24 steps (1 day)" in said
    assert {plan["03:00"]["arm"], plan["11:00"]["arm"]} == {"Köln"}
    assert plan["12:00"]["arm"] == "Süd"
    command = said.partition("To choose an agent: periodic-gp ")[2].splitlines()[0]
    assert "--na-values geschl." in command


@pytest.mark.parametrize("start", ["2020-01-01", "2019-07-13"])
def test_schedule_of_years_of_days(tmp_path: Path, start: str) -> None:
    """Ice sells in summer, soup in winter, cake on Sundays: a year of 365 days, and a week."""
    times = pd.date_range(start, periods=4 * 365 + 1, freq="D")
    rng = np.random.default_rng(2)
    warm = -np.cos(2 * np.pi * times.day_of_year.to_numpy() / 365.25)
    sunday = times.day_of_week.to_numpy() == 6
    frame = pd.DataFrame(
        {"ice": 50 + 30 * warm, "soup": 50 - 30 * warm, "cake": np.where(sunday, 110.0, 20.0)}
    )
    frame = (frame + 5 * rng.standard_normal(frame.shape)).round(1).assign(time=times)
    frame.to_csv(tmp_path / "sales.csv", index=False)
    said, plan = plan_of(tmp_path, tmp_path / "sales.csv")
    assert "The season is 365 steps (365 days)" in said
    assert "Another season is 7 steps (7 days)" in said
    assert "Schedule by weekday of the month" in said
    assert (plan["Jul Mon"]["arm"], plan["Jan Mon"]["arm"]) == ("ice", "soup")
    assert plan["Jan Sun"]["arm"] == "cake"
    assert "\n  Jan-Dec Sun " in said
    assert "\n  Apr-Sep Mon-Sat " in said


def test_data_example_writes_the_table(tmp_path: Path) -> None:
    target = tmp_path / "demand.csv"
    written = call("data", "example", "demand.csv", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert "Look at it with: periodic-gp data check demand.csv" in written.stdout
    assert call("data", "example", "demand.csv", cwd=tmp_path).returncode == 0  # as it was
    played = call("play", "PeriodicGP-Replay-v0:data=demand.csv,period=168", "fixed", cwd=tmp_path)
    assert played.returncode == 0, played.stderr
    target.write_text("mine")
    refused = call("data", "example", str(target))
    assert refused.returncode == 1
    assert "already exists: choose another name" in refused.stderr
    assert target.read_text() == "mine"
    for options, message in (
        (("--schedule", "plan.txt"), "--schedule must end in .csv"),
        (("--schedule", "nowhere/plan.csv"), "cannot write 'nowhere/plan.csv'"),
        (("--encoding", "klingon"), "unknown encoding 'klingon'"),
        (("--timezone", "Atlantis"), "unknown timezone 'Atlantis'"),
    ):
        call("data", "example", "other.csv", cwd=tmp_path)
        wrong = call("data", "check", "other.csv", *options, cwd=tmp_path)
        assert wrong.returncode == 1
        assert message in wrong.stderr
