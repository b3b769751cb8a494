"""Tests of ``periodic-gp data``."""

import re
import zipfile
from pathlib import Path

import pytest

from periodic_envs.worlds.replay import EXAMPLE
from tests.console import call, error_of, run
from tests.test_envs.portal_files import csv, csv_line


def test_data_list_and_play_work_without_measurements(data_folder: Path) -> None:
    listed = call("data", "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert str(data_folder) in listed.stdout
    played = run("play", "PeriodicGP-Madrid-v0", "fixed")
    assert played.returncode == 0
    assert "simulator" in played.stdout
    assert len(re.findall("^Note: ", played.stderr, re.MULTILINE)) == 1
    envs = run("envs")
    assert "PeriodicGP-Madrid-v0" in envs.stdout
    assert envs.stderr == ""


def test_data_list_names_a_missing_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERIODIC_GP_DATA", str(tmp_path))
    assert "Note: " not in call("data", "list").stdout
    monkeypatch.setenv("PERIODIC_GP_DATA", str(tmp_path / "none"))
    listed = call("data", "list").stdout
    assert re.search(rf"^Note: .*{tmp_path / 'none'}", listed, re.MULTILINE)
    assert str(tmp_path / "none") in run("play", "PeriodicGP-Madrid-v0:days=3", "fixed").stderr


def test_data_import_makes_measurements_available(data_folder: Path, madrid_files: Path) -> None:
    result = call("data", "import", str(madrid_files / "Anio2018.zip"))
    assert result.returncode == 0, result.stderr
    for name in ("2018-01-01 to 2018-12-31", "365 days", "24 stations", str(data_folder)):
        assert name in result.stdout
    provenance = call("data", "list", "--provenance").stdout
    line = r"Anio2018.zip:\w+_mo18.csv, [\d,]+ lines, sha256 [0-9a-f]{12}"
    assert len(re.findall(line, provenance)) == 12
    played = call("play", "PeriodicGP-Madrid-v0", "fixed")
    assert played.stderr == ""
    for name in ("192 steps", "measurements", "18 of 5,760"):
        assert name in played.stdout
    min_of_three = "PeriodicGP-Madrid-v0:start=2018-11-03,stations=[4,8,50],objective=min"
    assert call("play", min_of_three, "fixed").returncode == 0


def test_data_import_names_skipped_files(data_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.csv").write_bytes(csv(csv_line()))
    (tmp_path / "files" / "notes.txt").write_text("hello")
    assert "notes.txt" in call("data", "import", str(tmp_path / "files")).stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("data", "import", "nowhere"), "file-not-found"),
        (("data", "import", "page.zip"), "damaged-file"),
        (("data", "import", "cut.csv"), "damaged-file"),
        (("data", "download", "paris", "--year", "2018"), "unknown-source"),
        (("data", "download", "madrid", "--year", "1999"), "unknown-year"),
        (("data", "download", "madrid", "--year", "2018", "--url", "ftp://x"), "invalid-address"),
        (
            ("data", "download", "madrid", "--year", "2017", "--year", "2018", "--url", "x"),
            "conflicting-options",
        ),
        (("data", "check", "nowhere.csv"), "file-not-found"),
        (("data", "check", "page.zip"), "unknown-file-type"),
        (("data", "check", "cut.csv", "--picture", "x.gif"), "unknown-file-type"),
        (("data", "check", "two.csv", "--time-column", "when"), "unknown-column"),
        (("data", "check", "two.csv", "--duplicates", "x"), "invalid-option"),
        (("data", "check", "two.csv", "--time-format", "%Y%Y"), "invalid-time-format"),
        (("data", "check", "two.csv", "--arms", "a"), "too-few-arms"),
        (("play", "PeriodicGP-Replay-v0:data=two.csv", "fixed"), "missing-argument"),
        (("play", "PeriodicGP-Replay-v0:data=none.csv", "fixed"), "file-not-found"),
        (("play", "PeriodicGP-Madrid-v0:magnitude=O3", "fixed"), "not-imported"),
        (("play", "PeriodicGP-Madrid-v0:strt=x", "fixed"), "invalid-argument"),
        (("play", "PeriodicGP-Madrid-v0:start", "fixed"), "unknown-environment"),
        (("play", "CartPole-v1", "fixed"), "foreign-environment"),
    ],
)
def test_data_reports_mistakes_in_one_sentence(
    data_folder: Path, tmp_path: Path, arguments: tuple[str, ...], code: str
) -> None:
    (tmp_path / "page.zip").write_text("<html>")
    (tmp_path / "cut.csv").write_bytes(csv(csv_line()[:50]))
    (tmp_path / "two.csv").write_text("t,a,b\n0,1,2\n1,2,1\n2,1,2\n")
    assert error_of(*arguments, cwd=tmp_path) == code
    assert not list(data_folder.glob("*.npz"))


def test_data_check_reports_season_and_gain(tmp_path: Path) -> None:
    picture = tmp_path / "check.png"
    file = tmp_path / "my data, v2=final.csv"
    file.write_bytes(EXAMPLE.read_bytes())
    result = call("data", "check", str(file), "--picture", str(picture))
    assert result.returncode == 0, result.stderr
    for name in ("'time'", "168 steps", "94%", f"backtest '{file}'"):
        assert name in result.stdout
    assert picture.stat().st_size > 10_000
    costs = call("data", "check", str(file), "--objective", "min").stdout
    assert "cost" in costs
    assert f"backtest '{file}' --objective min" in costs


def test_data_list_shows_years_beside_a_damaged_one(data_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(csv(csv_line(), csv_line(date=(2017, 3, 1))))
    assert call("data", "import", str(tmp_path / "a.csv")).returncode == 0
    (data_folder / "madrid-2017.npz").write_bytes(b"junk")
    assert error_of("data", "list") == "damaged-file"
    assert "2018" in call("data", "list").stdout
    assert zipfile.is_zipfile(data_folder / "madrid-2018.npz")


def test_data_check_names_options_not_arguments(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "time,a,b\n2026-01-01 00:00,1,x y\n2026-01-01 01:00,2,3\n2026-01-01 02:00,2,3\n"
    )
    error = call("data", "check", "t.csv", cwd=tmp_path).stderr
    assert "--na-values 'x y'" in " ".join(error.split())
