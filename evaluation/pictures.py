"""Pictures of runs: what was chosen, what it cost, and what the agent believes in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evaluation.runner import Run
from periodic_envs.base import PeriodicBanditEnv
from periodic_envs.rendering import draw_choices, draw_landscape, draw_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


def run_figure(title: str, env: PeriodicBanditEnv, run: Run) -> Figure:
    """The landscape with the choices, the belief about the last season, and the regret.

    Args:
        title: Above everything.
        env: The environment, after the run.
        run: The run.
    """
    from matplotlib.figure import Figure

    believes = hasattr(run.agent, "belief")
    figure = Figure(figsize=(10.0, 10.0 if believes else 6.5), dpi=100, layout="constrained")
    figure.suptitle(f"{title}    regret {run.regret.sum():,.1f}", fontsize=12)
    rows = 3 if believes else 2
    axes = figure.subplots(rows, 1, height_ratios=[2.0, 2.0, 1.0][-rows:])
    assert env.episode is not None
    draw_landscape(axes[0], env.setup, env.episode, run.t[-240:])
    draw_choices(axes[0], run.t[-240:], run.action[-240:])
    draw_legend(axes[0])
    if believes:
        _draw_belief(axes[1], env, run)
    axes[-1].plot(run.t, run.cumulative_regret, color="tab:red")
    axes[-1].set(xlabel="time t", ylabel="regret so far", ylim=(0.0, None))
    axes[-1].set_xlim(run.t[-240:][0] - 0.5, run.t[-1] + 0.5)
    axes[-1].grid(alpha=0.3)
    return figure


def _draw_belief(axes: Axes, env: PeriodicBanditEnv, run: Run) -> None:
    """Mean and 95 % band over the actions at the last step, beside the truth."""
    agent: Any = run.agent
    t, process = int(run.t[-1]), env.episode.process  # type: ignore[union-attr]
    names = env.public.action_names
    if env.public.n_actions is not None:
        where: NDArray[Any] = np.arange(env.public.n_actions)
        actions: NDArray[Any] = where
        axes.set_xlabel("action")
        if names is not None:
            axes.set_xticks(where, names, rotation=30, ha="right", fontsize=8)
    else:
        where = np.linspace(-1.0, 1.0, 201)
        best = process.optimum(t)[0].astype(np.float64)
        actions = np.repeat(best[None], len(where), axis=0)
        actions[:, 0] = where
        dim = env.public.dim
        axes.set_xlabel("action" if dim == 1 else "action[0], the others at their best")
    mean, deviation = agent.belief(float(t), actions)
    low, high = mean - 1.96 * deviation, mean + 1.96 * deviation
    if env.public.n_actions is not None:
        axes.errorbar(where, mean, 1.96 * deviation, fmt="o", label="belief, 95 %", capsize=3)
    else:
        axes.plot(where, mean, label="belief")
        axes.fill_between(where, low, high, alpha=0.25, label="95 %")
    marker = "k_" if env.public.n_actions is not None else "k--"
    axes.plot(where, process.mean(actions, t), marker, label="truth", markersize=12)
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
    axes.grid(alpha=0.3)
    axes.legend(loc="best", fontsize=8)
