"""dLinUCB, a pool of linear models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erfinv

from agents.arrays import Array, Rng
from agents.base import Problem
from agents.checks import at_least_one, share
from agents.zoo.linear.linear_agent import LinearAgent
from agents.zoo.linear.ridge import Ridge


class Slave:
    """A linear model with its record: 1 for each reward outside its confidence bound."""

    def __init__(self, ridge: Ridge) -> None:
        self.ridge, self.failed = ridge, np.zeros(0)

    def badness(self, delta: float) -> tuple[float, float]:
        """Return the share of failures, and how far it may be from the truth."""
        if not len(self.failed):
            return 0.0, 0.5
        reach = math.sqrt(math.log(1.0 / delta) / (2.0 * len(self.failed)))
        return float(self.failed.mean()), reach


class DLinUCBPool(LinearAgent):
    """dLinUCB: a master picks the best of several linear models, and drops those that fit badly.

    Pseudo-code::

        a_t <- LinUCB of the slave with the least e - sqrt(log tau) b   (e: badness, b: its reach)
        for each slave: fail <- |y - x' theta| > radius |x| + eps; unless it fails, learn (x, y)
            e <- mean of its last tau fails,  b <- sqrt(log(1 / delta_2) / (2 tau))
            dismiss it if e >= b + delta_1
        add a fresh slave if no slave has e < b + delta_1'

    Reference: [@wu2018learning], Algorithm 1, with eps = sqrt 2 sigma erfinv(1 - delta_1).
    Recommended: tau = 200, delta_1 = delta_2 = 0.01, delta_1' = 0.002, lam = 0.1, and b = 1/2 for a
    slave without a record. The rules and these constants are those of the port of the authors'
    code in [@russac2019weighted]; the constants were not checked against the paper's text.

    Deviations from the paper: its text could not be read, so what follows compares with the port
    and with the authors' own code (NonstationaryBanditLib). The features of an arm are a constant
    and its coordinates, centred and shrunk to the unit ball, or a unit vector where it has no
    coordinates. A box is cut into points. A slave's radius counts the rewards that it has learned
    from, as in the authors' code; the port adds the time at which the slave was made, so that later
    slaves have wider bounds there. Otherwise the port is followed where the two differ. The
    authors' code uses the radius to judge slaves only, and chooses arms with a constant width (0.6
    in its simulation, with tau = 100). Its radius has d log((lam + n) / (0.01 lam)) for n rewards,
    its eps sigma^2 instead of sigma, its record one trial without failure more; delta_2 is 0.1
    by default, and a slave whose badness equals a bound is kept.

    Args:
        record: tau, the length of a record.
        delta: delta_1.
        delta_badness: delta_2.
        tolerance: delta_1'.
        common: Arguments of every linear agent, see :class:`LinearAgent`.
    """

    name = "dlinucb-pool"

    def __init__(
        self,
        problem: Problem,
        rng: Rng,
        *,
        record: int = 200,
        delta: float = 0.01,
        delta_badness: float = 0.01,
        tolerance: float = 0.002,
        **common: Any,
    ) -> None:
        self._record = int(at_least_one("record", record))
        self._delta_2 = share("delta_badness", delta_badness)
        self._tolerance = share("tolerance", tolerance)
        super().__init__(problem, rng, delta=delta, **common)

    def start(self) -> None:
        """Begin with one slave."""
        super().start()
        self.slaves = [self._new_slave()]

    def _new_slave(self) -> Slave:
        """Return a slave that has seen nothing."""
        return Slave(self.new_ridge())

    def choose(self, t: float, observation: Array) -> int:
        """Return the choice of the slave of the least badness."""
        records = [slave.badness(self._delta_2) for slave in self.slaves]
        hope = math.sqrt(math.log(self._record))
        best = min(range(len(records)), key=lambda i: records[i][0] - hope * records[i][1])
        return self.best_of(self.bounds(self.slaves[best].ridge))

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Show the reward to every slave, then judge the slaves."""
        accepted, good = [], False
        for slave in self.slaves:
            self._show(slave, arm, reward)
            bad, reach = slave.badness(self._delta_2)
            good |= bad < reach + self._tolerance
            if bad < reach + self.delta:
                accepted.append(slave)
        self.slaves = accepted if good else [*accepted, self._new_slave()]

    def _show(self, slave: Slave, arm: int, reward: float) -> None:
        x = self.x[arm]
        mean, deviation = slave.ridge.predict(x[None], self.middle)
        eps = math.sqrt(2.0) * self.scale.sigma * float(erfinv(1.0 - self.delta))
        fails = abs(reward - mean[0]) > self.radius(slave.ridge) * deviation[0] + eps
        if not fails:
            slave.ridge.add(x, reward)
        slave.failed = np.append(slave.failed, float(fails))[-self._record :]
