"""What takes a while says so, in a log and on a terminal, and never for machines."""

import time

import pytest

from evaluation.cli import shared, waiting
from evaluation.cli.shared import Reporter, screen
from evaluation.runner import Progress


def test_a_log_has_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "SECONDS_BETWEEN_LINES", 0.02)
    with waiting.working("Building [page]") as doing:
        time.sleep(0.15)
        doing("Writing it")
        time.sleep(0.15)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Building [page] ... 0 s"
    assert lines[-1].startswith("Writing it ... ")
    assert 2 < len(lines) < 16


def test_what_is_quick_or_quiet_says_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with waiting.working("Building"):
        pass
    monkeypatch.setattr(waiting, "SECONDS_BETWEEN_LINES", 0.01)
    with waiting.working("Building", quiet=True):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_has_a_clock(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "screen", lambda **more: screen(force_terminal=True, **more))
    with waiting.working("Building"):
        time.sleep(0.7)
    assert "Building ... 1 s" in capsys.readouterr().err


def test_an_error_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="broken"), waiting.working("Building"):
        raise ValueError("broken")


@pytest.mark.parametrize("width", [80, 200])
def test_a_bar_fits_the_terminal(
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


def test_a_long_run_is_not_silent_in_a_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "SECONDS_BETWEEN_COUNTS", (0.05, 0.05))
    with Reporter(quiet=False, title="long") as report:
        report(Progress(2, 0, 0))
        time.sleep(0.5)  # a training, say
        going_on = capsys.readouterr().err.splitlines()
        report(Progress(2, 2, 1))
    assert len(going_on) >= 3
    assert going_on[-1].startswith("long: 0 of 2 runs, 0.0/s")
    assert going_on[-1].endswith("s so far")
    said = capsys.readouterr().err.splitlines()
    assert said[-1].startswith("long: 2 of 2 runs")
    assert said[-1].endswith("1 failed")


def test_who_is_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Reporter(quiet=True) as report:
        report(Progress(2, 0, 0))
        report(Progress(2, 2, 0))
    assert capsys.readouterr().err == ""
