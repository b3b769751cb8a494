"""Priors that were learned from other data: profiles, covariances and persistence.

The file of a prior is JSON, written by ``periodic-gp learn-prior``. It describes measurements at
the arms, which are transformed and then divided by ``unit``. ``profile`` is the mean for each step
of a season and each arm. The deviation from the profile is a Gaussian process, a sum of the terms

    level: F F^T + diag(own),    decay: the same x Decay(eps),    season: the same x season,

plus noise, where F and own are the entries ``factor`` and ``own`` of a term. The file may contain
``places``, the coordinates of the arms in the unit of the problem's ``action_features``. The
problem may then have a subset of these arms, which are matched by coordinates. Without places, the
problem must have the same arms in the same order. Time 0 of the problem is the first step of the
profile. (Files of version 1 have places, and their unit is 1.)

Measurements are rewards, or negative rewards if small values are better. An agent infers the sign
from its rewards, including those of a warm start. Before the first reward, the agent assumes that
large values are better.
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
"""Format of the files, and its supported versions."""
SAME_PLACE = 0.05
"""Largest distance at which an action matches a place of the prior. If two places are closer than
twice this distance, the limit is half the smallest distance between two places."""
MAX_BYTES = 2**20
"""Maximum size of a file, in bytes."""
MAX_NOISE_VARIANCE = 1e6
"""Maximum noise variance, in units of ``unit`` squared."""
SHIPPED = {"madrid": Path(__file__).with_name("madrid.json")}
"""Files of the shipped priors, by name."""


class PriorError(CodedError, ValueError):
    """Raised if a prior is invalid or does not fit the problem."""


@dataclass(frozen=True, eq=False)
class LearnedPrior:
    """Prior for the arms of one problem.

    Attributes:
        kernel: Prior covariance of the deviations of transformed rewards from the profile.
        noise_variance: Noise variance of the transformed rewards.
        scale: Transform of the rewards.
        profile: Prior mean of the transformed rewards, shape (steps of a season, arms).
        period: Length of the season, in steps.
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
        """Return the prior mean of arms[i] at time t[i] for each i, shape (n,)."""
        return np.asarray(self.profile[self._row(t), arms])

    def _row(self, t: Any) -> NDArray[np.int64]:
        steps = len(self.profile)
        # Adding 1e-9 keeps round-off from moving the start of a step into the previous step.
        return (np.asarray(t) / self.period % 1.0 * steps + 1e-9).astype(np.int64) % steps


def load_prior(name: str, problem: Problem) -> LearnedPrior:
    """Return a prior for the arms of a problem, by the name of a shipped prior or from a file.

    Raises:
        PriorError: If the file is missing or damaged, or if the prior does not fit the problem.
    """
    if not isinstance(name, str) or not name.strip():
        raise PriorError(
            "unknown-prior",
            f"prior must be a file, or the name of a shipped prior ({', '.join(SHIPPED)}), "
            f"got {name!r}",
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
            f"cannot use the prior {name!r}: its content is damaged "
            f"({type(error).__name__}: {error})",
        ) from None


