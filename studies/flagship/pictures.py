"""The pictures of docs/auto-gp.md: what the agent learned about Madrid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from agents.auto.refit import Grams, refit
from agents.auto.structures import NOISE, structure
from agents.registry import AgentSpec
from evaluation.play import play
from evaluation.specs import WorldSpec
from periodic_envs.arrays import Array
from periodic_envs.files import write_figure
from studies.flagship import AUTO, PRETRAINED, FlagshipLab
from studies.flagship.madrid import MADRID
from studies.pictures import new_figure

WINDOW = "2017-11-03"
PERIODS = np.arange(6.0, 60.5, 0.5)
TITLES = ("measured, mean of ten days", "told nothing: next day", "pretrained: next day")


def pictures(lab: FlagshipLab) -> dict[str, Any]:
    """What both entries learned in one development window; returns the evidence over periods."""
    docs = lab.size.docs or Path()
    lab.uses(agents=[AUTO], worlds=[MADRID])
    env: Any = WorldSpec(MADRID, {"start": WINDOW}).make()
    agents: list[Any] = [play(env, AgentSpec.parse(name), 0).agent for name in (AUTO, PRETRAINED)]
    beliefs = [np.stack([agent.belief(240.0 + h)[0] for h in range(24)]) for agent in agents]
    process = env.episode.process
    truth = np.array([[float(process.mean(a, t)) for a in range(24)] for t in range(240)])
    _draw_profiles(docs / "auto-gp-profiles.png", truth.reshape(10, 24, 24).mean(0), *beliefs)
    evidence = _evidence(agents[0])
    _draw_evidence(docs / "auto-gp-period.png", evidence)
    by_period = {str(p): float(e) for p, e in zip(PERIODS, evidence, strict=True)}
    return {"best": float(PERIODS[int(evidence.argmax())]), "evidence": by_period}


def _draw_profiles(path: Path, *tables: Array) -> None:
    figure, panels = new_figure(10, 4, 1, 3, sharey=True)
    top = float(np.quantile(tables[0], 0.98))
    for axes, table, title in zip(panels, tables, TITLES, strict=True):
        image = axes.imshow(table.T, aspect="auto", vmin=0, vmax=top, cmap="magma")
        axes.set(title=title, xlabel="hour of day")
    panels[0].set_ylabel("station (arm)")
    figure.colorbar(image, ax=panels, label="NO, ug/m3")
    write_figure(figure, path, dpi=80)


def _evidence(agent: Any) -> Array:
    """Log evidence of a season of each period against none, on all that the agent saw."""
    past, problem = agent.history, agent._problem
    y, grams = agent.scale.forward(past.reward), Grams(agent.posterior.actions, past)
    worlds = [replace(problem, periods=(float(period),)) for period in PERIODS]
    kernels = [structure(world).kernel for world in worlds]
    kernels.append(structure(replace(problem, periods=())).kernel)
    fits = [refit(kernel, grams, y, NOISE, move=False) for kernel in kernels]
    values: Array = np.array([fit.log_evidence for fit in fits])
    return np.asarray(values[:-1] - values[-1])


def _draw_evidence(path: Path, evidence: Array) -> None:
    figure, (axes,) = new_figure(7, 2.8)
    axes.plot(PERIODS, evidence)
    axes.axhline(0.0, color="grey", lw=0.8)
    axes.axvline(24.0, color="grey", lw=0.8, ls=":")
    axes.set(xlabel="period, hours", ylabel="log evidence\nagainst no season")
    write_figure(figure, path, dpi=80)
