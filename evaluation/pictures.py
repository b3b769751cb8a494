"""Pictures and films of one run: choices, regret, and the agent's belief at the end."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evaluation.play import Trajectory
from periodic_envs.arrays import Array
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.figures import (
    MAX_ARM_NAMES,
    WINDOW,
    draw_choices,
    draw_landscape,
    draw_legend,
    draw_title,
    said_of_data,
)
from periodic_envs.files import write_atomically
from periodic_envs.labels import short, thinned
from periodic_envs.worlds.piecewise import Piecewise
from periodic_envs.worlds.stationary import Stationary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MAX_FRAMES = 90
"""More make large files: of a long episode every second or every tenth step is shown."""
WIDTH, COLOURS = 640, 64
"""Of a frame in pixels, and in its palette."""
FRAME_SECONDS, LAST_SECONDS = 0.08, 2.5
SEASONLESS = (Stationary, Piecewise)
"""They have a clock for agents to look at, and nothing that repeats with it."""


def run_figure(title: str, env: PeriodicBanditEnv, run: Trajectory) -> Figure:
    """The landscape with the choices, the belief about the last season, and the regret.

    Beliefs are drawn of agents that have the method: ``belief(t, actions)``, and
    ``period_belief()`` and ``decay_belief()`` where there is more than one to believe in.

    Args:
        title: Above everything.
        env: The environment, after the run.
        run: The run.
    """
    from matplotlib.figure import Figure

    believes = hasattr(run.agent, "belief")
    periods = _belief(run.agent, "period_belief")
    decays = _belief(run.agent, "decay_belief")
    smaller = [found is not None for found in (periods, decays)]
    heights = [2.0, *[2.0] * believes, *[1.0] * sum(smaller), 1.0]
    figure = Figure(figsize=(10.0, 1.25 + 1.75 * sum(heights)), dpi=100, layout="constrained")
    draw_title(figure, title + said_of_data(env.setup), f"regret {run.regret.sum():,.1f}")
    axes = figure.subplots(len(heights), 1, height_ratios=heights)
    assert env.episode is not None
    draw_landscape(axes[0], env.setup, env.episode, run.t[-WINDOW:])
    draw_choices(axes[0], run.t[-WINDOW:], run.action[-WINDOW:])
    if len(run.t) > WINDOW:
        axes[0].set_title(f"last {WINDOW} of {len(run.t):,} steps", loc="left", fontsize=9)
    draw_legend(axes[0])
    if believes:
        _draw_belief(axes[1], env, run)
    if periods is not None:
        draw_periods(axes[-1 - sum(smaller)], *periods, seasons_of(env))
    if decays is not None:
        draw_decays(axes[-2], *decays, getattr(env.setup.world, "drift", None))
    axes[-1].plot(run.t, run.cumulative_regret, color="tab:red")
    axes[-1].set(xlabel="time t", ylabel="regret so far", ylim=(0.0, None))
    axes[-1].set_xlim(run.t[-WINDOW:][0] - 0.5, run.t[-1] + 0.5)
    axes[-1].grid(alpha=0.3)
    return figure


def _belief(agent: Any, method: str) -> tuple[Array, Array] | None:
    """Candidates and their probabilities, if the agent has several to believe in."""
    if not hasattr(agent, method):
        return None
    candidates, weights = getattr(agent, method)()
    return (candidates, weights) if len(candidates) > 1 else None


def _draw_belief(axes: Axes, env: PeriodicBanditEnv, run: Trajectory) -> None:
    """Mean and 95 % band over the actions at the last step, beside the truth."""
    agent: Any = run.agent
    t, process = int(run.t[-1]), env.episode.process  # type: ignore[union-attr]
    n_actions, names = env.public.n_actions, env.public.action_names
    if n_actions is not None:
        where: NDArray[Any] = np.arange(n_actions)
        actions: NDArray[Any] = where
        axes.set_xlabel("action")
        if names is not None:
            shown = thinned(n_actions, MAX_ARM_NAMES)
            labels = [short(names[i]) for i in shown]
            axes.set_xticks(shown, labels, rotation=30, ha="right", fontsize=8, parse_math=False)
    else:
        where = np.linspace(-1.0, 1.0, 201)
        best = process.optimum(t)[0].astype(np.float64)
        actions = np.repeat(best[None], len(where), axis=0)
        actions[:, 0] = where
        dim = env.public.dim
        axes.set_xlabel("action" if dim == 1 else "action[0], the others at their best")
    mean, deviation = agent.belief(float(t), actions)
    low, high = mean - 1.96 * deviation, mean + 1.96 * deviation
    truth = process.mean(actions, t)
    if n_actions is None:
        axes.plot(where, mean, label="belief")
        axes.fill_between(where, low, high, alpha=0.25, label="95 %")
        axes.plot(where, truth, "k--", label="truth")
    elif n_actions <= MAX_ARM_NAMES:
        axes.errorbar(where, mean, 1.96 * deviation, fmt="o", label="belief, 95 %", capsize=3)
        axes.plot(where, truth, "k_", label="truth", markersize=12)
    else:  # bars and dashes of so many would hide each other
        axes.plot(where, mean, ".", markersize=4, label="belief")
        axes.fill_between(where, low, high, step="mid", alpha=0.25, lw=0, label="95 %")
        axes.plot(where, truth, "k.", markersize=3, label="truth")
    now = run.t % process.period == t % process.period
    axes.plot(
        run.action[now].reshape(now.sum(), -1)[:, 0],
        run.reward[now],
        "o",
        color="none",
        markeredgecolor="red",
        label="rewards at this phase",
    )
    axes.set_ylabel(f"reward at t = {t}")
    axes.margins(x=0.02)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, fontsize=8, frameon=False)


def seasons_of(env: PeriodicBanditEnv) -> tuple[float, ...]:
    """The world's seasons, whether agents know them or not; none where nothing repeats."""
    if env.episode is None or isinstance(env.setup.world, SEASONLESS):
        return ()
    return env.setup.world.public.periods or (float(env.episode.process.period),)


