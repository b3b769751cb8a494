"""Progress of long work: in a log, on a terminal, and none for machines."""

import pytest

from evaluation.cli import shared
from evaluation.cli.shared import Reporter, screen, working
from evaluation.runner import Progress


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
    assert "13 failed, an agent" in shown
    assert "…" not in shown


def test_reporter_prints_lines_in_a_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Reporter(quiet=False, title="long") as report:
        report(Progress(3, 0, 0))
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(shared, "SECONDS_BETWEEN_LINES", 0.0)
        report(Progress(3, 2, 1))
        assert capsys.readouterr().err == "long: 2 of 3 runs, 1 failed\n"
        report(Progress(3, 3, 1))
    assert capsys.readouterr().err.endswith("long: 3 of 3 runs, 1 failed\n")


def test_progress_is_silent_when_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with Reporter(quiet=True) as report, working("Building", quiet=True):
        report(Progress(2, 2, 0))
    assert capsys.readouterr() == ("", "")


def test_working_shows_a_clock_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {"force_terminal": True, "color_system": None}
    monkeypatch.setattr(shared, "screen", lambda **more: screen(**plain, **more))
    with pytest.raises(ValueError, match="broken"), working("Building [page]"):
        raise ValueError("broken")
    shown = capsys.readouterr().err
    assert "Building [page]" in shown
    assert "0:00:00" in shown


def test_control_characters_are_printed_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    shared.say("agent \x1b[31mred [bold]:smile:\u202e")
    assert capsys.readouterr().out == "agent \\x1b[31mred [bold]:smile:\\u202e\n"
