"""Agent of BoTorch: Bayesian optimisation with Gaussian processes in PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from agents.checks import not_negative
from periodic_gp_peers.peer import Peer

FIRST_FIT, GROWTH = 10, 1.25
"""Hyper-parameters are fitted after ten rewards, then whenever there are 25 % more rewards than at
the previous fit."""


class BoTorchGPUCB(Peer):
    """GP-UCB of BoTorch: SingleTaskGP with a kernel over arms times a kernel for each season.

    The kernel over arms is a squared exponential; the kernels of the seasons are periodic.

    Args:
        beta: Argument of ``UpperConfidenceBound``: the square of the width of the bound in
            standard deviations of the mean.
        common: Arguments of :class:`Peer`.
    """

    extra = "botorch"
    libraries = ("botorch", "gpytorch", "torch")

    def __init__(self, problem: Any, rng: Any, *, beta: float = 1.0, **common: Any) -> None:
        self._beta = not_negative("beta", beta)
        super().__init__(problem, rng, **common)

    def start(self) -> None:
        """Import the library, and create the kernel and an empty list of rewards."""
        self._torch, self._models = self.library("torch"), self.library("botorch.models")
        self._acquisition = self.library("botorch.acquisition")
        self._arms, self._history, self._rewards = self.arm_features(), [], []
        self._parts, self._model, self._fitted = {"covar_module": self._kernel()}, None, 0

    def _kernel(self) -> Any:
        kernels, d = self.library("gpytorch.kernels"), self._arms.shape[1]
        prior = self.library("botorch.models.utils.gpytorch_modules")
        product = prior.get_covar_module_with_dim_scaled_prior(d, active_dims=tuple(range(d)))
        for period in self.periods:
            season = kernels.PeriodicKernel(active_dims=(d,)).double()
            season.period_length = period
            season.raw_period_length.requires_grad_(False)  # known, so it is not fitted
            product = product * season
        return kernels.ScaleKernel(product)

    def choose(self, t: float) -> int:
        """Return the arm with the greatest bound; a random arm before there are two rewards."""
        if len(self._rewards) < 2:
            return int(self.rng.integers(self.n_arms))
        if self._model is None:
            self._model = self._conditioned()
        bound = self._acquisition.UpperConfidenceBound(self._model, beta=self._beta)
        inputs = np.hstack([self._arms, np.full((self.n_arms, 1), t)])
        with self._torch.no_grad():
            return self.best_of(bound(self._torch.as_tensor(inputs)[:, None]).numpy())

    def learn(self, t: float, arm: int, reward: float) -> None:
        """Store the reward; the next decision creates a model that includes it."""
        self._history.append([*self._arms[arm], t])
        self._rewards.append([reward])
        self._model = None

    def _conditioned(self) -> Any:
        """Return the model given all rewards, with new hyper-parameters if they are due."""
        data = (self._torch.as_tensor(np.array(x)) for x in (self._history, self._rewards))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # for inputs such as t that are outside the unit cube
            model = self._models.SingleTaskGP(*data, **self._parts)
            if len(self._rewards) >= max(FIRST_FIT, GROWTH * self._fitted):
                self._fit(model)
                self._fitted = len(self._rewards)
        self._parts |= {"mean_module": model.mean_module, "likelihood": model.likelihood}
        return model.eval()

    def _fit(self, model: Any) -> None:
        likelihood = self.library("gpytorch.mlls").ExactMarginalLogLikelihood
        with self._torch.random.fork_rng():  # the fit may restart from random values
            self._torch.manual_seed(self.seed())
            self.library("botorch.fit").fit_gpytorch_mll(likelihood(model.likelihood, model))
