"""Description of a log: its rows, its policy, and arms that were never chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd

from periodic_decisions.logs.log import DecisionLog, LogSeasons, phase_label
from periodic_decisions.tables.cells import count, listed
from periodic_envs.arrays import Array

MAX_ARMS = 20  # arms that are described individually


def guess_period(log: DecisionLog) -> float | None:
    """Return the number of steps in a day.

    The result is None if times are not dates, or if a day has fewer than two steps.
    """
    dated = isinstance(log.grid.step, pd.Timedelta)
    steps = float(pd.Timedelta(days=1) / log.grid.step) if dated else 0.0
    return steps if steps >= 2.0 else None


def describe(log: DecisionLog, seasons: LogSeasons) -> list[str]:
    """Return lines that describe a log."""
    return [*_rows(log), "", *_policy(log, seasons), "", *_arms(log, seasons)]


def _rows(log: DecisionLog) -> list[str]:
    times = np.unique(log.step)
    span = f"{log.grid.at(0)} to {log.grid.at(int(log.step[-1]) - log.origin)}"
    lines = [
        *(f"{note[0].upper()}{note[1:]}." for note in log.notes),
        f"{count(len(log), 'decision')} at {count(len(times), 'time')}, {span}, in steps of "
        f"{log.grid.step_text()}.",
    ]
    empty = int(times[-1] - times[0]) + 1 - len(times)
    if empty:
        lines.append(f"No decision was made at {count(empty, 'step')} between these times.")
    if log.unknown:
        lines.append(
            f"Left out {count(log.unknown, 'row')} without a reward: unless rewards are missing at "
            "random, estimates hold only for the other rows."
        )
    return lines


def _policy(log: DecisionLog, seasons: LogSeasons) -> list[str]:
    counts = seasons.count(log.arm, len(log.names))
    visited = counts[counts.sum(1) > 0.0]
    shares = visited / visited.sum(1, keepdims=True)
    top = float((shares.max(1) * visited.sum(1)).sum() / visited.sum())
    lines = [
        f"With a season of {seasons.period:g} steps there are {seasons.phases} phases and "
        f"{seasons.blocks} blocks of whole seasons.",
        f"The most frequent arm of each phase was chosen in {top:.0%} of the decisions "
        f"({1.0 / len(log.names):.0%} is expected by chance).",
    ]
    if log.probability is None:
        return [
            *lines,
            "Probabilities are not logged: they are estimated by the share of each arm in each "
            "phase.",
        ]
    low, high = float(log.probability.min()), float(log.probability.max())
    lines.append(f"Logged probabilities range from {low:.3g} to {high:.3g}.")
    weights = 1.0 / log.probability
    # E[1/p] over rows is the number of arms with positive probability; allow 4 standard errors.
    reach = len(log.names) + 4.0 * float(weights.std()) / np.sqrt(len(log)) + 1e-9
    if weights.mean() > reach:
        lines.append(
            "The probabilities are inconsistent: the mean of 1 / probability is "
            f"{weights.mean():.3g}, but its expected value is at most the number of arms, "
            f"{len(log.names)}."
        )
    return lines


def _arms(log: DecisionLog, seasons: LogSeasons) -> list[str]:
    counts = seasons.count(log.arm, len(log.names))
    names = log.names[:MAX_ARMS]
    width = max(len("arm"), *(len(name) for name in names))
    lines = [f"{'arm':<{width}}  decisions   share  mean reward  never chosen at"]
    for arm, name in enumerate(names):
        rows = int(counts[:, arm].sum())
        mean = float(log.reward[log.arm == arm].mean()) if rows else float("nan")
        lines.append(
            f"{name:<{width}}  {rows:>9,}  {rows / len(log):>6.1%}  {mean:>11,.4g}  "
            f"{_unseen(log, seasons, counts, arm)}".rstrip()
        )
    if len(log.names) > MAX_ARMS:
        lines.append(f"and {len(log.names) - MAX_ARMS:,} more arms")
    return lines


def _unseen(log: DecisionLog, seasons: LogSeasons, counts: Array, arm: int) -> str:
    """Return, as text, the phases at which the log has decisions but none for this arm."""
    missing = np.flatnonzero((counts[:, arm] == 0.0) & (counts.sum(1) > 0.0))
    if not len(missing):
        return ""
    labels = [phase_label(log, seasons, int(phase)) for phase in missing]
    plain = [label.removeprefix("phase ") for label in labels]
    return ("phase " if plain != labels else "") + listed(plain)
