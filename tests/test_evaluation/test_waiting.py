"""Progress of long work, in a log and on a terminal, and none for machines."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from evaluation.cli import shared, waiting
from evaluation.cli.shared import Reporter, screen
from evaluation.runner import Progress


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "SECONDS_BETWEEN_LINES", 0.02)


@pytest.mark.usefixtures("quick")
def test_working_prints_lines_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting.working("Building [page]") as doing:
        time.sleep(0.15)
        doing("Writing it")
        time.sleep(0.15)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Building [page] ... 0 s"
    assert lines[-1].startswith("Writing it ... ")
    assert 2 < len(lines) < 16


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "work", [lambda: waiting.working("Building", quiet=True), lambda: Reporter(quiet=True)]
)
def test_progress_is_silent_when_quiet(
    capsys: pytest.CaptureFixture[str], work: Callable[[], AbstractContextManager[Any]]
) -> None:
    with work():
        time.sleep(0.1)
    assert capsys.readouterr() == ("", "")


def test_working_shows_a_clock_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {"force_terminal": True, "color_system": None}
    monkeypatch.setattr(waiting, "screen", lambda **more: screen(**plain, **more))
    with waiting.working("Building"):
        time.sleep(1.2)
    assert "Building 0:00:01" in capsys.readouterr().err


def test_working_ends_with_an_error() -> None:
    with pytest.raises(ValueError, match="broken"), waiting.working("Building"):
        raise ValueError("broken")


@pytest.mark.parametrize("width", [80, 200])
def test_reporter_fits_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    wide = {"force_terminal": True, "width": width, "color_system": None}
    monkeypatch.setattr(shared, "screen", lambda **more: screen(**wide, **more))
    with Reporter(quiet=False, title="an agent with a long name of its own") as report:
        report(Progress(1_200, 600, 13))
        report(Progress(1_200, 1_199, 13))
    shown = capsys.readouterr().err
    assert "1199/1200" in shown
    assert "/s, 13 failed" in shown
    assert "…" not in shown


@pytest.mark.usefixtures("quick")
def test_reporter_prints_lines_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with Reporter(quiet=False, title="long") as report:
        report(Progress(2, 0, 0))
        time.sleep(0.3)  # a training, say
        lines = capsys.readouterr().err.splitlines()
        report(Progress(2, 2, 1))
    assert len(lines) >= 3
    assert lines[-1].startswith("long: 0 of 2 runs, 0.0/s")
    assert lines[-1].endswith("s so far")
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("long: 2 of 2 runs")
    assert last.endswith("1 failed")


def test_control_characters_are_printed_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    shared.say("agent \x1b[31mred [bold]:smile:\u202e")
    assert capsys.readouterr().out == "agent \\x1b[31mred [bold]:smile:\\u202e\n"
