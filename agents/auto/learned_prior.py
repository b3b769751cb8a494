"""Priors learned from other data, in small files: profiles, covariances, persistence.

The file is JSON, written by ``periodic-gp learn-prior``. It describes measurements at the arms on a
transformed scale, in multiples of ``unit``: ``profile`` is the mean for each step of a season and
each arm, and the residual is a Gaussian process, a sum of terms

    level: F F^T + diag(own),    decay: the same x Decay(eps),    season: the same x season,

plus noise. If the arms have ``places`` (coordinates in the unit of the problem's
``action_features``), a problem may have a subset of them, matched by coordinates. Without places
the problem must have the same arms in the same order. Time 0 of the problem is the first step of
the profile. (Files of version 1 have places, and the unit 1.)

Measurements are rewards, or negative rewards if small values are better. The sign follows from the
rewards of a warm start; without one, large values are assumed to be better.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.auto.transform import TRANSFORMS, RewardTransform
from agents.base import Problem
from agents.errors import CodedError
from agents.gp import (
    Array,
    Decay,
    EmpiricalCovariance,
    Kernel,
    Normaliser,
    Sum,
    Term,
    TimeKernel,
    TruncatedPeriodic,
)

FORMAT, VERSIONS = "periodic-gp prior", (1, 2)
SAME_PLACE = 0.05
"""Distance up to which places are equal, unless half the distance between places is smaller."""
MAX_BYTES = 2**20
"""Largest file that is read."""
MAX_NOISE_VARIANCE = 1e6
"""Largest variance of the noise, in squared units of the transformed scale."""
SHIPPED = {"madrid": Path(__file__).with_name("madrid.json")}


class PriorError(CodedError, ValueError):
    """Invalid prior, or one that does not fit the problem."""


@dataclass(frozen=True, eq=False)
class LearnedPrior:
    """Prior for the arms of one problem.

    Attributes:
        kernel: Covariance of the transformed rewards around the profile.
        noise_variance: Noise variance of the transformed rewards.
        scale: Transform of the rewards.
        profile: Prior mean, shape (steps of a season, arms).
        period: Length of the season.
    """

    kernel: Kernel
    noise_variance: float
    scale: RewardTransform
    profile: Array
    period: float

    def __call__(self, t: float) -> Array:
        """Return the prior mean of all arms at time t, shape (n,)."""
        return np.asarray(self.profile[self._row(t)])

    def at(self, arms: NDArray[Any], t: Array) -> Array:
        """Return the prior mean of single arms at their times, shape (n,)."""
        return np.asarray(self.profile[self._row(t), arms])

    def _row(self, t: Any) -> NDArray[np.int64]:
        steps = len(self.profile)
        return (np.asarray(t) / self.period % 1.0 * steps + 1e-9).astype(np.int64) % steps


def load_prior(name: str, problem: Problem) -> LearnedPrior:
    """Return a shipped prior by name, or one from a file, for the arms of a problem.

    Raises:
        PriorError: If the file is missing or damaged, or does not fit the problem.
    """
    if not isinstance(name, str) or not name.strip():
        raise PriorError(
            "unknown-prior", f"prior must be a file, or one of {', '.join(SHIPPED)}, got {name!r}"
        )
    path = SHIPPED.get(name, Path(name))
    content = _read(str(path))
    try:
        arms = _matched(content, problem)
        prior = _parsed(content, arms)
        _check_season(prior, problem)
        return prior
    except PriorError as error:
        raise PriorError(error.code, f"cannot use the prior {name!r}: {error}") from None
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise PriorError(
            "damaged-file",
            f"cannot use the prior {name!r}: it is damaged ({type(error).__name__}: {error})",
        ) from None


@lru_cache(maxsize=8)
def _read(path: str) -> Mapping[str, Any]:
    file = Path(path)
    if not file.is_file():
        known = ", ".join(SHIPPED)
        raise PriorError(
            "unknown-prior", f"unknown prior {path!r}: expected a file, or one of {known}"
        )
    if file.stat().st_size > MAX_BYTES:
        raise PriorError(
            "file-too-large",
            f"cannot use the prior {path!r}: it is larger than {MAX_BYTES:,} bytes",
        )
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PriorError(
            "damaged-file", f"cannot use the prior {path!r}: not JSON ({error})"
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise PriorError(
            "wrong-format", f"cannot use the prior {path!r}: its format is not {FORMAT!r}"
        )
    if content.get("version") not in VERSIONS:
        raise PriorError(
            "wrong-version",
            f"cannot use the prior {path!r}: version {content.get('version')!r}, "
            f"expected {' or '.join(map(str, VERSIONS))}",
        )
    return content


def _matched(content: Mapping[str, Any], problem: Problem) -> list[int]:
    """Return the column of each arm in the file, matched by place if there are places."""
    if content.get("places") is None:
        known = len(content["profile"][0])
        same = known == problem.n_actions
        _require(
            same,
            f"it is about {known} arms, the problem has {problem.n_actions or 'a box'}",
            "wrong-arms",
        )
        return list(range(known))
    places = np.array(content["places"], dtype=np.float64)
    about = str(content.get("about", "")).partition(":")[0]
    elsewhere = "it is about other places" + (f" ({about})" if about else "")
    are_places = places.ndim == 2 and bool(np.isfinite(places).all())
    _require(are_places, "its places are not finite coordinates")
    if problem.action_features is None or problem.action_features.shape[1] != places.shape[1]:
        raise PriorError(
            "wrong-places",
            f"{elsewhere}: the actions must have {places.shape[1]} coordinates, as in the prior",
        )
    apart = np.linalg.norm(problem.action_features[:, None] - places, axis=2)
    between = np.linalg.norm(places[:, None] - places, axis=2)
    nearest = float(between[between > 0].min(initial=np.inf))
    far = np.flatnonzero(apart.min(axis=1) > min(SAME_PLACE, nearest / 2))
    if len(far):
        raise PriorError("wrong-places", f"{elsewhere}: it lacks the place of action {far[0]}")
    columns = [int(i) for i in apart.argmin(axis=1)]
    _require(
        len(set(columns)) == len(columns), "two actions are at one of its places", "wrong-arms"
    )
    return columns


def _require(true: bool, rule: str, code: str = "damaged-file") -> None:
    if not true:
        raise PriorError(code, rule)


def _parsed(content: Mapping[str, Any], arms: list[int]) -> LearnedPrior:
    profile = np.array(content["profile"], dtype=np.float64)[:, arms]
    noise, period = float(content["noise_variance"]), float(content["period"])
    known = content["transform"] in TRANSFORMS
    _require(known, f"transform must be one of {', '.join(TRANSFORMS)}")
    finite = bool(np.isfinite(profile).all()) and noise > 0 and 0 < period < np.inf
    _require(finite, "its profile, noise_variance and period must be finite, the last two > 0")
    most, steps = MAX_NOISE_VARIANCE, math.ceil(period)
    _require(noise <= most, f"its noise_variance must be at most {most:g}, got {noise:g}")
    rows = f"its profile needs a row for each of the {steps} steps of its season"
    _require(len(profile) == steps, f"{rows}, got {len(profile)}")
    _require(bool(content["terms"]), "it has no terms, so rewards could not be learned from")
    kernel = Sum(tuple(_term(term, arms, period) for term in content["terms"]))
    unit = float(content.get("unit", 1.0))
    _require(0 < unit < np.inf, f"its unit must be finite and > 0, got {unit:g}")
    scale = RewardTransform(content["transform"], Normaliser(0.0, unit))
    return LearnedPrior(kernel, noise, scale, profile, period)


def _check_season(prior: LearnedPrior, problem: Problem) -> None:
    """Raise an error unless the prior's season is one of the problem's, if it has any."""
    known = problem.periods
    if known and not np.isclose(known, prior.period).any():
        seasons = " and ".join(f"{period:g}" for period in known)
        raise PriorError(
            "wrong-season",
            f"its season has {prior.period:g} steps, but the problem's seasons have {seasons}",
        )


def _term(term: Mapping[str, Any], arms: list[int], period: float) -> Term:
    F, own = (np.array(term[key], dtype=np.float64)[arms] for key in ("factor", "own"))
    if not (np.isfinite(F).all() and np.isfinite(own).all() and (own >= 0).all()):
        raise PriorError(
            "damaged-file", "a covariance must have finite factors and non-negative variances"
        )
    clocks: dict[str, tuple[TimeKernel, ...]] = {"level": ()}
    if term["part"] == "decay":
        clocks["decay"] = (Decay(float(term["eps"])),)
    if term["part"] == "season":
        clocks["season"] = (
            TruncatedPeriodic(period, float(term["length_scale"]), int(term["harmonics"])),
        )
    return Term(1.0, (EmpiricalCovariance(F @ F.T + np.diag(own)),), clocks[term["part"]])