def draw_periods(axes: Axes, periods: Array, weights: Array, truth: Sequence[float]) -> None:
    """The probability of each candidate period, and the world's own."""
    axes.vlines(periods, 0.0, weights, color="tab:blue", lw=3)
    axes.plot(periods, weights, "o", color="tab:blue", markersize=4)
    for i, period in enumerate(truth):
        axes.axvline(period, color="k", ls="--", lw=1, label="_" if i else "the world's")
    best = periods[int(weights.argmax())]
    _label(axes, "period", weights, f"belief about the period: most probably {best:.4g}")
    if truth:
        _draw_key(axes)


def draw_decays(axes: Axes, decays: Array, weights: Array, truth: float | None) -> None:
    """The probability of each forgetting rate, with the season (row 0) and without (row 1)."""
    smallest = float(decays[decays > 0].min(initial=1.0))
    axes.set_xscale("symlog", linthresh=smallest)
    for row, (name, colour) in enumerate((("season", "tab:blue"), ("no season", "tab:orange"))):
        base = weights[:row].sum(0) if row else np.zeros(len(decays))
        axes.vlines(decays, base, base + weights[row], color=colour, lw=6, label=name)
    if truth is not None:
        axes.axvline(truth, color="k", ls="--", lw=1, label="the world's")
    total = weights.sum(0)
    best = decays[int(total.argmax())]
    axes.set_xticks(np.unique(decays), [f"{decay:g}" for decay in np.unique(decays)])
    axes.minorticks_off()
    title = f"belief about forgetting: most probably {best:.4g}, a season {weights[0].sum():.0%}"
    _label(axes, "forgetting rate", total, title)
    _draw_key(axes)


def _label(axes: Axes, what: str, weights: Array, title: str) -> None:
    axes.set(xlabel=what, ylabel="probability", ylim=(0.0, 1.05 * weights.max()))
    axes.set_title(title, loc="left", fontsize=9)
    axes.margins(x=0.05)
    axes.grid(alpha=0.3)


def _draw_key(axes: Axes) -> None:
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, fontsize=8, frameon=False)


class Film:
    """Takes a frame of a world after some of its steps; ``write`` makes a GIF of them.

    Args:
        world: An environment whose ``render_mode`` is "rgb_array".
    """

    def __init__(self, world: PeriodicBanditEnv) -> None:
        self._world = world
        self._every = -(-world.horizon // MAX_FRAMES)
        self._steps, self._frames = 0, list[Any]()

    def step(self) -> None:
        """After every step of the episode."""
        self._steps += 1
        if self._steps % self._every == 0 or self._steps == self._world.horizon:
            frame = self._world.render()
            assert isinstance(frame, np.ndarray)
            self._frames.append(_image(frame))

    def write(self, path: Path) -> None:
        """All frames, the last one for longer, then again from the first."""
        times = [round(1e3 * FRAME_SECONDS)] * (len(self._frames) - 1) + [round(1e3 * LAST_SECONDS)]
        made = io.BytesIO()
        # One palette and no dithering: what stands still is then the same in all frames, and small.
        palette = self._frames[-1].quantize(COLOURS)
        first, *others = (f.quantize(palette=palette, dither=0) for f in self._frames)
        first.save(made, "GIF", save_all=True, append_images=others, duration=times, loop=0)
        write_atomically(path, made.getvalue())


def _image(frame: NDArray[np.uint8]) -> Any:
    from PIL import Image  # comes with Matplotlib, and is slow to import

    whole = Image.fromarray(frame)
    height = round(whole.height * WIDTH / whole.width)
    return whole.resize((WIDTH, height), Image.Resampling.LANCZOS)
