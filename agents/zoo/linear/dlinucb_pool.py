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
    """Linear model and its record; "slave" is the term of the paper.

    The record has an entry for each of the newest rewards: 1 if the reward was outside the bounds
    that the model predicted for it, otherwise 0.
    """

    def __init__(self, ridge: Ridge) -> None:
        self.ridge, self.failed = ridge, np.zeros(0)

    def badness(self, delta: float) -> tuple[float, float]:
        """Return the badness (mean of the record), and the radius of its confidence interval."""
        if not len(self.failed):
            return 0.0, 0.5
        reach = math.sqrt(math.log(1.0 / delta) / (2.0 * len(self.failed)))
        return float(self.failed.mean()), reach


class DLinUCBPool(LinearAgent):
    """dLinUCB: a master chooses the best of several linear models and drops models that fit badly.

    Pseudo-code::

        a_t <- LinUCB of the slave with the least e - sqrt(log tau) b   (e: badness, b: its reach)
        for each slave: fail <- |y - x' theta| > radius |x| + eps; unless it fails, learn (x, y)
            e <- mean of its last tau fails,  b <- sqrt(log(1 / delta_2) / (2 tau))
            dismiss it if e >= b + delta_1
        add a fresh slave if no slave has e < b + delta_1'

    Reference: [@wu2018learning], Algorithm 1, with eps = sqrt 2 sigma erfinv(1 - delta_1). The
    recommended values are tau = 200, delta_1 = delta_2 = 0.01, delta_1' = 0.002, lam = 0.1, and
    b = 1/2 for a slave without a record. The rules and these values are taken from the port of the
    authors' code by [@russac2019weighted]. The values were not checked against the text of the
    paper.

    Deviations from the paper: the text of the paper was not available. This agent was therefore
    compared with the port and with the authors' code (NonstationaryBanditLib). The features of an
    arm are a constant and the coordinates of the arm, which are centred and scaled into the unit
    ball. Arms without coordinates have unit vectors as features. A box is discretised into
    ``box_arms`` points. The radius of a slave depends on the number of rewards from which the slave
    has learned, as in the authors' code. The port adds to this number the time at which the slave
    was created, so later slaves have wider bounds in the port. Wherever else the port and the
    authors' code differ, this agent follows the port. The authors' code uses the radius only to
    judge slaves, and chooses arms with a constant width (0.6 in its simulation, with tau = 100). In
    that code, the radius contains d log((lam + n) / (0.01 lam)) for n rewards, eps contains sigma^2
    instead of sigma, and a record has one additional trial without failure. The default of delta_2
    is 0.1 in that code, and a slave is kept if its badness e equals the limit b + delta_1.

    Args:
        record: Length tau of a record, in rewards.
        delta: Constant delta_1 of the rules; a confidence bound may fail with this probability.
        delta_badness: Constant delta_2 in the formula of b, the radius of the badness.
        tolerance: Constant delta_1' of the rule that adds a slave.
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
        """Start with one slave."""
        super().start()
        self.slaves = [self._new_slave()]

    def _new_slave(self) -> Slave:
        """Return a slave without observations."""
        return Slave(self.new_ridge())

    def choose(self, t: float, observation: Array) -> int:
        """Return the choice of the slave whose badness has the smallest lower confidence bound."""
        records = [slave.badness(self._delta_2) for slave in self.slaves]
        hope = math.sqrt(math.log(self._record))
        best = min(range(len(records)), key=lambda i: records[i][0] - hope * records[i][1])
        return self.best_of(self.bounds(self.slaves[best].ridge))

    def learn(self, arm: int, reward: float, t: float) -> None:
        """Pass the reward to every slave, drop bad slaves, and add a slave if none is good."""
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
