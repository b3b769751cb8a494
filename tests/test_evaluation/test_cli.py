"""The command line, mostly run within this process."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from matplotlib.image import imread
from PIL import Image

import periodic_envs
from agents import AgentSpec, names
from evaluation.cli.commands import load
from evaluation.console import say_prose
from evaluation.play import play
from periodic_decisions.cli import COMMANDS
from tests.console import error_of, output_of, run

FAULTY = Path(__file__).parent / "faulty_agents.py"
SLOW = {
    *("scipy.stats", "scipy.optimize", "scipy.signal", "pandas", "pyarrow", "matplotlib"),
    *("plotly", "dask", "distributed", "torch", "sklearn"),
}
"""Modules that take more than a fifth of a second to import."""
COMMAND = "import sys; sys.argv[1:] = [{!r}]; from periodic_decisions.cli import main; main()"


@pytest.mark.parametrize(
    ("code", "also_slow"),
    [
        ("import periodic_envs", {"scipy"}),
        ("import agents", {"scipy"}),
        ("import evaluation", {"scipy"}),
        ("import evaluation.workers", set()),
        (
            "import gymnasium as gym, periodic_envs\n"
            "gym.make('PeriodicGP-SyntheticDiscrete-v0').reset(seed=0)",
            set(),
        ),
        (COMMAND.format("--version"), {"scipy"}),
        (COMMAND.format("--help"), {"scipy"}),
        (COMMAND.format("protocols"), {"scipy"}),
        (COMMAND.format("agents"), set()),  # imports the agents to describe them
        (COMMAND.format("envs"), {"scipy"}),
    ],
)
def test_imports_are_lazy(code: str, also_slow: set[str]) -> None:
    listed = f"import atexit, sys\natexit.register(lambda: print('MODULES', *sys.modules))\n{code}"
    done = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    modules = set(done.stdout.rpartition("MODULES ")[2].split())
    assert "numpy" in modules
    assert modules & (SLOW | also_slow) == set()


def test_commands_have_help() -> None:
    listed = output_of("--help")
    for name, (place, summary) in COMMANDS.items():
        assert f" {name} " in listed
        assert summary
        assert load(place, name).help


def test_version_is_that_of_the_package() -> None:
    assert output_of("--version") == f"periodic-gp {version('periodic-gp')}\n"


def test_agents_lists_every_name() -> None:
    listed = [line.split()[0] for line in output_of("agents").splitlines()]
    assert listed == list(names())


def test_envs_lists_every_id_with_its_facts() -> None:
    rows = [line.split() for line in run("envs").stdout.splitlines() if line[0] == "P"]
    assert [row[0] for row in rows] == periodic_envs.ids()
    assert ["PeriodicGP-RideShare-v0", "Discrete(12)", "24", "336"] in rows


def test_envs_draws_a_world(tmp_path: Path) -> None:
    output_of("envs", "PeriodicGP-RideShare-v0", "--picture", "w.png", "--seed", "2", cwd=tmp_path)
    assert imread(tmp_path / "w.png").shape[:2] == (600, 900)


def test_play_draws_an_animation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.pictures.MAX_FRAMES", 10)
    world = "PeriodicGP-RideShare-v0:horizon=20"
    output_of("play", world, "random", "--picture", "run.gif", cwd=tmp_path)
    with Image.open(tmp_path / "run.gif") as image:
        assert image.n_frames == 10  # every second step
        first = np.asarray(image.convert("RGB"))
        image.seek(9)
        assert (np.asarray(image.convert("RGB")) != first).any()
    assert (tmp_path / "run.gif").stat().st_size < 10**6


@pytest.mark.parametrize(
    ("world", "agent"),
    [("Synthetic", "periodic-gp-ucb:time_length_scale=1"), ("RideShare", "gp-ucb")],
)
def test_play_runs_and_draws(tmp_path: Path, world: str, agent: str) -> None:
    env = f"PeriodicGP-{world}-v0"
    output = output_of("play", env, agent, "--seed", "3", "--picture", "run.png", cwd=tmp_path)
    numbers = re.findall(r"(regret|total reward|\w+-\w+|oracle) +(-?[\d.,]+)", output)
    totals = {name: float(total.replace(",", "")) for name, total in numbers}
    run = play(gym.make(env), AgentSpec.parse(agent), 3)
    sums = {"regret": run.regret.sum(), "total reward": run.reward.sum()}
    assert {name: totals[name] for name in sums} == pytest.approx(sums, abs=0.01)
    assert totals["uniform-random"] < totals["best-fixed"] < totals["oracle"]
    assert imread(tmp_path / "run.png").shape[:2] == (600, 900)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["play", "PeriodicGP-Synthetic-v0", "gp-ubc"], "unknown-agent"),
        (["play", "PeriodicGP-Synthetic-v0", "gp-ucb:beta=x"], "failed-run"),
        (["play", "PeriodicGP-HiddenPeriod-v0", "phase-ucb"], "failed-run"),
        (["play", "PeriodicGP-Synthetic-v0", "no.py:A"], "file-not-found"),
        (["play", "PeriodicGP-Synthetic-v0", "periodic-gp-ucb:period=auto:-1:5"], "failed-run"),
        (["play", "PeriodicGP-RideShare-v0", f"{FAULTY}:ReturnsNaN"], "failed-run"),
        (["play", "PeriodicGP-RideShare-v0", "td3"], "unsupported-environment"),
        (["play", "No-v0", "gp-ucb"], "unknown-environment"),
        (["play", "PeriodicGP-Synthetic-v0", "random", "--picture", "no/x.png"], "cannot-write"),
        (["agents", "agents:__doc__"], "not-an-agent"),
        (["envs", "PeriodicGP-RideShre-v0"], "unknown-environment"),
        (["envs", "CartPole-v1"], "foreign-environment"),
        (["envs", "--picture", "x.png"], "missing-argument"),
        (["envs", "PeriodicGP-RideShare-v0", "--picture", "x.xyz"], "unknown-file-type"),
        (["envs", "PeriodicGP-RideShare-v0", "--picture", "no/x.png"], "cannot-write"),
    ],
)
def test_commands_report_bad_input(arguments: list[str], code: str, tmp_path: Path) -> None:
    assert error_of(*arguments, cwd=tmp_path) == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", ["class Agent: ...", "1 / 0"])
def test_commands_report_a_foreign_agents_package(tmp_path: Path, source: str) -> None:
    package = tmp_path / "other" / "agents"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(source)
    command = run("envs", cwd=tmp_path, PYTHONPATH=str(package.parent))
    assert command.returncode == 1
    assert command.stderr.splitlines()[-1].startswith("ImportError: periodic-gp requires")


def test_prose_is_wrapped_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    say_prose("one two three four\nfive /a/path/without-a-space/at-all six")
    assert capsys.readouterr().out == (
        "one two three four\nfive\n/a/path/without-a-space/at-all\nsix\n"
    )
