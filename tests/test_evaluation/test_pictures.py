"""Pictures of runs are legible with many arms and with long names."""

from itertools import pairwise

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from agents.registry import AgentSpec
from evaluation.pictures import run_figure
from evaluation.play import play
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.rendering import world_figure, wrapped

TITLE = "periodic-gp-ucb:time_length_scale=1 in PeriodicGP-Replay-v0:" + ",".join(
    f"setting_{i}=some_value" for i in range(12)
)


def world(arms: int, steps: int) -> PeriodicBanditEnv:
    values = np.cos(2 * np.pi * (np.arange(steps)[:, None] / 24 + np.arange(arms) / arms))
    names = [f"\N{SLICE OF PIZZA} $arm_{{ {i}" for i in range(arms)]
    frame = pd.DataFrame(values, columns=names)
    frame.insert(0, "time", range(steps))
    return gym.make("PeriodicGP-Replay-v0", data=frame, period=24).unwrapped


@pytest.mark.parametrize(("arms", "steps"), [(4, 48), (300, 260)])
def test_run_figure_is_legible(arms: int, steps: int) -> None:
    """Missing glyphs cause no warning (warnings are errors here)."""
    env = world(arms, steps)
    run = play(env, AgentSpec.parse("periodic-gp-ucb"), 0)
    figure = run_figure(TITLE, env, run)
    FigureCanvasAgg(figure).draw()
    assert figure.texts[0].get_window_extent().x1 < figure.bbox.x1
    assert figure.get_suptitle().replace("\n", "").startswith(TITLE)
    landscape, regret = figure.axes[:2]
    assert ("last 240 of 260" in landscape.get_title(loc="left")) == (steps > 240)
    labels = landscape.get_yticklabels()
    assert labels[1].get_text().startswith("□ $arm_{ ")
    assert min(arms, 20) <= len(labels) <= 40
    boxes = [label.get_window_extent() for label in labels]
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))
    assert "choice" in landscape.get_legend_handles_labels()[1]
    (curve,) = regret.lines
    assert len(curve.get_xdata()) == min(steps, 240)
    assert curve.get_ydata()[-1] == pytest.approx(run.regret.sum())


def test_world_figure_shows_the_beginning() -> None:
    env = world(3, 260)
    env.reset(seed=0)
    figure = world_figure(TITLE, env.setup, env.episode)
    assert "first 240 of 260" in figure.axes[0].get_title(loc="left")
    FigureCanvasAgg(figure).draw()
    assert figure.texts[0].get_window_extent().x1 < figure.bbox.x1


def test_titles_are_wrapped() -> None:
    assert wrapped("short, and sweet", 40) == "short, and sweet"
    assert wrapped("one,two,three", 8) == "one,two,\nthree"
    assert max(map(len, wrapped("x" * 90, 40).splitlines())) <= 40
    long = wrapped("word " * 100, 40).splitlines()
    assert (len(long), long[-1][:3]) == (4, "...")
