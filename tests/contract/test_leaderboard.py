"""A submission and a cheat through all tiers, from the command line."""

import re
import shutil
from functools import partial
from pathlib import Path

from tests.console import output_of
from tests.platforms import needs_sandbox

ROOT = Path(__file__).parents[2]
TINY = """
envs = ["PeriodicGP-SyntheticDiscrete-v0"]
agents = ["random"]
seeds = "0:5"
horizon = 10
"""
OPTIONS = ("--protocol", "tiny.toml", "--workers", "2")
pytestmark = needs_sandbox


def test_leaderboard_accepts_an_agent_and_refuses_a_cheat(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    honest, cheat = "honest.py:EpsilonGreedy", "cheat.py:Memoriser"
    shutil.copy(ROOT / "examples" / "custom_agent.py", tmp_path / "honest.py")
    shutil.copy(ROOT / "examples" / "memorising_agent.py", tmp_path / "cheat.py")

    gp = partial(output_of, cwd=tmp_path)
    for agent, out in ((honest, "one"), (cheat, "two")):
        gp("submit", agent, *OPTIONS, "--out", out)
    verified = gp("verify", "one", *OPTIONS, "--rerun", "12", "--agent", honest)
    assert verified.count(" passed: ") == 3
    gp("leaderboard", "open", "leaderboard/e1", "--protocol", "tiny.toml")
    for bundle, agent, verdict in (("one", honest, "passed"), ("two", cheat, "REFUSED")):
        gp("leaderboard", "add", bundle)
        output = gp("leaderboard", "judge", "--agent", agent, "--workers", "2")
        assert f"hidden-seed {verdict}" in output
        head = output.split()[-1]
    output = gp("leaderboard", "check", "--head", head, "--rerun", "1", "--workers", "2")
    assert re.findall(r" (\d+)\b", output) == ["7", "2", "8"]  # events, submissions, runs
    gp("leaderboard", "build", "--out", "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "hidden-seed" in text
    assert "Refused: Memoriser" in text
