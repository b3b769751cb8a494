"""Progress of long work: in a log, on a terminal, and none for machines."""

import sys

import pytest

from evaluation.cli import shared
from evaluation.cli.shared import Reporter, working
from evaluation.runner import Progress


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(shared, "SECONDS_BETWEEN", {True: 0.0, False: 0.0})


@pytest.mark.parametrize("width", [40, 80, 200])
def test_reporter_draws_over_one_line_of_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    on_a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", str(width))
    with Reporter(quiet=False, title="an agent") as report:
        report(Progress(1_200, 600, 13))
        report(Progress(1_200, 1_199, 13))
    shown = capsys.readouterr().err
    assert "\n" not in shown
    assert "an agent: 1,199 of 1,200 runs, 13 fail" in shown
    lines = shown.strip("\r").split("\r\r")
    assert {len(line) for line in lines} == {width - 1}
    assert lines[-1].isspace()


def test_reporter_prints_lines_in_a_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Reporter(quiet=False, title="long") as report:
        report(Progress(3, 0, 0))
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(shared, "SECONDS_BETWEEN", {False: 0.0})
        report(Progress(3, 2, 1))
        assert capsys.readouterr().err.startswith("long: 2 of 3 runs, 1 failed")
        report(Progress(3, 3, 1))
    assert capsys.readouterr().err.endswith("long: 3 of 3 runs, 1 failed\n")


def test_progress_is_silent_when_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with Reporter(quiet=True) as report, working("Building", quiet=True):
        report(Progress(2, 2, 0))
    assert capsys.readouterr() == ("", "")


def test_working_is_removed_after_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch)
    with pytest.raises(ValueError, match="broken"), working("Building [page]"):
        raise ValueError("broken")
    first, last = capsys.readouterr().err.strip("\r").split("\r\r")
    assert first.startswith("Building [page] ...")
    assert last.isspace()


def test_control_characters_are_printed_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    shared.say("agent \x1b[31mred [bold]:smile:\u202e")
    assert capsys.readouterr().out == "agent \\x1b[31mred [bold]:smile:\\u202e\n"
