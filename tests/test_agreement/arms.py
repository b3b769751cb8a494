"""Methods for arms: both are told the same rewards of the same arms, and asked at every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from agents.base import Problem
from agents.registry import make_agent
from evaluation.provenance import version_of
from periodic_envs.arrays import Array
from tests.test_agreement.others import library, quiet, seeded

ARMS, STEPS, PERIOD = 5, 1000, 24.0
FIRST = 60
"""Steps that both are told of before they are asked: every arm is known, so that nothing ties."""
Chooser = Callable[[Array], int]
Learner = Callable[[Array, int, float], object]


@dataclass(frozen=True)
class Agreement:
    """What came of a comparison.

    Attributes:
        agent: Ours, with the settings that make it the other's.
        other: Theirs, with its version.
        found: The share of equal choices, or the largest difference.
        note: What had to be set equal, or why it differs.
    """

    agent: str
    other: str
    found: str
    note: str = ""


@dataclass(frozen=True)
class Other:
    """Somebody else's bandit: how it is asked and told, with the context of a step."""

    name: str
    choose: Chooser
    learn: Learner


def problem(periods: tuple[float, ...] = (PERIOD,)) -> Problem:
    """Arms with rewards in [0, 1] of which nothing else is told."""
    space = spaces.Box(0.0, np.inf, (1,), np.float64)
    return Problem(spaces.Discrete(ARMS), space, horizon=STEPS, periods=periods)


def rewards(seed: int = 0) -> Array:
    """Of every arm at every step, in [0, 1], with a season: shape (steps, arms)."""
    rng = np.random.default_rng(seed)
    phases = 2.0 * np.pi * (np.arange(STEPS)[:, None] / PERIOD + np.arange(ARMS) / ARMS)
    means = 0.5 + 0.15 * np.sin(phases) + np.linspace(-0.05, 0.05, ARMS)
    return np.clip(means + 0.15 * rng.standard_normal((STEPS, ARMS)), 0.0, 1.0)


def share_equal(agent: str, other: Other) -> float:
    """Of the steps after the first ones, those at which both would choose the same arm.

    They are told of our agent's choice: a bandit that went its own way would soon see another
    history, and one different choice would count for many.
    """
    table, ours = rewards(), make_agent(agent, problem(), np.random.default_rng(0))
    equal = []
    with seeded(0):
        for t in range(STEPS):
            seen = np.array([float(t)])
            arm = t % ARMS
            if t >= FIRST:
                arm = ours.act(seen)
                equal.append(arm == other.choose(seen))
            ours.update(seen, arm, float(table[t, arm]))
            other.learn(seen, arm, float(table[t, arm]))
    return float(np.mean(equal))


def compared(agent: str, make: Callable[[], Other], note: str = "") -> Agreement:
    """One row of the page."""
    other = make()
    equal = share_equal(agent, other)
    return Agreement(agent, other.name, f"{equal:.1%} of choices equal", note)


def smpybandits(name: str, module: str, **settings: Any) -> Other:
    """An index policy of SMPyBandits, which counts steps by itself."""
    found = library(f"SMPyBandits.Policies.{module}")
    with quiet():
        policy = getattr(found, name)(ARMS, **settings)
        policy.startGame()

    def learn(seen: Array, arm: int, reward: float) -> None:
        policy.getReward(arm, reward)

    return Other(_named("SMPyBandits", name), lambda seen: int(policy.choice()), learn)


def pymab(name: str, **settings: Any) -> Other:
    """A policy of pymab."""
    policy = getattr(library("pymab.policies"), name)(n_arms=ARMS, **settings)
    rng = np.random.default_rng(0)
    return Other(
        _named("pymab", name),
        lambda seen: int(policy.select_action(rng=rng)),
        lambda seen, arm, reward: policy.update(action=arm, reward=reward),
    )


