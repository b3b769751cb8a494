"""Bandits of other libraries, made to choose and learn as ours do."""

from __future__ import annotations

import contextlib
import io
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from agents.arrays import Array

ARMS, PERIOD = 5, 24.0


@dataclass(frozen=True)
class Peer:
    """A bandit of another library: both functions take the observation of a step."""

    choose: Callable[[Array], int]
    learn: Callable[[Array, int, float], object]


def library(module: str) -> Any:
    """Import a module of another library without its output, or skip the test.

    The test fails instead if ``PERIODIC_GP_REQUIRE_PEERS`` names the library.
    """
    if module.startswith("SMPyBandits"):  # SciPy 1.14 renamed a function that it imports
        special: Any = import_module("scipy.special")
        special.btdtri = special.betaincinv
    try:
        with quiet():
            return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0].lower()
        if name in os.environ.get("PERIODIC_GP_REQUIRE_PEERS", "").split(","):
            pytest.fail(f"{name}: {error}, and PERIODIC_GP_REQUIRE_PEERS names it")
        pytest.skip(f"{name}: {error}")


def quiet() -> contextlib.AbstractContextManager[Any]:
    """Suppress output: SMPyBandits prints much while it is imported and made."""
    return contextlib.redirect_stdout(io.StringIO())


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators that SMPyBandits draws from, and restore them afterwards."""
    before, state = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(state)  # noqa: NPY002


def smpybandits(name: str, module: str, **settings: Any) -> Peer:
    """An index policy of SMPyBandits, which counts steps itself."""
    policies = library(f"SMPyBandits.Policies.{module}")
    with quiet():
        policy = getattr(policies, name)(ARMS, **settings)
        policy.startGame()
    return Peer(
        lambda seen: int(policy.choice()), lambda seen, arm, reward: policy.getReward(arm, reward)
    )


def smpybandits_klucb() -> Peer:
    """Its Gaussian kl-UCB by its formula: as it is called, a tolerance is the variance."""
    bound = library("SMPyBandits.Policies.kullback").klucbGauss
    return smpybandits(
        "klUCB", "klUCB", klucb=lambda mean, level, precision: float(bound(mean, level))
    )


def pymab(name: str, **settings: Any) -> Peer:
    """A policy of pymab."""
    policy = getattr(library("pymab.policies"), name)(n_arms=ARMS, **settings)
    rng = np.random.default_rng(0)
    return Peer(
        lambda seen: int(policy.select_action(rng=rng)),
        lambda seen, arm, reward: policy.update(action=arm, reward=reward),
    )


class Standardised:
    """Rewards standardised as they come, and harmonics: as our linear bandits have them."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def __call__(self, reward: float) -> float:
        """Standardise by mean and deviation of the rewards so far, this one included."""
        self.seen.append(reward)
        deviation = float(np.std(self.seen))
        return (reward - float(np.mean(self.seen))) / deviation if deviation > 0.0 else 0.0

    @staticmethod
    def context(seen: Array) -> Array:
        """Return a constant and three harmonics."""
        angles = 2.0 * np.pi * np.arange(1, 4) * seen[0] / PERIOD
        return np.concatenate([[1.0], np.cos(angles), np.sin(angles)])


def river_linucb() -> Peer:
    """LinUCB of river."""
    policy, scale = library("river.bandit").LinUCBDisjoint(seed=0), Standardised()

    def named(seen: Array) -> dict[int, float]:
        return dict(enumerate(scale.context(seen).tolist()))

    return Peer(
        lambda seen: int(policy.pull(list(range(ARMS)), context=named(seen))),
        lambda seen, arm, reward: policy.update(arm, named(seen), scale(reward)),
    )


def mabwiser_linucb() -> Peer:
    """LinUCB of MABWiser, which makes its models with the first reward."""
    mab, scale = library("mabwiser.mab"), Standardised()
    bandit = mab.MAB(list(range(ARMS)), mab.LearningPolicy.LinUCB(), seed=0)

    def learn(seen: Array, arm: int, reward: float) -> None:
        fit = bandit.partial_fit if scale.seen else bandit.fit
        fit([arm], [scale(reward)], [scale.context(seen).tolist()])

    return Peer(lambda seen: int(bandit.predict([scale.context(seen).tolist()])), learn)


def pymab_linucb() -> Peer:
    """LinUCB of pymab, with a context for every arm."""
    rng, scale = np.random.default_rng(0), Standardised()
    policy = library("pymab.policies").LinUCBPolicy(n_arms=ARMS, n_features=7)

    def contexts(seen: Array) -> Array:
        return np.tile(scale.context(seen), (ARMS, 1))

    return Peer(
        lambda seen: int(policy.select_action(rng=rng, context=contexts(seen))),
        lambda seen, arm, reward: policy.update(
            action=arm, reward=scale(reward), context=contexts(seen)
        ),
    )


def gpytorch_product(length: float, time_length: float, period: float) -> Any:
    """GPyTorch's squared exponential times periodic, whose length-scale is the square of ours."""
    kernels = library("gpytorch").kernels
    place = kernels.RBFKernel(active_dims=(0,)).double()
    time = kernels.PeriodicKernel(active_dims=(1,)).double()
    place.lengthscale, time.lengthscale, time.period_length = length, time_length**2, period
    return place * time
