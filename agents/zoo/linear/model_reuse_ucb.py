"""Linear UCB with change detection and reuse of old models."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import at_least_one, share
from agents.zoo.linear.linear_agent import LinearAgent
from agents.zoo.linear.ridge import Ridge


class ModelReuseUCB(LinearAgent):
    """Seasonal linear bandit: LinUCB that detects changes and reuses old models that fit.

    Pseudo-code::

        a_t <- LinUCB of the base model
        base learns y;  past: the base without the last m rewards
        misfit(model) <- sum over the last m rewards of (y - x' theta)^2 / variance
        if misfit(past) > chi-squared quantile (m, 1 - level):
            put the past aside, as an old model
            base <- the old model of the least misfit, if that is below the quantile,
                    else a fresh one (the shadow);  it learns the last m rewards

    Reference: [@dibenedetto2020linear]. The method has a base and a shadow bandit, detects abrupt
    changes, and reuses earlier estimates whenever the environment returns to an earlier state.

    Deviations from the paper: the full text of the paper was not available; the pseudo-code follows
    its abstract and a summary. The test for a change, its window (20 rewards), its level (0.001 for
    each reward) and the test for reuse are our choices. In these tests,
    variance = sigma^2 (1 + |x|^2) + lam S^2 |x|^2 bounds the expected squared error of a prediction
    by ridge regression, so that the rate of false alarms is at most ``level``. The number of stored
    models is not limited. The features of an arm are a constant and the coordinates of the arm,
    which are centred and scaled into the unit ball. Arms without coordinates have unit vectors as
    features. A box is discretised into ``box_arms`` points.

    Args:
        window: Number m of rewards in a test for a change.
        level: Upper bound on the rate of false alarms of one test.
        common: Arguments of every linear agent, see :class:`LinearAgent`.
    """

    name = "model-reuse-ucb"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        window: int = 20,
        level: float = 0.001,
        **common: Any,
    ) -> None:
        self._window, self._level = int(at_least_one("window", window)), share("level", level)
        from scipy.stats import chi2  # slow to import, and not always needed

        self._quantile = float(chi2.ppf(1.0 - self._level, self._window))
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Start with a new base model and without old models."""
        super().start()
        self.base, self._past = self.new_ridge(), self.new_ridge()
        self.old: list[Ridge] = []
        self._recent: list[tuple[float, float]] = []  # arm and reward; not yet in ``_past``

    def choose(self, t: float, observation: Array) -> int:
        """Return the choice of the base model."""
        return self.best_of(self.bounds(self.base))

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Add the reward; if the recent rewards do not fit the past model, change the model."""
        self.base.add(self.x[arm], reward)
        self._recent.append((arm, reward))
        if len(self._recent) > self._window:
            first, its = self._recent.pop(0)
            self._past.add(self.x[int(first)], its)
        if len(self._recent) == self._window and self.misfit(self._past) > self._quantile:
            self._change()

    def misfit(self, model: Ridge) -> float:
        """Return the sum of the squared errors of a model on the recent rewards.

        Each squared error is divided by a bound on its expected value. The model must not have
        learned from these rewards. The result is 0 while sigma is 0.
        """
        arms, rewards = (np.array(part) for part in zip(*self._recent, strict=True))
        mean, deviation = model.predict(self.x[arms.astype(int)], self.middle)
        noise = self.scale.sigma**2
        variance = noise + (noise + self.penalty**2) * deviation**2
        return float((np.square(rewards - mean) / variance).sum()) if noise > 0 else 0.0

    def _change(self) -> None:
        misfits = [self.misfit(model) for model in self.old]
        best = int(np.argmin(misfits)) if misfits else -1
        fits = best >= 0 and misfits[best] <= self._quantile
        reused = self.old.pop(best) if fits else self.new_ridge()
        self.old.append(self._past)
        for arm, reward in self._recent:
            reused.add(self.x[int(arm)], reward)
        self.base, self._past, self._recent = reused, deepcopy(reused), []
