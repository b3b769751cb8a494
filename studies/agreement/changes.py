"""Why ``glr-ucb`` has more regret than the GLR-klUCB of SMPyBandits: one difference at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces

from agents.base import Problem
from agents.registry import make_agent
from evaluation.statistics import mean_interval, paired_ratio
from periodic_envs.arrays import Array
from studies.agreement.others import library, quiet, seeded
from studies.markdown import markdown_table, shown

ARMS, STEPS, CHANGES, RUNS = 5, 2000, 4, 20
Bandit = tuple[Callable[[int], int], Callable[[int, int, float], object]]
"""How it is asked at a step, and told of an arm's reward."""
DELTA = 1.0 / np.sqrt(STEPS)
OURS, TENTH, THEIRS = "`glr-ucb`", "`glr-ucb:exploration=0.1`", "SMPyBandits"
TENFOLD = f"{THEIRS}, ten times its forced exploration"


def means(seed: int) -> Array:
    """Of every arm at every step: five stretches of equal length, each drawn anew."""
    stretches = np.random.default_rng([seed, 0]).uniform(0.1, 0.9, (CHANGES + 1, ARMS))
    return np.repeat(stretches, STEPS // (CHANGES + 1), axis=0)


def regret(make: Callable[[int], Bandit], seed: int) -> float:
    """Of one run, with rewards 0 and 1 that are the same for every bandit."""
    table = means(seed)
    chance = np.random.default_rng([seed, 1]).random(table.shape)
    with seeded(seed):
        choose, learn = make(seed)
        total = 0.0
        for t in range(STEPS):
            arm = choose(t)
            total += table[t].max() - table[t, arm]
            learn(t, arm, float(chance[t, arm] < table[t, arm]))
    return float(total)


def ours(settings: str) -> Callable[[int], Bandit]:
    """``glr-ucb``, told that rewards in [0, 1] are 1/2-sub-Gaussian."""

    def make(seed: int) -> Bandit:
        space = spaces.Box(0.0, np.inf, (1,), np.float64)
        problem = Problem(spaces.Discrete(ARMS), space, horizon=STEPS)
        agent = make_agent(f"glr-ucb:scale=0.5{settings}", problem, np.random.default_rng(seed))
        return (
            lambda t: int(agent.act(np.array([float(t)]))),
            lambda t, arm, reward: agent.update(np.array([float(t)]), arm, reward),
        )

    return make


def theirs(
    *, exploration: float = 1.0, delta: float | None = None, **settings: Any
) -> Callable[[int], Bandit]:
    """GLR-klUCB of SMPyBandits with Gaussian divergences, sigma = 1/2.

    Args:
        exploration: Factor of the forced exploration that it chooses by itself.
        delta: The false alarms of the test, instead of those that it chooses.
        settings: Other arguments of its class.
    """
    found = library("SMPyBandits.Policies.GLR_UCB")
    index = library("SMPyBandits.Policies.klUCB_forGLR").klUCB_forGLR
    bound = library("SMPyBandits.Policies.kullback").klucbGauss

    def klucb(mean: float, level: float, precision: float) -> float:
        return float(bound(mean, level))

    def make(seed: int) -> Bandit:
        with quiet():
            policy = found.OurGaussianGLR_IndexPolicy(
                ARMS,
                horizon=STEPS,
                max_nb_random_events=CHANGES,
                alpha0=exploration,
                policy=partial(index, klucb=klucb),
                **settings,
            )
            policy.startGame()
        if delta is not None:
            policy.delta = delta
        return (
            lambda t: int(policy.choice()),
            lambda t, arm, reward: policy.getReward(arm, reward),
        )

    return make


def chosen_delta() -> float:
    """The false alarms that it asks for by itself."""
    make = library("SMPyBandits.Policies.GLR_UCB").smart_delta_from_T_UpsilonT
    with quiet():
        return float(make(horizon=STEPS, max_nb_random_events=CHANGES, nbArms=ARMS))


def last_arm_is_forced() -> bool:
    """Whether its forced choices ever are the last arm, in a thousand of them."""
    by_itself = 0.1 * np.sqrt(ARMS * CHANGES * np.log(STEPS) / STEPS)
    with seeded(0):
        choose, _ = theirs(exploration=1.0 / by_itself)(0)  # always forced
        return any(choose(t) == ARMS - 1 for t in range(1000))


def variants() -> dict[str, Callable[[int], Bandit]]:
    """What is run."""
    return {
        OURS: ours(""),
        TENTH: ours(",exploration=0.1"),
        THEIRS: theirs(),
        TENFOLD: theirs(exploration=10.0),
        f"{THEIRS}, delta = 1 / sqrt(T)": theirs(delta=DELTA),
        f"{THEIRS}, without localisation": theirs(use_localization=False),
        f"{THEIRS}, a test after every reward, at every place": theirs(
            lazy_detect_change_only_x_steps=1, lazy_try_value_s_only_x_steps=1
        ),
    }


def table(found: dict[str, Array]) -> str:
    """Mean regrets, and their ratio to ours."""
    base = next(iter(found.values()))
    rows = [
        [name, shown(mean_interval(each), 0), shown(paired_ratio(each, base), 2)]
        for name, each in found.items()
    ]
    return markdown_table(["variant", "regret", "ratio to `glr-ucb`"], rows)


def measure(runs: int = RUNS) -> dict[str, Array]:
    """The regret of each run of each variant."""
    return {
        name: np.array([regret(make, seed) for seed in range(runs)])
        for name, make in variants().items()
    }
