"""Hyper-parameters "from the pre-trained model": one rule for all methods.

The paper says no more than that. The rule here: for every method the length-scales of its kernel
(for TV-GP-UCB the forgetting rate), the noise, the prior mean and the scale of the rewards maximise
the log evidence of six random samples of earlier data, 200 pairs of an hour and a station each,
plus a log-normal prior around plain values. (Without it the evidence of GP-UCB, whose kernel cannot
tell a season from noise, is best where all stations are the same.) The samples count as
independent. R-GP-UCB is GP-UCB started afresh every 15 steps and takes GP-UCB's. Earlier data are
the two calendar months before the month of the window: January and February for March. Nothing is
taken from the window.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from agents.gp import (
    Box,
    Constant,
    Decay,
    Finite,
    Periodic,
    SquaredExponential,
    TimeKernel,
    TimeSquaredExponential,
    fit,
)
from agents.gp.fit import Fit
from periodic_envs.arrays import Array
from periodic_envs.data.madrid import cache as imported
from periodic_envs.data.madrid.cache import load_window
from periodic_envs.data.madrid.simulator import MadridSimulator
from periodic_envs.data.madrid.stations import coordinates_km, magnitude_number
from periodic_envs.env import PeriodicBanditEnv
from studies.methods import GP, METHODS, PERIODIC
from studies.paper.size import PaperLab

Sample = tuple[NDArray[Any], Array, Array]

SAMPLES, PAIRS = 6, 200
KILOMETRES, NOISE_VARIANCE, SPREAD = 5.0, 0.5, 1.0
"""Medians of the prior (a quarter of the city; the paper's noise) and its spread, a factor of e."""
TRAINING_SEED = 10_000
"""First seed of worlds to learn from: far from those that are judged."""
CLOCKS: dict[str, tuple[TimeKernel, str]] = {
    PERIODIC: (Periodic(24.0, 1.0), "time_length_scale"),
    GP: (Constant(), ""),
    "TV-GP-UCB": (Decay(0.1), "eps"),
    "C-GP-UCB": (TimeSquaredExponential(10.0), "time_length_scale"),
}
"""Median of the prior on a method's time kernel, and which setting its hyper-parameter is."""


def months_before(start: datetime.date) -> tuple[datetime.date, int]:
    """First day and number of days of the two months before the month of a window.

    >>> months_before(datetime.date(2018, 3, 3))
    (datetime.date(2018, 1, 1), 59)
    """
    end = start.replace(day=1)
    first = (end - datetime.timedelta(days=32)).replace(day=1)
    return first, (end - first).days


def earlier_data(start: datetime.date) -> tuple[tuple[int, ...], Array]:
    """NO before a window: stations, and values (hours, stations), NaN where missing.

    Without measurements they are simulated, as the window is.
    """
    first, days = months_before(start)
    if not imported.years():
        simulator = MadridSimulator.calibrated()
        rng = np.random.default_rng([TRAINING_SEED, start.toordinal()])
        return simulator.stations, simulator.simulate(rng, start=first, days=days)
    return load_window(first, days, magnitude=magnitude_number("NO"), stations=None)


def random_pairs(values: Array, rng: np.random.Generator) -> Sample:
    """Stations, hours and rewards: one random station at each of some random hours."""
    hours = np.sort(rng.choice(len(values), min(PAIRS, len(values)), replace=False))
    stations = rng.integers(values.shape[1], size=len(hours))
    rewards = values[hours, stations]
    known = np.isfinite(rewards)
    return stations[known], hours[known].astype(np.float64), rewards[known]


def before_window(start: datetime.date, sampling: int = 0) -> tuple[tuple[int, ...], list[Sample]]:
    """What may be learned from before a window of Madrid; other samplings draw other pairs."""
    stations, values = earlier_data(start)
    rng = np.random.default_rng([start.toordinal(), sampling])
    return stations, [random_pairs(values, rng) for _ in range(SAMPLES)]


def other_fortnights() -> tuple[tuple[int, ...], list[Sample]]:
    """What may be learned from before MadridSim: fortnights of other seeds."""
    env = gym.make("PeriodicGP-MadridSim-v0", warm_start_days=0).unwrapped
    assert isinstance(env, PeriodicBanditEnv)
    rng = np.random.default_rng(TRAINING_SEED)
    samples = []
    for number in range(SAMPLES):
        env.reset(seed=TRAINING_SEED + number)
        assert env.episode is not None
        process: Any = env.episode.process
        samples.append(random_pairs(process.values[process.rows], rng))
    return MadridSimulator.calibrated().stations, samples


def pretrained(task: tuple[str, Sequence[int], list[Sample], bool]) -> dict[str, float]:
    """Settings of one method: (method, stations, samples, whether the noise is fitted)."""
    method, stations, samples, fit_noise = task
    clock, name = CLOCKS[method]
    actions = Finite(coordinates_km(stations))
    fixed = ("period",) if fit_noise else ("period", "noise_variance")
    found = fit(
        SquaredExponential(KILOMETRES) * clock,
        actions,
        samples,
        NOISE_VARIANCE,
        fixed=fixed,
        spread=SPREAD,
        starts=4,
        scan=40,
    )
    return _settings(found, name)


def _settings(found: Fit, name: str) -> dict[str, float]:
    (term,) = found.kernel.terms
    settings = {
        "length_scale": float(term.actions[0].length_scale),  # type: ignore[attr-defined]
        "noise_variance": found.noise_variance,
        "prior_mean": found.normaliser.mean,
        "prior_scale": found.normaliser.scale,
    }
    if name:
        clock: Any = term.clocks[0]
        settings[name] = float(clock.eps if name == "eps" else clock.length_scale)
    # Six digits are more than the data know, and the same on every machine.
    return {key: float(f"{value:.6g}") for key, value in settings.items()}


def by_evidence(
    lab: PaperLab,
    starts: Sequence[datetime.date | None],
    *,
    fit_noise: bool = True,
    sampling: int = 0,
) -> list[dict[str, dict[str, float]]]:
    """Settings of all methods for each of some windows; None stands for the simulator."""
    known: dict[Any, dict[str, dict[str, float]]] = lab.memory.setdefault("by evidence", {})
    new = [start for start in starts if (start, fit_noise, sampling) not in known]
    data = [
        other_fortnights() if start is None else before_window(start, sampling) for start in new
    ]
    tasks = [(m, stations, samples, fit_noise) for stations, samples in data for m in CLOCKS]
    found, size = lab.map("pre-training", pretrained, tasks) if tasks else [], len(CLOCKS)
    for number, start in enumerate(new):
        mine = found[number * size : (number + 1) * size]
        known[start, fit_noise, sampling] = _for_all_methods(mine)
    return [known[start, fit_noise, sampling] for start in starts]


def _for_all_methods(found: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Settings by method from those of the methods of ``CLOCKS``, in their order."""
    settings = dict(zip(CLOCKS, found, strict=True))
    settings["R-GP-UCB"] = settings[GP]
    return {method: settings[method] for method in METHODS}


def seeking_least(settings: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The same where the reward is minus the measurement."""
    return {
        method: {**mine, "prior_mean": -mine["prior_mean"]} for method, mine in settings.items()
    }


@cache
def synthetic_eps(time_length_scale: float = 1.0) -> float:
    """TV-GP-UCB's forgetting rate in a synthetic world, by evidence on worlds of other seeds.

    Everything else is as the paper prints it, so it alone is fitted, to random actions.
    """
    env = gym.make("PeriodicGP-Synthetic-v0", time_length_scale=time_length_scale).unwrapped
    assert isinstance(env, PeriodicBanditEnv)
    half_width, rng = env.public.action_half_width, np.random.default_rng(TRAINING_SEED)
    samples = []
    for number in range(SAMPLES):
        env.reset(seed=TRAINING_SEED + number)
        actions = rng.uniform(-1.0, 1.0, (env.horizon, 1)).astype(np.float32)
        rewards = np.array([env.step(action)[1] for action in actions], dtype=np.float64)
        samples.append((half_width * actions, np.arange(env.horizon, dtype=np.float64), rewards))
    found = fit(
        SquaredExponential(1.0) * Decay(0.03),
        Box(-half_width, half_width),
        samples,
        1.0,
        fixed=("variance", "length_scale", "noise_variance"),
        fit_mean=False,
        fit_scale=False,
    )
    clock: Any = found.kernel.terms[0].clocks[0]
    return float(f"{clock.eps:.6g}")