@lru_cache(maxsize=8)
def _read(path: str) -> Mapping[str, Any]:
    file = Path(path)
    if not file.is_file():
        known = ", ".join(SHIPPED)
        raise PriorError(
            "unknown-prior",
            f"unknown prior {path!r}: expected a file, or the name of a shipped prior ({known})",
        )
    if file.stat().st_size > MAX_BYTES:
        raise PriorError(
            "file-too-large",
            f"cannot use the prior {path!r}: its file must have at most {MAX_BYTES:,} bytes, "
            f"got {file.stat().st_size:,}",
        )
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PriorError(
            "damaged-file", f"cannot use the prior {path!r}: its file is not JSON ({error})"
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise PriorError(
            "wrong-format",
            f"cannot use the prior {path!r}: its file must be a JSON object with the format "
            f"{FORMAT!r}",
        )
    if content.get("version") not in VERSIONS:
        raise PriorError(
            "wrong-version",
            f"cannot use the prior {path!r}: its version must be "
            f"{' or '.join(map(str, VERSIONS))}, got {content.get('version')!r}",
        )
    return content


def _matched(content: Mapping[str, Any], problem: Problem) -> list[int]:
    """Return the index in the prior of each arm of the problem.

    Arms are matched by place if the prior has places, otherwise by number.
    """
    if content.get("places") is None:
        known = len(content["profile"][0])
        same = known == problem.n_actions
        _require(
            same,
            f"it has {known} arms, but the problem has {problem.n_actions or 'a box of actions'}",
            "wrong-arms",
        )
        return list(range(known))
    places = np.array(content["places"], dtype=np.float64)
    about = str(content.get("about", "")).partition(":")[0]
    elsewhere = "it describes other places" + (f" ({about})" if about else "")
    are_places = places.ndim == 2 and bool(np.isfinite(places).all())
    _require(are_places, "its places must be finite coordinates, one row for each arm")
    if problem.action_features is None or problem.action_features.shape[1] != places.shape[1]:
        raise PriorError(
            "wrong-places",
            f"{elsewhere}: action_features of the problem must have {places.shape[1]} columns, one "
            "for each coordinate of a place",
        )
    apart = np.linalg.norm(problem.action_features[:, None] - places, axis=2)
    between = np.linalg.norm(places[:, None] - places, axis=2)
    nearest = float(between[between > 0].min(initial=np.inf))
    far = np.flatnonzero(apart.min(axis=1) > min(SAME_PLACE, nearest / 2))
    if len(far):
        raise PriorError(
            "wrong-places",
            f"{elsewhere}: no place of the prior is at {problem.action_features[far[0]].tolist()}, "
            f"the coordinates of action {far[0]}",
        )
    columns = [int(i) for i in apart.argmin(axis=1)]
    _require(
        len(set(columns)) == len(columns),
        "each action of the problem must match a different place of the prior, but two actions "
        "match the same place",
        "wrong-arms",
    )
    return columns


def _require(true: bool, rule: str, code: str = "damaged-file") -> None:
    if not true:
        raise PriorError(code, rule)


def _parsed(content: Mapping[str, Any], arms: list[int]) -> LearnedPrior:
    profile = np.array(content["profile"], dtype=np.float64)[:, arms]
    noise, period = float(content["noise_variance"]), float(content["period"])
    known = content["transform"] in TRANSFORMS
    _require(
        known,
        f"its transform must be one of {', '.join(TRANSFORMS)}, got {content['transform']!r}",
    )
    finite = bool(np.isfinite(profile).all()) and noise > 0 and 0 < period < np.inf
    _require(
        finite,
        "its profile, noise_variance and period must be finite, and noise_variance and period must "
        f"be positive, got noise_variance {noise:g} and period {period:g}",
    )
    most, steps = MAX_NOISE_VARIANCE, math.ceil(period)
    _require(noise <= most, f"its noise_variance must be at most {most:g}, got {noise:g}")
    rows = f"its profile must have one row for each of the {steps} steps of its season"
    _require(len(profile) == steps, f"{rows}, got {len(profile)} rows")
    _require(
        bool(content["terms"]),
        "its terms must have at least one entry: without terms, an agent cannot learn from rewards",
    )
    kernel = Sum(tuple(_term(term, arms, period) for term in content["terms"]))
    unit = float(content.get("unit", 1.0))
    _require(0 < unit < np.inf, f"its unit must be positive and finite, got {unit:g}")
    scale = RewardTransform(content["transform"], Normaliser(0.0, unit))
    return LearnedPrior(kernel, noise, scale, profile, period)


def _check_season(prior: LearnedPrior, problem: Problem) -> None:
    """Raise an error if the problem has seasons, but none with the length of the prior's season."""
    known = problem.periods
    if known and not np.isclose(known, prior.period).any():
        seasons = " and ".join(f"{period:g}" for period in known)
        raise PriorError(
            "wrong-season",
            f"its season has {prior.period:g} steps, but the problem has seasons of {seasons} "
            "steps",
        )


def _term(term: Mapping[str, Any], arms: list[int], period: float) -> Term:
    F, own = (np.array(term[key], dtype=np.float64)[arms] for key in ("factor", "own"))
    if not (np.isfinite(F).all() and np.isfinite(own).all() and (own >= 0).all()):
        raise PriorError(
            "damaged-file",
            "in each of its terms, 'factor' must be finite, and 'own' must be finite and not "
            "negative",
        )
    clocks: dict[str, tuple[TimeKernel, ...]] = {"level": ()}
    if term["part"] == "decay":
        clocks["decay"] = (Decay(float(term["eps"])),)
    if term["part"] == "season":
        clocks["season"] = (
            TruncatedPeriodic(period, float(term["length_scale"]), int(term["harmonics"])),
        )
    return Term(1.0, (EmpiricalCovariance(F @ F.T + np.diag(own)),), clocks[term["part"]])
