"""Tests of ``periodic-gp data``."""

import re
import zipfile
from pathlib import Path

import pytest

from periodic_envs.worlds.replay import EXAMPLE
from tests.test_envs.portal_files import csv, csv_line
from tests.test_evaluation.test_cli import call, run


def test_data_list_without_measurements(data_folder: Path) -> None:
    result = call("data", "list")
    assert result.returncode == 0
    assert f"Data folder: {data_folder}" in result.stdout
    assert "periodic-gp data download madrid --year 2018" in result.stdout
    played = run("play", "PeriodicGP-Madrid-v0", "fixed")
    assert played.returncode == 0
    assert played.stderr.startswith("Note: no measurements are imported")
    assert "Data: simulator, fingerprint" in played.stdout
    listed = run("envs")
    assert "PeriodicGP-Madrid-v0" in listed.stdout
    assert listed.stderr == ""


def test_data_list_names_a_missing_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERIODIC_GP_DATA", str(tmp_path))
    assert "does not exist" not in call("data", "list").stdout
    monkeypatch.setenv("PERIODIC_GP_DATA", str(tmp_path / "none"))
    said = f"the folder that PERIODIC_GP_DATA names does not exist: '{tmp_path / 'none'}'"
    assert said in call("data", "list").stdout
    monkeypatch.setattr("periodic_envs.worlds.madrid._warned", [])
    played = call("play", "PeriodicGP-Madrid-v0:days=3", "fixed").stderr
    assert played.startswith(f"Note: no measurements are imported ({said}): ")


def test_data_import_makes_measurements_available(data_folder: Path, madrid_files: Path) -> None:
    result = call("data", "import", str(madrid_files / "Anio2018.zip"))
    assert result.returncode == 0, result.stderr
    assert "Madrid 2018: 365 days from 2018-01-01 to 2018-12-31, 24 stations" in result.stdout
    assert f"Stored in {data_folder}" in result.stdout
    listed = call("data", "list").stdout
    assert "12 files, from Anio2018.zip" in listed
    provenance = call("data", "list", "--provenance").stdout
    line = r"Anio2018.zip:\w+_mo18.csv, [\d,]+ lines, sha256 [0-9a-f]{12}"
    assert len(re.findall(line, provenance)) == 12
    played = call("play", "PeriodicGP-Madrid-v0", "fixed")
    assert "over 192 steps" in played.stdout
    assert "Data: measurements, fingerprint" in played.stdout
    assert "18 of 5,760 hourly values were missing and filled" in played.stdout
    assert played.stderr == ""
    min_of_three = "PeriodicGP-Madrid-v0:start=2018-11-03,stations=[4,8,50],objective=min"
    assert call("play", min_of_three, "fixed").returncode == 0


def test_data_import_prints_skipped_files(data_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.csv").write_bytes(csv(csv_line()))
    (tmp_path / "files" / "notes.txt").write_text("hello")
    out = call("data", "import", str(tmp_path / "files")).stdout
    assert "Ignored, not files of the portal: notes.txt" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("data", "import", "nowhere"), "the file or folder 'nowhere' does not exist"),
        (("data", "import", "page.zip"), "page.zip is damaged or in another format"),
        (("data", "import", "cut.csv"), "cut.csv, line 2, has "),
        (("data", "download", "paris", "--year", "2018"), "unknown source 'paris'"),
        (("data", "download", "madrid", "--year", "1999"), "no address is known for 1999"),
        (
            ("data", "download", "madrid", "--year", "2018", "--url", "ftp://x"),
            "the address must start with https://",
        ),
        (("data", "check", "nowhere.csv"), "cannot read 'nowhere.csv'"),
        (("data", "check", "page.zip"), "unknown format of 'page.zip'"),
        (("data", "check", "cut.csv", "--picture", "x.gif"), "a picture's name must end in"),
        (("data", "check", "two.csv", "--time-column", "when"), "when"),
        (
            ("data", "check", "two.csv", "--duplicates", "x"),
            "duplicates must be one of error, mean",
        ),
        (("data", "check", "two.csv", "--time-format", "%Y%Y"), "cannot read the times in column"),
        (
            ("play", "PeriodicGP-Replay-v0:data=two.csv", "fixed"),
            "period, the length of the season in steps, must be given",
        ),
        (("play", "PeriodicGP-Replay-v0:data=none.csv", "fixed"), "cannot read 'none.csv'"),
        (
            ("play", "PeriodicGP-Madrid-v0:magnitude=O3", "fixed"),
            "only NO is available (simulated), not O3",
        ),
        (("play", "PeriodicGP-Madrid-v0:strt=x", "fixed"), "did you mean 'start'?"),
        (("play", "PeriodicGP-Madrid-v0:start", "fixed"), "there is no environment"),
        (("play", "CartPole-v1", "fixed"), "CartPole-v1 is not an environment of this suite"),
    ],
)
def test_data_reports_mistakes_in_one_sentence(
    data_folder: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "page.zip").write_text("<html>")
    (tmp_path / "cut.csv").write_bytes(csv(csv_line()[:50]))
    (tmp_path / "two.csv").write_text("t,a,b\n0,1,2\n1,2,1\n2,1,2\n")
    arguments = tuple(argument.replace("{here}", tmp_path.name) for argument in arguments)
    result = call(*arguments, cwd=tmp_path)
    assert result.returncode == 1
    assert message.replace("{here}", tmp_path.name) in result.stderr
    lines = [line for line in result.stderr.splitlines() if not line.startswith("Note: ")]
    assert len(lines) == 1
    assert not data_folder.exists() or not list(data_folder.glob("*.npz"))


def test_data_check_prints_season_and_worth(tmp_path: Path) -> None:
    picture = tmp_path / "check.png"
    file = tmp_path / "my data, v2=final.csv"
    file.write_bytes(EXAMPLE.read_bytes())
    arguments = ("data", "check", str(file), "--picture", str(picture), "--objective", "max")
    result = call(*arguments)
    assert result.returncode == 0, result.stderr
    assert "A wide table: time in 'time', and a column for each arm." in result.stdout
    assert "The season is 168 steps (7 days)" in result.stdout
    assert "Knowing the phase yields 94% of the possible gain" in result.stdout
    assert picture.stat().st_size > 10_000
    least = call("data", "check", str(file), "--objective", "min", "--arms", "Stadium")
    assert least.returncode == 1  # one arm is not a choice
    least = call("data", "check", str(file), "--objective", "min").stdout
    assert "the mean cost per step" in least
    assert "--objective min" in least.partition("To choose an agent:")[2]


def test_data_list_shows_years_beside_a_damaged_one(data_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(csv(csv_line(), csv_line(date=(2017, 3, 1))))
    assert call("data", "import", str(tmp_path / "a.csv")).returncode == 0
    (data_folder / "madrid-2017.npz").write_bytes(b"junk")
    result = call("data", "list")
    assert "Madrid 2018:" in result.stdout
    assert "2017 in" in result.stderr
    assert result.returncode == 1
    assert zipfile.is_zipfile(data_folder / "madrid-2018.npz")


def test_data_check_names_options_not_arguments(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "time,a,b\n2026-01-01 00:00,1,x y\n2026-01-01 01:00,2,3\n2026-01-01 02:00,2,3\n"
    )
    said = " ".join(call("data", "check", "t.csv", cwd=tmp_path).stderr.split())
    assert "give --na-values 'x y' if the value is missing" in said
