"""The command line, mostly run within this process."""

import contextlib
import io
import os
import re
import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image

import periodic_envs
from agents import AgentSpec, names
from evaluation.cli.commands import load
from evaluation.console import say_prose
from evaluation.play import play
from periodic_decisions.cli import COMMANDS, main

FAULTY = Path(__file__).parent / "faulty_agents.py"
WIDE = {"COLUMNS": "200", "NO_COLOR": "1"}


Result = subprocess.CompletedProcess


def run(*arguments: str, cwd: Path | None = None, **environment: str) -> Result:
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "periodic_decisions", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **WIDE, **environment},
        check=False,
    )


def call(*arguments: str, cwd: Path | None = None) -> Result:
    """Run a command within this process, which is two seconds faster."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(sys, "argv", ["periodic-gp", *arguments])
        patch.setattr(warnings, "showwarning", warnings.showwarning)
        for name, value in WIDE.items():
            patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        warnings.simplefilter("default")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def error_of(*arguments: str, cwd: Path) -> str:
    """Run a command that fails; return its error, which has one line."""
    result = call(*arguments, cwd=cwd)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1), result.stderr
    assert "Traceback" not in result.stderr + result.stdout
    return str(result.stderr)


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


def test_help_names_every_command() -> None:
    words = " ".join(call("--help").stdout.replace("│", " ").split())
    for name, (place, summary) in COMMANDS.items():
        assert f"{name} {summary}" in words
        assert load(place, name).help


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["--version"], {f"periodic-gp {version('periodic-gp')}"}),
        (["envs", "PeriodicGP-RideShare-v0"], {"## Rewards"}),
        (["agents"], {*(f"{name} " for name in names()), "knows the season"}),
        (["agents", "phase-ts"], {"  period = None", "  scale = None", "  box_arms = 20"}),
        (["agents", "ppo"], {"other argument of stable_baselines3.PPO is also a setting"}),
    ],
)
def test_commands_describe(arguments: list[str], lines: set[str]) -> None:
    output = call(*arguments).stdout
    assert [line for line in lines if line not in output] == []


def test_envs_lists_every_id_with_its_facts() -> None:
    result = run("envs")
    assert result.returncode == 0, result.stderr
    assert all(env_id in result.stdout for env_id in periodic_envs.ids())
    facts, line = result.stdout.partition("PeriodicGP-RideShare-v0")[2].splitlines()[:2]
    assert facts.split() == ["Discrete(12)", "24", "336"]
    assert "Ride requests" in line


def test_envs_draws_one(tmp_path: Path) -> None:
    picture = tmp_path / "out.png"
    result = call("envs", "PeriodicGP-RideShare-v0", "--picture", str(picture), "--seed", "2")
    assert result.returncode == 0, result.stderr
    with Image.open(picture) as image:
        assert image.size == (900, 600)


def test_play_draws_an_animation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.pictures.MAX_FRAMES", 10)
    picture = tmp_path / "run.gif"
    world = "PeriodicGP-RideShare-v0:horizon=20"
    result = call("play", world, "random", "--picture", str(picture))
    assert result.returncode == 0, result.stderr
    with Image.open(picture) as image:
        assert image.n_frames == 10  # every second step
        first = np.asarray(image.convert("RGB"))
        image.seek(9)
        assert (np.asarray(image.convert("RGB")) != first).any()
    assert picture.stat().st_size < 10**6


@pytest.mark.parametrize(
    ("world", "agent"),
    [("Synthetic", "periodic-gp-ucb:time_length_scale=1"), ("RideShare", "gp-ucb")],
)
def test_play_runs_and_draws(tmp_path: Path, world: str, agent: str) -> None:
    picture = tmp_path / "run.png"
    arguments = ["play", f"PeriodicGP-{world}-v0", agent, "--seed", "3"]
    result = call(*arguments, "--picture", str(picture))
    assert result.returncode == 0, result.stderr
    regret = float(re.findall(r"regret ([\d,.]+) over", result.stdout)[0].replace(",", ""))
    again = play(gym.make(f"PeriodicGP-{world}-v0"), AgentSpec.parse(agent), 3)
    assert regret == pytest.approx(again.regret.sum(), abs=0.01)
    printed = dict(re.findall(r"^  (\w.*?)  +(-?[\d,.]+)  ", result.stdout, re.M))
    totals = {name: float(total.replace(",", "")) for name, total in printed.items()}
    assert totals["total reward"] == pytest.approx(again.reward.sum(), abs=0.01)
    fixed, chance = totals["best-fixed"], totals["uniform-random"]
    assert chance < fixed < totals["oracle"]
    with Image.open(picture) as image:
        assert image.size == (900, 600)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["play", "PeriodicGP-Synthetic-v0", "gp-ubc"], "did you mean gp-ucb"),
        (["play", "PeriodicGP-Synthetic-v0", "gp-ucb:beta=x"], "cannot use beta = 'x'"),
        (["play", "PeriodicGP-HiddenPeriod-v0", "phase-ucb"], "needs a period"),
        (["play", "PeriodicGP-Synthetic-v0", "no.py:A"], "file 'no.py' does not exist"),
        (
            ["play", "PeriodicGP-Synthetic-v0", "periodic-gp-ucb:period=auto:-1:5"],
            "got 'auto:-1:5'",
        ),
        (
            ["play", "PeriodicGP-RideShare-v0", f"{FAULTY}:ReturnsNaN"],
            "faulty_agents.py:ReturnsNaN: InvalidAction: action must be a whole number in [0, 11]",
        ),
        (["play", "No-v0", "gp-ucb"], "there is no environment 'No-v0'"),
        (
            ["play", "PeriodicGP-Synthetic-v0", "random", "--picture", "no/x.png"],
            "cannot write 'no/x.png'",
        ),
        (["agents", "agents:__doc__"], "agents:__doc__ must be a class or a function"),
        (["envs", "PeriodicGP-RideShre-v0"], "did you mean 'PeriodicGP-RideShare-v0'"),
        (["envs", "CartPole-v1"], "CartPole-v1 is not an environment of this suite"),
        (["envs", "--picture", "x.png"], "--picture needs an id"),
        (["envs", "PeriodicGP-RideShare-v0", "--picture", "x.xyz"], "must end in .jpg, .pdf"),
        (["envs", "PeriodicGP-RideShare-v0", "--picture", "no/x.png"], "cannot write 'no/x.png'"),
    ],
)
def test_commands_report_bad_input(arguments: list[str], message: str, tmp_path: Path) -> None:
    assert message in error_of(*arguments, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_commands_exit_with_2_on_usage_errors() -> None:
    assert call("envs", "--seed", "minus-one").returncode == 2
    assert run("no-such-command").returncode == 2


@pytest.mark.parametrize(
    ("source", "reason"),
    [("class Agent: ...", "it is another package"), ("1 / 0", "importing it failed")],
)
def test_commands_report_a_foreign_agents_package(tmp_path: Path, source: str, reason: str) -> None:
    package = tmp_path / "other" / "agents"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(source)
    command = run("envs", cwd=tmp_path, PYTHONPATH=str(package.parent))
    assert command.returncode == 1
    assert "ImportError: periodic-gp needs its own package 'agents'" in command.stderr
    assert reason in command.stderr


def test_prose_is_wrapped_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    say_prose("one two three four\nfive /a/path/without-a-space/at-all six")
    assert capsys.readouterr().out == (
        "one two three four\nfive\n/a/path/without-a-space/at-all\nsix\n"
    )
