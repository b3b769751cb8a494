"""Gaussian processes: kernels, posteriors, acquisition functions, fitting.

NOTATION.md in this folder lists the symbols.
"""

from agents.arrays import Array
from agents.gp.acquisition import UCB, argmax, upper_bound
from agents.gp.actions import Actions, Box, Finite, InContext, Points
from agents.gp.beta import (
    Beta,
    BoxBeta,
    ConstantBeta,
    FiniteBeta,
    PaperBeta,
    PrintedBeta,
    ScaledBeta,
    SteadyBeta,
    parse_beta,
)
from agents.gp.evidence import Normaliser
from agents.gp.features import RankError
from agents.gp.fit import Fit, fit
from agents.gp.kernels.action import EmpiricalCovariance, Index, Linear, Matern, SquaredExponential
from agents.gp.kernels.base import ActionKernel, Kernel, Sum, Term, TimeKernel
from agents.gp.kernels.context import ContextSquaredExponential, InThisContext
from agents.gp.kernels.time import (
    Constant,
    Decay,
    Harmonics,
    Periodic,
    TimeSquaredExponential,
    TruncatedPeriodic,
)
from agents.gp.posteriors.base import (
    Gradient,
    Posterior,
    Prediction,
    Predictive,
)
from agents.gp.posteriors.engines import make_posterior
from agents.gp.posteriors.incremental import Incremental
from agents.gp.posteriors.mixture import Mixture
from agents.gp.posteriors.period_search import PeriodSearch
from agents.gp.posteriors.state_space import StateSpace

__all__ = [
    "UCB",
    "ActionKernel",
    "Actions",
    "Array",
    "Beta",
    "Box",
    "BoxBeta",
    "Constant",
    "ConstantBeta",
    "ContextSquaredExponential",
    "Decay",
    "EmpiricalCovariance",
    "Finite",
    "FiniteBeta",
    "Fit",
    "Gradient",
    "Harmonics",
    "InContext",
    "InThisContext",
    "Incremental",
    "Index",
    "Kernel",
    "Linear",
    "Matern",
    "Mixture",
    "Normaliser",
    "PaperBeta",
    "PeriodSearch",
    "Periodic",
    "Points",
    "Posterior",
    "Prediction",
    "Predictive",
    "PrintedBeta",
    "RankError",
    "ScaledBeta",
    "SquaredExponential",
    "StateSpace",
    "SteadyBeta",
    "Sum",
    "Term",
    "TimeKernel",
    "TimeSquaredExponential",
    "TruncatedPeriodic",
    "argmax",
    "fit",
    "make_posterior",
    "parse_beta",
    "upper_bound",
]
