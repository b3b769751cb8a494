"""Pictures of runs: what was chosen, what it cost, and what the agent believes in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evaluation.beliefs import draw_decays, draw_periods, seasons_of
from evaluation.running.play import Trajectory
from periodic_envs.env import PeriodicBanditEnv
from periodic_envs.labels import short, thinned
from periodic_envs.rendering import (
    MAX_ARM_NAMES,
    WINDOW,
    draw_choices,
    draw_landscape,
    draw_legend,
    draw_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


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
    periods, decays = _periods(run.agent), _decays(run.agent)
    smaller = [found is not None for found in (periods, decays)]
    heights = [2.0, *[2.0] * believes, *[1.0] * sum(smaller), 1.0]
    figure = Figure(figsize=(10.0, 1.25 + 1.75 * sum(heights)), dpi=100, layout="constrained")
    draw_title(figure, title, f"regret {run.regret.sum():,.1f}")
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


def _decays(agent: Any) -> tuple[Array, Array] | None:
    """What the agent believes about forgetting, if there is a choice."""
    if not hasattr(agent, "decay_belief"):
        return None
    decays, weights = agent.decay_belief()
    return (decays, weights) if len(decays) > 1 else None


def _periods(agent: Any) -> tuple[Array, Array] | None:
    """What the agent believes about the season, if there is a choice."""
    if not hasattr(agent, "period_belief"):
        return None
    periods, weights = agent.period_belief()
    return (periods, weights) if len(periods) > 1 else None


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