class Standardised:
    """Rewards standardised as they come, and harmonics: as our linear bandits have them."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def __call__(self, reward: float) -> float:
        """By mean and deviation of the rewards so far, this one included."""
        self.seen.append(reward)
        deviation = float(np.std(self.seen))
        return (reward - float(np.mean(self.seen))) / deviation if deviation > 0.0 else 0.0

    @staticmethod
    def context(seen: Array) -> Array:
        """A constant and three harmonics."""
        angles = 2.0 * np.pi * np.arange(1, 4) * seen[0] / PERIOD
        return np.concatenate([[1.0], np.cos(angles), np.sin(angles)])


def river_linucb() -> Other:
    """LinUCB of river."""
    policy, scale = library("river.bandit").LinUCBDisjoint(seed=0), Standardised()

    def named(seen: Array) -> dict[int, float]:
        return dict(enumerate(scale.context(seen).tolist()))

    def learn(seen: Array, arm: int, reward: float) -> None:
        policy.update(arm, named(seen), scale(reward))

    return Other(
        _named("river", "LinUCBDisjoint"),
        lambda seen: int(policy.pull(list(range(ARMS)), context=named(seen))),
        learn,
    )


def mabwiser_linucb() -> Other:
    """LinUCB of MABWiser, which makes its models with the first reward."""
    mab, scale = library("mabwiser.mab"), Standardised()
    bandit = mab.MAB(list(range(ARMS)), mab.LearningPolicy.LinUCB(), seed=0)

    def learn(seen: Array, arm: int, reward: float) -> None:
        told = bandit.partial_fit if scale.seen else bandit.fit
        told([arm], [scale(reward)], [scale.context(seen).tolist()])

    return Other(
        _named("mabwiser", "LinUCB"),
        lambda seen: int(bandit.predict([scale.context(seen).tolist()])),
        learn,
    )


def pymab_linucb() -> Other:
    """LinUCB of pymab, with a context for every arm."""
    rng, scale = np.random.default_rng(0), Standardised()
    policy = library("pymab.policies").LinUCBPolicy(n_arms=ARMS, n_features=7)

    def shown(seen: Array) -> Array:
        return np.tile(scale.context(seen), (ARMS, 1))

    return Other(
        _named("pymab", "LinUCBPolicy"),
        lambda seen: int(policy.select_action(rng=rng, context=shown(seen))),
        lambda seen, arm, reward: policy.update(
            action=arm, reward=scale(reward), context=shown(seen)
        ),
    )


def smpybandits_klucb() -> Other:
    """Its Gaussian kl-UCB as its formula has it: as it is called, a tolerance is the variance."""
    bound = library("SMPyBandits.Policies.kullback").klucbGauss

    def klucb(mean: float, level: float, precision: float) -> float:
        return float(bound(mean, level))

    return smpybandits("klUCB", "klUCB", klucb=klucb)


def _named(package: str, what: str) -> str:
    return f"{package} {version_of(package)}, `{what}`"


UNIT = "rewards in [0, 1] are 1/2-sub-Gaussian"
WIDTH = "the width of the mean, not of a reward"
ROWS: list[Callable[[], Agreement]] = [
    lambda: compared("linucb", river_linucb, "at both defaults"),
    lambda: compared("linucb:noise=0", mabwiser_linucb, WIDTH),
    lambda: compared("linucb:noise=0", pymab_linucb, WIDTH),
    lambda: compared("ucb1:scale=0.5", lambda: smpybandits("UCB", "UCB"), UNIT),
    lambda: compared("ucb1:scale=0.5", lambda: pymab("UCBPolicy", c=2.0), UNIT),
    lambda: compared(
        "kl-ucb:scale=0.5",
        smpybandits_klucb,
        f"{UNIT}; called as its `klUCB` calls it, its `klucbGauss` takes the numerical tolerance "
        "for the variance, which is mended here",
    ),
    lambda: compared(
        "sw-ucb:scale=0.5,window=200,xi=0.6",
        lambda: smpybandits("SWUCB", "SlidingWindowUCB", tau=200, alpha=0.6),
        UNIT,
    ),
    lambda: compared(
        "sw-ucb:scale=0.5,window=200,xi=0.6",
        lambda: pymab("SlidingWindowUCBPolicy", window_size=200, c=0.6),
        UNIT,
    ),
    lambda: compared(
        "d-ucb:scale=0.5,gamma=0.99,xi=0.6",
        lambda: pymab("DiscountedUCBPolicy", discount_factor=0.99, c=2.4),
        "c there is 4 xi here",
    ),
    lambda: compared(
        "d-ucb:scale=0.5,gamma=0.99,xi=0.6",
        lambda: smpybandits("DiscountedUCB", "DiscountedUCB", gamma=0.99, alpha=4.8),
        "alpha / 2 there is 4 xi here; theirs discounts an arm only when it is pulled, so that an "
        "arm that is left alone looks as well known as before",
    ),
]
"""What compares each pair."""
