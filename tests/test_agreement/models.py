"""Models: the same beliefs after the same rewards, to round-off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.registry import make_agent
from agents.testing import example_problem, observe
from evaluation.provenance import version_of
from periodic_envs.arrays import Array
from tests.test_agreement.arms import Agreement
from tests.test_agreement.others import library

PERIOD, LENGTH, TIME_LENGTH, NOISE = 6.0, 0.8, 1.3, 0.01
REWARDS = 150
NOW = float(REWARDS)


def told() -> tuple[NDArray[np.int64], Array, Array]:
    """Arms, times and rewards."""
    rng = np.random.default_rng(0)
    t = np.arange(REWARDS, dtype=np.float64)
    arm = rng.integers(5, size=REWARDS)
    return arm, t, rng.standard_normal(REWARDS)


def our_belief() -> tuple[Array, Array]:
    """Means and deviations of ``periodic-gp-ucb`` after these rewards, for its five actions."""
    settings = f"length_scale={LENGTH},time_length_scale={TIME_LENGTH},noise_variance={NOISE}"
    return belief_after(f"periodic-gp-ucb:{settings}")


def belief_after(text: str) -> tuple[Array, Array]:
    """Means and deviations of an agent that was told these rewards, for its five actions."""
    agent: Any = make_agent(text, example_problem("finite"), np.random.default_rng(0))
    for arm, t, y in zip(*told(), strict=True):
        agent.update(observe(t), int(arm), float(y))
    mean, deviation = agent.belief(NOW)
    return mean, deviation


def inputs() -> tuple[Array, Array, Array]:
    """Places and times of the rewards, the rewards, and places and times that are asked for."""
    places = np.linspace(0.0, 2.0, 5)
    arm, t, y = told()
    asked = np.column_stack([places, np.full(5, NOW)])
    return np.column_stack([places[arm], t]), y, asked


def scikit_learn() -> tuple[Array, Array]:
    """The belief of scikit-learn's regressor; a kernel of its own sees one column only."""
    gaussian, kernels = (library(f"sklearn.gaussian_process{part}") for part in ("", ".kernels"))

    class Product(kernels.Kernel):  # type: ignore[misc, name-defined]
        """Squared exponential of the first column times periodic of the second."""

        def __init__(self) -> None:  # scikit-learn asks it for its parameters: there are none
            pass

        def __call__(self, x: Array, y: Array | None = None, eval_gradient: bool = False) -> Array:
            y = x if y is None else y
            place, time = kernels.RBF(LENGTH), kernels.ExpSineSquared(TIME_LENGTH, PERIOD)
            found: Array = place(x[:, :1], y[:, :1]) * time(x[:, 1:], y[:, 1:])
            return found

        def diag(self, x: Array) -> Array:
            return np.ones(len(x))

        def is_stationary(self) -> bool:
            return True

    x, y, asked = inputs()
    model = gaussian.GaussianProcessRegressor(Product(), alpha=NOISE, optimizer=None).fit(x, y)
    mean, deviation = model.predict(asked, return_std=True)
    return mean, deviation


def gpytorch() -> tuple[Array, Array]:
    """The belief of GPyTorch, whose periodic length-scale is the square of ours."""
    torch, gp = library("torch"), library("gpytorch")
    kernels = gp.kernels

    class Exact(gp.models.ExactGP):  # type: ignore[misc, name-defined]
        """Zero mean, squared exponential times periodic."""

        def __init__(self, x: Any, y: Any, likelihood: Any) -> None:
            super().__init__(x, y, likelihood)
            self.mean_module = gp.means.ZeroMean()
            place = kernels.RBFKernel(active_dims=(0,)).double()
            time = kernels.PeriodicKernel(active_dims=(1,)).double()
            place.lengthscale, time.lengthscale = LENGTH, TIME_LENGTH**2
            time.period_length = PERIOD
            self.covar_module = place * time

        def forward(self, x: Any) -> Any:
            return gp.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    x, y, asked = (torch.as_tensor(each) for each in inputs())
    likelihood = gp.likelihoods.GaussianLikelihood().double()
    model = Exact(x, y, likelihood).double()
    likelihood.noise = NOISE
    model.eval()
    with torch.no_grad(), gp.settings.fast_computations(False, False, False):
        found = model(asked)
        return found.mean.numpy(), found.variance.sqrt().numpy()


def belief_of(package: str, belief: Callable[[], tuple[Array, Array]], note: str) -> Agreement:
    """One row of the page."""
    gaps = [np.abs(a - b).max() for a, b in zip(our_belief(), belief(), strict=True)]
    found = f"means differ by {gaps[0]:.0e} at most, deviations by {gaps[1]:.0e}"
    return Agreement("periodic-gp-ucb", f"{package} {version_of(package)}", found, note)


def russac() -> Agreement:
    """D-LinUCB's index as Algorithm 1 of Russac, Vernade and Cappe prints it."""
    discount, lam, delta = 0.9, 0.5, 0.1
    agent: Any = make_agent(
        f"d-linucb:discount={discount},delta={delta},regulariser={lam}",
        example_problem("finite"),
        np.random.default_rng(0),
    )
    x, eye, (arms, times, rewards) = agent.x, lam * np.eye(2), told()
    v, w, b, gaps = eye, eye, np.zeros(2), []
    for n, (arm, t, y) in enumerate(zip(arms, times, rewards, strict=True), 1):
        outer = np.outer(x[arm], x[arm])
        v = discount * v + outer + (1.0 - discount) * eye
        w = discount**2 * w + outer + (1.0 - discount**2) * eye
        b = discount * b + y * x[arm]
        agent.update(observe(t), int(arm), float(y))
        spent = (1.0 - discount ** (2 * n)) / (lam * 2 * (1.0 - discount**2))
        beta = 2.0 * np.log(1.0 / delta) + 2.0 * np.log1p(spent)
        radius = 0.1 * np.sqrt(beta) + np.sqrt(lam) * 2.0 * np.hypot(1.0, 0.1)
        inverse = np.linalg.inv(v)
        width = np.sqrt(np.einsum("nd,de,ne->n", x, inverse @ w @ inverse, x))
        gaps.append(np.abs(agent.bounds(agent._ridge) - x @ inverse @ b - radius * width).max())
    found = f"indices differ by {max(gaps):.0e} at most"
    note = f"{REWARDS} rewards; S is twice the deviation of all rewards"
    return Agreement("d-linucb", "Russac et al. 2019, Algorithm 1", found, note)


SAME = f"{REWARDS} rewards, hyper-parameters given"
ROWS: list[Callable[[], Agreement]] = [
    lambda: belief_of("scikit-learn", scikit_learn, SAME),
    lambda: belief_of("gpytorch", gpytorch, f"{SAME}; its periodic length-scale is our l^2"),
]
"""What compares each pair."""
WRITTEN_OUT: list[Callable[[], Agreement]] = [russac]
"""Papers whose formulas stand here a second time: nobody else's code."""
