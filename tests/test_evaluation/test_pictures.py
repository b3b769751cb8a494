"""Pictures of runs can be read, however many arms there are and whatever they are called."""

from itertools import pairwise

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg

from agents.registry import AgentSpec
from evaluation.pictures import run_figure
from evaluation.play import play
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.figures import world_figure
from periodic_envs.labels import thinned, wrapped

TITLE = "periodic-gp-ucb:time_length_scale=1 in PeriodicGP-Replay-v0:" + ",".join(
    f"setting_{i}=some_value" for i in range(12)
)


def world(arms: int, steps: int) -> PeriodicBanditEnv:
    values = np.cos(2 * np.pi * (np.arange(steps)[:, None] / 24 + np.arange(arms) / arms))
    names = [f"\N{SLICE OF PIZZA} $arm_{{ {i}" for i in range(arms)]
    frame = pd.DataFrame(values, columns=names)
    frame.insert(0, "time", range(steps))
    env = gym.make("PeriodicGP-Replay-v0", data=frame, period=24).unwrapped
    assert isinstance(env, PeriodicBanditEnv)
    return env


@pytest.mark.parametrize(("arms", "steps"), [(4, 48), (300, 260)])
def test_run(arms: int, steps: int) -> None:
    """A font without pizza makes no warning (warnings are errors here)."""
    env = world(arms, steps)
    figure = run_figure(TITLE, env, play(env, AgentSpec.parse("periodic-gp-ucb"), 0))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    assert figure._suptitle.get_window_extent().x1 < figure.bbox.x1
    assert figure._suptitle.get_text().replace("\n", "").startswith(TITLE)
    landscape, belief = figure.axes[:2]
    part = "last 240 of 260 steps" if steps > 240 else ""
    assert landscape.get_title(loc="left") == part
    for labels in (landscape.get_yticklabels(), belief.get_xticklabels()):
        assert labels[1].get_text().startswith("□ $arm_{ ")
        assert min(arms, 20) <= len(labels) <= 40
    boxes = [label.get_window_extent() for label in landscape.get_yticklabels()]
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))
    drawn = belief.get_legend_handles_labels()[1]
    assert {"truth", "rewards at this phase"} < set(drawn)
    assert len(belief.containers) == (1 if arms == 4 else 0)  # error bars for a few arms only


def test_world_of_which_only_the_beginning_is_drawn() -> None:
    env = world(3, 260)
    env.reset(seed=0)
    assert env.episode is not None
    figure = world_figure(TITLE, env.setup, env.episode)
    assert figure.axes[0].get_title(loc="left") == "first 240 of 260 steps"
    FigureCanvasAgg(figure).draw()
    assert figure._suptitle.get_window_extent().x1 < figure.bbox.x1


def test_titles_are_wrapped() -> None:
    assert wrapped("short, and sweet", 40) == "short, and sweet"
    assert wrapped("one,two,three", 8) == "one,two,\nthree"
    assert max(map(len, wrapped("x" * 90, 40).splitlines())) <= 40
    long = wrapped("word " * 100, 40).splitlines()
    assert len(long) == 4
    assert long[-1].startswith("...")


def test_labels_are_thinned() -> None:
    assert list(thinned(4, 30)) == [0, 1, 2, 3]
    assert list(thinned(31, 30)) == list(range(0, 31, 2))
    assert len(thinned(300, 30)) == 30


def test_the_belief_about_the_period_is_drawn_where_there_is_a_choice() -> None:
    env = gym.make("PeriodicGP-SyntheticDiscrete-v0", horizon=30, n_actions=5).unwrapped
    labels = []
    for agent in ("periodic-gp-ucb", "periodic-gp-ucb:period=auto"):
        figure = run_figure(TITLE, env, play(env, AgentSpec.parse(agent), 0))
        labels.append([axes.get_xlabel() for axes in figure.axes])
    assert "period" not in labels[0]
    assert "period" in labels[1]


def drawn(env_id: str, agent: str, xlabel: str, **arguments: object) -> Axes:
    env = gym.make(env_id, **arguments).unwrapped
    assert isinstance(env, PeriodicBanditEnv)
    figure = run_figure(TITLE, env, play(env, AgentSpec.parse(agent), 0))
    FigureCanvasAgg(figure).draw()
    (axes,) = [axes for axes in figure.axes if axes.get_xlabel() == xlabel]
    return axes


@pytest.mark.parametrize(
    ("world", "agent", "xlabel", "truth"),
    [
        ("SyntheticDiscrete", "periodic-gp-ucb:period=auto:4:8", "period", 20.0),
        ("Stationary", "periodic-gp-ucb:period=auto:4:8", "period", None),
        ("Switching", "switching-gp-ucb", "forgetting rate", 0.02),
        ("SyntheticDiscrete", "switching-gp-ucb", "forgetting rate", None),
    ],
)
def test_the_truth_is_marked_within_the_axis(
    world: str, agent: str, xlabel: str, truth: float | None
) -> None:
    """Where there is one: nothing repeats in the stationary world, whatever its clock says."""
    axes = drawn(f"PeriodicGP-{world}-v0", agent, xlabel, horizon=30, n_actions=5)
    marks = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"]
    assert marks == ([] if truth is None else [truth])
    low, high = axes.get_xlim()
    assert all(low < mark < high for mark in marks)
