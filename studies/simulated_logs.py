"""Simulated logs of known policies, drawn in bulk from the tables of this project's worlds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from periodic_decisions.logs.log import DecisionLog, Integers
from periodic_decisions.tables.series import TimeGrid
from periodic_envs.arrays import Array
from periodic_envs.process import FiniteProcess
from periodic_envs.worlds.ride_share import RideShare
from periodic_envs.worlds.stationary import Stationary
from periodic_envs.worlds.synthetic_discrete import SyntheticDiscrete

SEASONS = 40
"""Number of whole seasons in a log."""
MORE = 4
"""Number of seasons in a long log, as a multiple of ``SEASONS``."""
EPSILON = 0.3
"""Share of random decisions in the logs of policies that otherwise choose a preferred arm."""
PLAN_PARTS = 4
"""Number of parts of a season; a logging schedule prefers one arm in each part."""


@dataclass(frozen=True)
class Setting:
    """World in which logs are drawn.

    Attributes:
        title: Name of the setting on the page, which is also part of the seed.
        env_id: Id of the world.
        world: World from which processes are drawn.
        poisson: True if rewards are counts, false for Gaussian noise of standard deviation 1.
        day_deviation: Standard deviation of the effects of good and bad days. In each season, one
            random effect is added to the rewards of all arms.
        seasons: Number of whole seasons in each log.
    """

    title: str
    env_id: str
    world: Stationary | SyntheticDiscrete | RideShare
    poisson: bool = False
    day_deviation: float = 0.0
    seasons: int = SEASONS


_SEASONAL = "PeriodicGP-SyntheticDiscrete-v0"
_FIVE = SyntheticDiscrete(n_actions=5)
SETTINGS = {
    "stationary": Setting(
        "Stationary, 5 arms", "PeriodicGP-Stationary-v0", Stationary(n_actions=5)
    ),
    "seasonal": Setting("Seasonal, 5 arms", _SEASONAL, _FIVE),
    "days": Setting("Seasonal, 5 arms, good and bad days", _SEASONAL, _FIVE, day_deviation=1.0),
    "rides": Setting("Ride share, 12 arms", "PeriodicGP-RideShare-v0", RideShare(), poisson=True),
}
LONG = {
    f"{name}, long": replace(SETTINGS[name], seasons=MORE * SEASONS)
    for name in ("seasonal", "rides")
}
"""Settings with longer logs, which show whether errors decrease with the length of the log."""
LOGGING = {
    "uniform": "uniform",
    "epsilon-greedy": f"epsilon-greedy, epsilon {EPSILON:g}",
    "schedule": f"a schedule, {EPSILON:.0%} at random",
}


@dataclass(frozen=True, eq=False)
class Simulated:
    """Logs of one policy, each in a separate world, with values that are unknown in practice.

    Attributes:
        period: Period of the worlds, in steps.
        means: Mean reward of each arm at each step, without the random effects of good and bad
            days, shape (logs, steps, arms).
        arm: Chosen arms, shape (logs, steps).
        reward: Rewards of the chosen arms, shape (logs, steps).
        probability: Probabilities with which the arms were chosen, shape (logs, steps).
    """

    period: float
    means: Array
    arm: Integers
    reward: Array
    probability: Array

    def log(self, number: int) -> DecisionLog:
        """Return one of the logs in the form in which it would be read from a file."""
        steps, arms = self.means.shape[1:]
        return DecisionLog(
            source=f"log {number}",
            grid=TimeGrid(0.0, 1.0),
            names=tuple(f"arm {i}" for i in range(arms)),
            step=np.arange(steps),
            arm=self.arm[number],
            reward=self.reward[number],
            probability=self.probability[number],
        )


def simulate(setting: Setting, logging: str, logs: int, seed: int) -> Simulated:
    """Draw worlds, and a log of the same policy in each world.

    Args:
        setting: World and length of the logs.
        logging: Name of the policy, a key of ``LOGGING``.
        logs: Number of logs.
        seed: Seed of all random numbers.
    """
    rng = np.random.default_rng([seed, list(LOGGING).index(logging), *setting.title.encode()])
    period = float(setting.world.public.periods[0])
    steps = round(period * setting.seasons)
    processes = [setting.world.draw(rng, steps) for _ in range(logs)]
    means = np.stack([_table(process) for process in processes])
    rewards = _rewards(setting, means, period, rng)
    plan = _plan(means.shape, period, rng)
    uniform = rng.random((logs, steps))
    arms = means.shape[2]
    preferred = plan if logging == "schedule" else np.full((logs, steps), -1)
    epsilon = 1.0 if logging == "uniform" else EPSILON
    sums, counts = np.zeros((logs, arms)), np.zeros((logs, arms))
    every = np.arange(logs)
    arm = np.zeros((logs, steps), dtype=np.intp)
    for t in range(steps):
        if logging == "epsilon-greedy":
            preferred[:, t] = (sums / np.maximum(counts, 1.0)).argmax(1)
        # One uniform number determines both whether the policy explores and which arm it explores.
        explored = np.minimum((uniform[:, t] / epsilon * arms).astype(np.intp), arms - 1)
        arm[:, t] = np.where(uniform[:, t] < epsilon, explored, preferred[:, t])
        sums[every, arm[:, t]] += rewards[every, t, arm[:, t]]
        counts[every, arm[:, t]] += 1.0
    probability = epsilon / arms + (1.0 - epsilon) * (arm == preferred)
    reward = np.take_along_axis(rewards, arm[:, :, None], axis=2)[:, :, 0]
    return Simulated(period, means, arm, reward, probability)


def _table(process: Any) -> Array:
    assert isinstance(process, FiniteProcess)
    return np.asarray(process.values[process.rows])


def _rewards(setting: Setting, means: Array, period: float, rng: np.random.Generator) -> Array:
    """Return the rewards of all arms at all steps, chosen or not, shape (logs, steps, arms)."""
    if setting.poisson:
        return rng.poisson(means).astype(np.float64)
    logs, steps = means.shape[:2]
    season = (np.arange(steps) // period).astype(np.intp)
    days = setting.day_deviation * rng.standard_normal((logs, setting.seasons))
    return np.asarray(means + rng.standard_normal(means.shape) + days[:, season, None])


def _plan(shape: tuple[int, ...], period: float, rng: np.random.Generator) -> Integers:
    """Return the arm that a random schedule prefers at each step, shape (logs, steps)."""
    logs, steps, arms = shape
    parts = rng.integers(0, arms, (logs, PLAN_PARTS))
    part = (np.arange(steps) % period / period * PLAN_PARTS).astype(np.intp)
    return np.asarray(parts[:, part])
