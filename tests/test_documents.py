"""Code of examples and documents runs, and citations exist."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

import evaluation
from agents.testing import AgentContract

ROOT = Path(__file__).parent.parent
PACKAGES = ("periodic_envs", "agents", "evaluation", "periodic_decisions")


def code_blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def test_quick_start_beats_a_fixed_choice() -> None:
    path = ROOT / "examples" / "quick_start.py"
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    regret = int(re.findall(r"regret after two weeks: (\d+)", result.stdout)[0])
    assert 0 < regret < 4200  # the best fixed zone costs 4212 in this city


def test_custom_agent_keeps_the_contract() -> None:
    contract = type("Contract", (AgentContract,), {"problems": ("finite", "arms", "warm", "box")})()
    module = runpy.run_path(str(ROOT / "examples" / "custom_agent.py"))
    contract.make = module["EpsilonGreedy"]
    for name in dir(contract):
        if name.startswith("test_") and "saved" not in name:
            getattr(contract, name)()


def test_ask_tell_example_learns() -> None:
    path = ROOT / "examples" / "ask_tell.py"
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    first, last, same = (float(n) for n in re.findall(r"\d+\.\d", result.stdout))
    assert last > first > same


def test_demo_shows_the_gain_of_the_season(tmp_path: Path) -> None:
    """The sweep of `make demo` on one seed."""
    results = evaluation.run("demo", seeds="0:1", store=tmp_path / "demo.sqlite")
    assert not results.failures
    regret = results.totals.set_index(["env", "agent"])["regret"]
    ours, theirs = "periodic-gp-ucb:time_length_scale=1", "gp-ucb"
    for world in ("Synthetic", "SyntheticDiscrete", "RideShare"):
        assert regret[f"PeriodicGP-{world}-v0", ours] < regret[f"PeriodicGP-{world}-v0", theirs]


@pytest.mark.parametrize("block", code_blocks("README.md"))
def test_readme_code_runs(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})


def test_world_recipe_works_outside_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = [block for block in code_blocks("CONTRIBUTING.md") if "register_world" in block]
    (tmp_path / "own_world.py").write_text(re.sub(r'"PeriodicGP-\w+-v0"', '"Own-v0"', source))
    monkeypatch.syspath_prepend(tmp_path)
    try:
        env = gym.make("own_world:Own-v0").unwrapped
        check_env(env)
        assert env.public.periods == (12.4,)
    finally:
        gym.registry.pop("Own-v0", None)


def test_citations_are_in_the_bibliography() -> None:
    keys = set(re.findall(r"@\w+\{([^,]+),", (ROOT / "references.bib").read_text()))
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    cited = {key for path in files for key in re.findall(r"\[@(\w+)\]", path.read_text())}
    cited |= set(re.findall(r"@(\w+\d{4}\w*)", (ROOT / "paper.md").read_text()))
    assert cited
    assert cited <= keys
