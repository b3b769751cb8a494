"""Examples, recipes and references are true."""

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
PACKAGES = ("periodic_envs", "agents", "evaluation")


def code_blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def test_quick_start() -> None:
    path = ROOT / "examples" / "quick_start.py"
    assert len([line for line in path.read_text().splitlines() if line.strip()]) <= 24
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


def test_ask_tell() -> None:
    path = ROOT / "examples" / "ask_tell.py"
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    first, last, same = (float(n) for n in re.findall(r"\d+\.\d", result.stdout))
    assert last > first > same


def test_demo(tmp_path: Path) -> None:
    """What `make demo` runs, on one seed: knowing the season pays where there is one."""
    results = evaluation.run("demo", seeds="0:1", store=tmp_path / "demo.sqlite")
    assert not results.failures
    regret = results.totals.set_index(["env", "agent"])["regret"]
    ours, theirs = "periodic-gp-ucb:time_length_scale=1", "gp-ucb"
    for world in ("Synthetic", "SyntheticDiscrete", "RideShare"):
        assert regret[f"PeriodicGP-{world}-v0", ours] < regret[f"PeriodicGP-{world}-v0", theirs]
    assert set(results.tasks) > {"PeriodicGP-Madrid-v0"}


def test_no_placeholder_is_left() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        assert not re.search(r"^[A-Z]{4,}$", (ROOT / name).read_text(), re.MULTILINE), name


@pytest.mark.parametrize("block", code_blocks("README.md"))
def test_readme_code_runs(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})


def test_a_world_may_stand_in_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recipe for a world under another id, outside the package."""
    (source,) = [block for block in code_blocks("CONTRIBUTING.md") if "register_world" in block]
    (tmp_path / "own_world.py").write_text(re.sub(r'"PeriodicGP-\w+-v0"', '"Own-v0"', source))
    monkeypatch.syspath_prepend(tmp_path)
    try:
        env = gym.make("own_world:Own-v0").unwrapped
        check_env(env)
        assert env.public.periods == (12.4,)
    finally:
        gym.registry.pop("Own-v0", None)


def test_pages_say_that_madrid_is_simulated() -> None:
    made = ("docs/reference/*/*", "docs/reference/kernels.md", "docs/project/*", "docs/results/*")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "studies").glob("*.md")]
    pages = [page for page in pages if not any(page.match(pattern) for pattern in made)]
    texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages}
    shown = {name: re.sub("<!--.*?-->", "", text, flags=re.DOTALL) for name, text in texts.items()}
    of_it = [name for name, text in shown.items() if "MadridSim" in text]
    assert len(of_it) > 5
    assert [name for name in of_it if "simulated" not in shown[name]] == []


def test_citations_are_in_the_bibliography() -> None:
    keys = set(re.findall(r"@\w+\{([^,]+),", (ROOT / "references.bib").read_text()))
    files = [p for package in PACKAGES for p in (ROOT / package).rglob("*.py")]
    cited = {key for p in files for key in re.findall(r"\[@(\w+)\]", p.read_text())}
    assert cited <= keys
    assert cited
