"""Pictures and films of one run: choices, regret, and the agent's belief at the end."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
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
"""More make large files: of a long episode every second or every tenth step is drawn."""
WIDTH, COLOURS = 640, 64
"""Width of a frame in pixels, and colours of its palette."""
FRAME_SECONDS, LAST_SECONDS = 0.08, 2.5
SEASONLESS = (Stationary, Piecewise)
"""Worlds with a clock for agents, and nothing that repeats with it."""


def run_figure(title: str, env: PeriodicBanditEnv, run: Trajectory) -> Figure:
    """Draw the landscape with the choices, the belief at the last step, and the regret.

    Beliefs are drawn of agents with the method ``belief(t, actions)``, and with ``period_belief()``
    and ``decay_belief()`` where they have several candidates.

    Args:
        title: Title of the figure.
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
        _draw_periods(axes[-1 - sum(smaller)], *periods, seasons_of(env))
    if decays is not None:
        drift = getattr(env.setup.world, "drift", None)
        _draw_decays(axes[-2], *decays, () if drift is None else (drift,))
    axes[-1].plot(run.t, run.cumulative_regret, color="tab:red")
    axes[-1].set(xlabel="time t", ylabel="regret so far", ylim=(0.0, None))
    axes[-1].set_xlim(run.t[-WINDOW:][0] - 0.5, run.t[-1] + 0.5)
    axes[-1].grid(alpha=0.3)
    return figure


def _belief(agent: Any, method: str) -> tuple[Array, Array] | None:
    """Return candidates and their probabilities, if the agent has several."""
    if not hasattr(agent, method):
        return None
    candidates, weights = getattr(agent, method)()
    return (candidates, weights) if len(candidates) > 1 else None


def _draw_belief(axes: Axes, env: PeriodicBanditEnv, run: Trajectory) -> None:
    """Draw mean and 95 % band over the actions at the last step, beside the truth."""
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
    _draw_legend(axes)


def seasons_of(env: PeriodicBanditEnv) -> tuple[float, ...]:
    """Return the seasons of the world, known to agents or not; none where nothing repeats."""
    if env.episode is None or isinstance(env.setup.world, SEASONLESS):
        return ()
    return env.setup.world.public.periods or (float(env.episode.process.period),)


def _draw_periods(axes: Axes, periods: Array, weights: Array, truth: Sequence[float]) -> None:
    title = f"belief about the period: most probably {periods[int(weights.argmax())]:.4g}"
    _draw_candidates(axes, "period", periods, {"_": weights}, truth, title)


def _draw_decays(axes: Axes, decays: Array, weights: Array, truth: Sequence[float]) -> None:
    """Draw forgetting rates, with the season (row 0 of the weights) and without (row 1)."""
    axes.set_xscale("symlog", linthresh=float(decays[decays > 0].min(initial=1.0)))
    best, season = decays[int(weights.sum(0).argmax())], weights[0].sum()
    title = f"belief about forgetting: most probably {best:.4g}, a season {season:.0%}"
    shares = dict(zip(("season", "no season"), weights, strict=True))
    _draw_candidates(axes, "forgetting rate", decays, shares, truth, title)
    axes.set_xticks(np.unique(decays), [f"{decay:g}" for decay in np.unique(decays)])
    axes.minorticks_off()


def _draw_candidates(
    axes: Axes,
    name: str,
    candidates: Array,
    shares: Mapping[str, Array],
    truth: Sequence[float],
    title: str,
) -> None:
    """Draw the probability of each candidate as stacked bars, and the world's own values."""
    base = np.zeros(len(candidates))
    for number, (label, weights) in enumerate(shares.items()):
        axes.vlines(candidates, base, base + weights, color=f"C{number}", lw=6, label=label)
        base = base + weights
    for number, value in enumerate(truth):
        axes.axvline(value, color="k", ls="--", lw=1, label="_" if number else "the world's")
    axes.set(xlabel=name, ylabel="probability", ylim=(0.0, 1.05 * base.max()))
    axes.set_title(title, loc="left", fontsize=9)
    axes.margins(x=0.05)
    axes.grid(alpha=0.3)
    if truth or len(shares) > 1:
        _draw_legend(axes)


def _draw_legend(axes: Axes) -> None:
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, fontsize=8, frameon=False)


class Film:
    """Frames of a world after some of its steps, as a GIF.

    Args:
        world: An environment whose ``render_mode`` is "rgb_array".
    """

    def __init__(self, world: PeriodicBanditEnv) -> None:
        self._world = world
        self._every = -(-world.horizon // MAX_FRAMES)
        self._steps, self._frames = 0, list[Any]()

    def step(self) -> None:
        """Take a frame where one is due; to be called after every step of the episode."""
        self._steps += 1
        if self._steps % self._every == 0 or self._steps == self._world.horizon:
            frame = self._world.render()
            assert isinstance(frame, np.ndarray)
            self._frames.append(_image(frame))

    def write(self, path: Path) -> None:
        """Write all frames, the last one for longer."""
        times = [round(1e3 * FRAME_SECONDS)] * (len(self._frames) - 1) + [round(1e3 * LAST_SECONDS)]
        made = io.BytesIO()
        # One palette and no dithering: areas that stand still are then equal, and compress well.
        palette = self._frames[-1].quantize(COLOURS)
        first, *others = (f.quantize(palette=palette, dither=0) for f in self._frames)
        first.save(made, "GIF", save_all=True, append_images=others, duration=times, loop=0)
        write_atomically(path, made.getvalue())


def _image(frame: NDArray[np.uint8]) -> Any:
    from PIL import Image  # comes with Matplotlib, and is slow to import

    whole = Image.fromarray(frame)
    height = round(whole.height * WIDTH / whole.width)
    return whole.resize((WIDTH, height), Image.Resampling.LANCZOS)
