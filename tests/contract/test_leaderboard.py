"""The leaderboard from the command line: submit, verify, an edition of two batches, a cheat."""

import shutil
from pathlib import Path

import pytest

from evaluation import sandbox
from tests.test_evaluation.test_cli import call

ROOT = Path(__file__).parents[2]
TINY = """
envs = ["PeriodicGP-SyntheticDiscrete-v0"]
agents = ["random"]
seeds = "0:5"
horizon = 10
"""
OPTIONS = ("--protocol", "tiny.toml", "--workers", "2")
pytestmark = pytest.mark.skipif(not sandbox.available(), reason="no sandbox")


def test_edition_is_filled_checked_and_filled_again(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    honest, cheat = "honest.py:EpsilonGreedy", "cheat.py:Memoriser"
    shutil.copy(ROOT / "examples" / "custom_agent.py", tmp_path / "honest.py")
    shutil.copy(ROOT / "examples" / "memorising_agent.py", tmp_path / "cheat.py")

    def gp(*words: str, code: int = 0) -> str:
        done = call(*words, cwd=tmp_path)
        assert done.returncode == code, done.stderr + done.stdout
        return done.stdout

    for agent, out in ((honest, "one"), (cheat, "two")):
        gp("submit", agent, *OPTIONS, "--out", out)
    assert gp("verify", "one", "--protocol", "tiny.toml").count("passed:") == 2
    said = gp("verify", "two", *OPTIONS, "--through", "re-run", "--agent", cheat)
    assert said.count("passed:") == 3

    gp("leaderboard", "open", "e1", "--protocol", "tiny.toml")
    for bundle, agent, verdict in (("one", honest, "passed"), ("two", cheat, "REFUSED")):
        assert ": added " in gp("leaderboard", "add", bundle)
        said = gp("leaderboard", "judge", "--agent", agent, "--workers", "2")
        assert f"hidden-seed {verdict}" in said
        head = said.split()[-1]
    assert "it knows the public seeds" in said
    said = gp("leaderboard", "check", "--head", head, "--rerun", "1", "--workers", "2")
    assert "7 lines, 2 submissions: all agree" in said
    assert "Run again: 8 runs" in said
    gp("leaderboard", "build", "--out", "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "hidden-seed" in text
    assert "Refused: Memoriser" in text
