"""Gaussian processes of other libraries: their beliefs after the rewards that ours are told."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.arrays import Array
from agents.gp import Box, Incremental, SquaredExponential, TimeSquaredExponential
from agents.gp.relevance import coming_times
from tests.test_agents.playing import fresh, tell
from tests.test_agreement.peers import gpytorch_product, library

PERIOD, LENGTH, TIME_LENGTH, DBO_TIME_LENGTH, NOISE = 6.0, 0.8, 1.3, 10.0, 0.01
REWARDS = 150
RNG = np.random.default_rng(0)
ARM, T = RNG.integers(5, size=REWARDS), np.arange(REWARDS, dtype=np.float64)
Y, PLACES = RNG.standard_normal(REWARDS), np.linspace(0.0, 2.0, 5)
X = np.column_stack([PLACES[ARM], T])
ASKED = np.column_stack([PLACES, np.full(5, float(REWARDS))])
"""Arms, times and rewards; places and times of the rewards, and those that are points for."""
VARIANCE, PLACE_LENGTH, NOISE_VARIANCE, KEPT = 1.3, 0.3, 0.1, 15
"""Of the kernel of relevance, and the observations in each of its data sets."""
Belief = tuple[Array, Array]
"""Means and deviations."""


def ours(name: str, **settings: Any) -> Belief:
    """The belief of one of our agents."""
    known = {"length_scale": LENGTH, "noise_variance": NOISE, **settings}
    agent = fresh(f"{name}:" + ",".join(f"{key}={value}" for key, value in known.items()))
    tell(agent, zip(T, ARM.tolist(), Y, strict=True))
    mean, deviation = agent.belief(float(REWARDS))
    return mean, deviation


def scikit_learn() -> Belief:
    """The belief of scikit-learn's regressor; a kernel of our own sees one column only."""
    gaussian, kernels = (library(f"sklearn.gaussian_process{part}") for part in ("", ".kernels"))

    class Product(kernels.Kernel):  # type: ignore[misc, name-defined]
        """Squared exponential of the first column times periodic of the second."""

        def __init__(self) -> None:  # scikit-learn asks it for its parameters: there are none
            pass

        def __call__(self, x: Array, y: Array | None = None, eval_gradient: bool = False) -> Any:
            y = x if y is None else y
            place, time = kernels.RBF(LENGTH), kernels.ExpSineSquared(TIME_LENGTH, PERIOD)
            return place(x[:, :1], y[:, :1]) * time(x[:, 1:], y[:, 1:])

        def diag(self, x: Array) -> Array:
            return np.ones(len(x))

        def is_stationary(self) -> bool:
            return True

    model = gaussian.GaussianProcessRegressor(Product(), alpha=NOISE, optimizer=None).fit(X, Y)
    mean, deviation = model.predict(ASKED, return_std=True)
    return mean, deviation


def gpytorch() -> Belief:
    """The belief of GPyTorch with zero mean."""
    torch, gp = library("torch"), library("gpytorch")

    class Exact(gp.models.ExactGP):  # type: ignore[misc, name-defined]
        """Zero mean, squared exponential times periodic."""

        def forward(self, x: Any) -> Any:
            covariance = gpytorch_product(LENGTH, TIME_LENGTH, PERIOD)(x)
            return gp.distributions.MultivariateNormal(gp.means.ZeroMean()(x), covariance)

    x, y, points = (torch.as_tensor(each) for each in (X, Y, ASKED))
    likelihood = gp.likelihoods.GaussianLikelihood().double()
    model = Exact(x, y, likelihood).double()
    likelihood.noise = NOISE
    model.eval()
    with torch.no_grad(), gp.settings.fast_computations(False, False, False):
        belief = model(points)
        return belief.mean.numpy(), belief.variance.sqrt().numpy()


def wdbo_algo() -> Belief:
    """The belief of the model of wdbo-algo, of a reward: its noise is taken off."""
    gp, torch = library("gpytorch"), library("torch")
    x, y, points = (torch.as_tensor(each) for each in (X, Y, ASKED))
    likelihood = gp.likelihoods.GaussianLikelihood().double()
    rbf, make = gp.kernels.RBFKernel, library("wdbo_algo.model").SpaceTimeGPModel
    model = make(rbf, [], rbf, [], x, y, likelihood).double()
    model.set_parameters(1.0, LENGTH, DBO_TIME_LENGTH)
    likelihood.noise = NOISE
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gp.settings.fast_computations(False, False, False):
        belief = model.posterior(points)
        return belief.mean.numpy(), (belief.variance - NOISE).sqrt().numpy()


def our_relevance(x: Array, t: Array, y: Array) -> Array:
    """The relevance of every observation for all times after the last one."""
    kernel = VARIANCE * SquaredExponential(PLACE_LENGTH) * TimeSquaredExponential(DBO_TIME_LENGTH)
    posterior = Incremental(kernel, Box(-4.0, 5.0), NOISE_VARIANCE)
    for row in zip(x[:, None], t, y, strict=True):
        posterior.observe(*row)
    everywhere = np.linspace(-4.0, 5.0, 200)[:, None]  # beyond these points there is nothing
    return posterior.relevance(coming_times(kernel, float(KEPT)), everywhere)()


def their_relevance(x: Array, t: Array, y: Array) -> Array:
    """The relevance by wdbo-criterion, in closed form over all of space."""
    criterion = library("wdbo_criterion")
    place, clock = criterion.RBFKernel(PLACE_LENGTH), criterion.RBFKernel(DBO_TIME_LENGTH)
    sizes = (KEPT, 1, VARIANCE, NOISE_VARIANCE)
    places = np.ascontiguousarray(x[:, None])
    arguments = (places, y, t, *sizes, place, clock, float(KEPT), 0, 1)
    return np.asarray(criterion.wasserstein_criterion(*arguments), dtype=np.float64)
