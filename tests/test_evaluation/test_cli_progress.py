"""Progress of long work in a log and on a screen."""

import sys
import types

import pytest

import evaluation
from evaluation import console
from evaluation.console import Reporter, say
from evaluation.runner import Progress


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "on_screen", lambda: True)
    monkeypatch.setattr(console, "SECONDS_BETWEEN", {True: 0.0})


@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize("width", [40, 80, 200])
def test_reporter_draws_over_one_line_of_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    with Reporter("an agent") as report:
        report(Progress(1_200, 600, 13))
        report(Progress(1_200, 1_199, 13))
    drawn, last = capsys.readouterr().err.rsplit("\r", 1)
    assert "an agent: 1,199 of 1,200 runs, 13 fail" in drawn
    lines = drawn.strip("\r").split("\r\r")
    assert {len(line) for line in lines} == {width - 1}
    assert lines[-1].isspace()
    assert last.startswith("an agent: 1,199 of 1,200 runs, 13 failed, about")


def test_reporter_prints_lines_in_a_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Reporter("long") as report:
        report(Progress(3, 0, 0))
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(console, "SECONDS_BETWEEN", {False: 0.0})
        report(Progress(3, 2, 1))
        assert capsys.readouterr().err.startswith("long: 2 of 3 runs, 1 failed")
        report(Progress(3, 3, 1))
    assert capsys.readouterr().err.endswith("long: 3 of 3 runs, 1 failed\n")


def test_reporter_is_silent_when_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with Reporter("Building", quiet=True) as report:
        report(Progress(2, 2, 0))
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("screen")
def test_reporter_is_removed_after_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="broken"), Reporter("Building [page]"):
        raise ValueError("broken")
    first, last = capsys.readouterr().err.strip("\r").split("\r\r")
    assert first.startswith("Building [page] ...")
    assert last.isspace()


@pytest.mark.parametrize("notebook", [True, False])
def test_run_reports_progress_in_a_notebook_only(
    notebook: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = types.SimpleNamespace(kernel=1) if notebook else None
    module = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", module)  # type: ignore[arg-type]
    monkeypatch.setattr(console, "SECONDS_BETWEEN", {True: 0.0})
    worlds = ["PeriodicGP-SyntheticDiscrete-v0:horizon=3"]
    evaluation.run("smoke", agents=["random"], envs=worlds, seeds="0:2", workers=0)
    progress = capsys.readouterr().err
    assert ("0 of 4 runs" in progress) is notebook
    assert progress.endswith("4 of 4 runs\n") is notebook


def test_control_characters_are_printed_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    say("agent \x1b[31mred [bold]:smile:\u202e")
    assert capsys.readouterr().out == "agent \\x1b[31mred [bold]:smile:\\u202e\n"
