"""Evaluation of estimators on simulated logs, by comparison with the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from periodic_decisions.logs.evaluate import ESTIMATORS, OffPolicy
from periodic_decisions.logs.log import DecisionLogError
from periodic_decisions.logs.policies import BestPerPhase, FixedArm, Policy, ScheduledArms
from periodic_envs.arrays import Array
from studies.simulated_logs import LONG, SETTINGS, Simulated, simulate

ARM, PLAN, LEARNED = "a fixed arm", "the best arm of each phase", "best-per-phase, learned"
TARGETS = (ARM, PLAN, LEARNED)
"""Policies to evaluate.

The fixed arm is the first arm. The second policy chooses the best arm of each phase according to
the true means. The third policy learns the best arm of each phase from the log.
"""
REFUSED = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Part:
    """Several logs of the same policy in the same kind of world.

    Attributes:
        setting: Name of the world, a key of ``SETTINGS`` or ``LONG``.
        logging: Name of the policy that made the log, a key of ``LOGGING``.
        estimated: True if the probabilities are estimated, as if they had not been logged.
        logs: Number of logs.
        seed: Seed of all random numbers.
    """

    setting: str
    logging: str
    estimated: bool
    logs: int
    seed: int


Found = dict[tuple[str, str], Array]
"""Estimates and bounds minus the truth, shape (logs, 3), for each target and estimator."""


def judge(part: Part) -> Found:
    """Return the errors of all estimates of a part; NaN if a log does not support an estimate."""
    drawn = simulate({**SETTINGS, **LONG}[part.setting], part.logging, part.logs, part.seed)
    rows: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for number in range(part.logs):
        asked = OffPolicy(log=drawn.log(number), period=drawn.period, estimated=part.estimated)
        for target, policy in _targets(drawn, number).items():
            truth = _truth(asked, drawn, number, policy)
            for estimator in ESTIMATORS:
                if estimator != "dm" or not policy.learned:
                    errors = _errors(asked, policy, estimator, truth)
                    rows.setdefault((target, estimator), []).append(errors)
    return {key: np.array(found) for key, found in rows.items()}


def _targets(drawn: Simulated, number: int) -> dict[str, Policy]:
    best = drawn.means[number, : round(drawn.period)].argmax(1)
    plan = {f"step {i}": f"arm {arm}" for i, arm in enumerate(best)}
    return {
        ARM: FixedArm("arm 0"),
        PLAN: ScheduledArms("plan", "step", plan),
        LEARNED: BestPerPhase(),
    }


def _truth(asked: OffPolicy, drawn: Simulated, number: int, policy: Policy) -> float:
    chosen = policy.arms(asked.log, asked.seasons, lambda: asked.models)
    return float(np.take_along_axis(drawn.means[number], chosen[:, None], axis=1).mean())


def _errors(
    asked: OffPolicy, policy: Policy, estimator: str, truth: float
) -> tuple[float, float, float]:
    try:
        found = asked.evaluate(policy, estimator).value
    except DecisionLogError:
        return REFUSED
    return found.estimate - truth, found.low - truth, found.high - truth


@dataclass(frozen=True)
class Score:
    """Quality of an estimator over many logs, with Monte-Carlo standard errors.

    Attributes:
        logs: Number of logs.
        refused: Share of the logs that do not support the estimate. The attributes below describe
            the remaining logs.
        coverage: Share of intervals that contain the truth.
        coverage_error: Standard error of the coverage.
        bias: Mean error.
        bias_error: Standard error of the bias.
        below: Share of intervals that lie entirely below the truth.
        rmse: Root of the mean squared error.
        spread: Standard deviation of the errors.
        width: Mean width of the intervals.
    """

    logs: int
    refused: float
    coverage: float
    coverage_error: float
    bias: float
    bias_error: float
    below: float
    rmse: float
    spread: float
    width: float


def score(parts: Sequence[Array]) -> Score:
    """Return the score of an estimator from arrays of shape (logs, 3).

    The columns are the estimate, the lower bound and the upper bound, each minus the truth. The row
    of a log that does not support the estimate is NaN.
    """
    every = np.concatenate(parts)
    told = every[~np.isnan(every[:, 0])]
    n = len(told)
    if n < 2:
        return Score(len(every), 1.0 - n / len(every), *(math.nan,) * 8)
    error, low, high = told.T
    inside = float(((low <= 0.0) & (high >= 0.0)).mean())
    return Score(
        logs=len(every),
        refused=1.0 - n / len(every),
        coverage=inside,
        # The usual standard error is 0 for a share of 0 or 1, so one success and one failure are
        # added.
        coverage_error=math.sqrt((inside * n + 1) * ((1 - inside) * n + 1) / (n + 2) ** 3),
        bias=float(error.mean()),
        bias_error=float(error.std(ddof=1) / math.sqrt(n)),
        below=float((high < 0.0).mean()),
        rmse=float(np.sqrt((error**2).mean())),
        spread=float(error.std(ddof=1)),
        width=float((high - low).mean()),
    )
