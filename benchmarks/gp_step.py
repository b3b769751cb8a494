"""Speed of the Gaussian-process posterior, compared with other libraries.

The script measures the whole loop of a bandit over 24 sensors in the plane (SE x periodic kernel,
fixed hyper-parameters): predict the rewards of all actions, choose the highest bound, observe the
reward. Every library chooses independently, and all must choose the same actions. The script also
compares a late step with an early step, and 10,000 actions with 100 actions. With --million, it
also runs the agent for a million steps.

    python benchmarks/gp_step.py [--horizons 200 1000] [--million]

2,000 steps of scikit-learn take minutes. BoTorch and GPy are measured if they are installed.
"""

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel, StationaryKernelMixin

import periodic_envs  # noqa: F401 (registers the ids)
from agents import AgentSpec
from agents.gp import Finite, Periodic, SquaredExponential, make_posterior
from agents.saving import pack
from evaluation.play import play

PERIOD, TIME_SCALE, SCALE, NOISE_VARIANCE, BETA = 24.0, 1.0, 3.0, 0.1, 4.0
SENSORS = np.random.default_rng(7).uniform(0.0, 10.0, (24, 2))
Choose = Callable[[int], tuple[int, Callable[[float], None]]]


def world(horizon: int) -> np.ndarray:
    """Return noisy rewards with a daily season, shape (horizon, 24)."""
    rng = np.random.default_rng(1)
    t = np.arange(horizon)[:, None]
    phase, height = rng.uniform(0, 2 * np.pi, 24), rng.normal(0, 1, 24)
    mean = height + np.sin(2 * np.pi * t / PERIOD + phase)
    return mean + rng.normal(0, NOISE_VARIANCE**0.5, mean.shape)


def loop(start: float, choose: Callable[[int], int], learn: Callable[..., None], horizon: int):
    """Run the loop; return the seconds since ``start``, and the actions."""
    rewards, actions = world(horizon), np.empty(horizon, dtype=int)
    for t in range(horizon):
        actions[t] = choose(t)
        learn(actions[t], t, rewards[t, actions[t]])
    return time.perf_counter() - start, actions


def ours(horizon: int, engine: str = "auto"):
    """Return the seconds and actions of a run with the posterior of this project."""
    start = time.perf_counter()
    kernel = SquaredExponential(SCALE) * Periodic(PERIOD, TIME_SCALE)
    posterior = make_posterior(
        kernel, Finite(SENSORS), NOISE_VARIANCE, horizon=horizon, engine=engine
    )

    def choose(t: int) -> int:
        mean, variance = posterior.predict(float(t))
        return int(_first_best(mean + np.sqrt(BETA * variance)))

    return loop(start, choose, lambda a, t, y: posterior.observe(a, float(t), y), horizon)


class Product(StationaryKernelMixin, Kernel):
    """Kernel for scikit-learn: SE on the first two columns times periodic on the third column."""

    def __init__(self):
        """Create a kernel without free parameters."""

    def __call__(self, X, Y=None, eval_gradient=False):
        """Return the Gram matrix."""
        # For speed, the exponent is computed in place, with one sine and exponential per entry.
        Y = X if Y is None else Y
        exponent = cdist(X[:, :2] / SCALE, Y[:, :2] / SCALE, "sqeuclidean")
        sine = np.sin(np.subtract.outer(X[:, 2], Y[:, 2]) * (np.pi / PERIOD))
        sine *= sine
        exponent += sine * (4 / TIME_SCALE**2)
        exponent *= -0.5
        return np.exp(exponent, out=exponent)

    def diag(self, X):
        """Return the prior variances."""
        return np.ones(len(X))

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Empty list, since all parameters are fixed."""
        return []


def _refitting(horizon: int, fit_predict: Callable[..., tuple[np.ndarray, np.ndarray]]):
    """Return the seconds and actions of a run that fits a model to all data at every step."""
    start, X, y = time.perf_counter(), np.empty((horizon, 3)), np.empty(horizon)

    def choose(t: int) -> int:
        if t == 0:
            return 0
        query = np.column_stack([SENSORS, np.full(24, float(t))])
        mean, deviation = fit_predict(X[:t], y[:t], query)
        return int(_first_best(mean + np.sqrt(BETA) * deviation))

    def learn(action: int, t: int, reward: float) -> None:
        X[t], y[t] = (*SENSORS[action], t), reward

    return loop(start, choose, learn, horizon)


def scikit_learn(horizon: int):
    """Return the seconds and actions of a run with ``GaussianProcessRegressor``."""

    def fit_predict(X, y, query):
        model = GaussianProcessRegressor(Product(), alpha=NOISE_VARIANCE, optimizer=None)
        return model.fit(X, y).predict(query, return_std=True)

    return _refitting(horizon, fit_predict)


def botorch(horizon: int):
    """Return the seconds and actions of a run with BoTorch's ``SingleTaskGP``."""
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import PeriodicKernel, RBFKernel
    from gpytorch.means import ZeroMean

    torch.set_num_threads(1)
    rbf, periodic = RBFKernel(active_dims=[0, 1]), PeriodicKernel(active_dims=[2])
    rbf.lengthscale, periodic.lengthscale = SCALE, TIME_SCALE**2
    periodic.period_length = PERIOD

    def fit_predict(X, y, query):
        tensors = [torch.from_numpy(np.array(v)) for v in (X, y[:, None], query)]
        noise = torch.full_like(tensors[1], NOISE_VARIANCE)
        model = SingleTaskGP(
            tensors[0], tensors[1], noise, covar_module=rbf * periodic, outcome_transform=None
        )
        model.mean_module = ZeroMean()
        with torch.no_grad():
            posterior = model.posterior(tensors[2])
        return posterior.mean[:, 0].numpy(), posterior.variance[:, 0].sqrt().numpy()

    return _refitting(horizon, fit_predict)


def gpy(horizon: int):
    """Return the seconds and actions of a run with GPy's ``GPRegression``."""
    import GPy

    def fit_predict(X, y, query):
        # GPy's periodic kernel is exp(-sin^2 / (2 l^2)), so its length-scale is half of ours.
        kernel = GPy.kern.RBF(2, lengthscale=SCALE, active_dims=[0, 1])
        kernel = kernel * GPy.kern.StdPeriodic(
            1, period=PERIOD, lengthscale=TIME_SCALE / 2, active_dims=[2]
        )
        model = GPy.models.GPRegression(X, y[:, None], kernel, noise_var=NOISE_VARIANCE)
        mean, variance = model.predict_noiseless(query)
        return mean[:, 0], np.sqrt(variance[:, 0])

    return _refitting(horizon, fit_predict)


def _first_best(bound: np.ndarray) -> int:
    """Return the first action whose bound is the highest up to round-off.

    All libraries therefore break ties in the same way.
    """
    return int(np.flatnonzero(bound >= bound.max() - 1e-7)[0])


def compare(horizons: list[int], console: Console) -> None:
    """Measure the whole loop for all libraries, and print the times."""
    table = Table(title="Whole loop, 24 actions, seconds (times ours)")
    table.add_column("T", justify="right")
    others = {"scikit-learn": scikit_learn}
    for name, module, run in (("BoTorch", "botorch", botorch), ("GPy", "GPy", gpy)):
        try:
            __import__(module)
        except ImportError:
            console.print(f"{name} is not installed, so it is not measured")
        else:
            others[name] = run
    for column in ("ours", *others, "same actions"):
        table.add_column(column, justify="right")
    for horizon in horizons:
        runs = [ours(horizon) for _ in range(5)]
        seconds, actions = float(np.median([s for s, _ in runs])), runs[0][1]
        cells, same = [], []
        for run in others.values():
            other_seconds, other_actions = run(horizon)
            cells.append(f"{other_seconds:.2f} ({other_seconds / seconds:.0f}x)")
            same.append(np.mean(other_actions == actions))
        agreement = ", ".join(f"{share:.1%}" for share in same)
        table.add_row(f"{horizon:,}", f"{seconds:.3f}", *cells, agreement)
    console.print(table)
    console.print("Targets against scikit-learn: 8x at 200, 80x at 1,000, 500x at 2,000.")


def far_out(console: Console) -> None:
    """Measure the time of a step and the memory at t = 1,000 and at t = 100,000."""
    kernel = SquaredExponential(SCALE) * Periodic(PERIOD, TIME_SCALE)
    posteriors, memory = {}, {}
    for start in (1_000, 100_000):
        posteriors[start] = _aged(kernel, start)
        arrays: dict[str, Any] = {}
        pack(posteriors[start], arrays)
        memory[start] = sum(array.nbytes for array in arrays.values()) / 1e6
    times: dict[int, list[float]] = {start: [] for start in posteriors}
    for _ in range(7):
        for start, posterior in posteriors.items():
            times[start].append(_steps(posterior, start, 1_000))
    early, late = (1e6 * float(np.median(values)) / 1_000 for values in times.values())
    console.print(
        f"A step: {early:.0f} us at t = 1,000, {late:.0f} us at t = 100,000 "
        f"({late / early:.2f}x, target 1.2x); the state holds {memory[1_000]:.2f} MB and "
        f"{memory[100_000]:.2f} MB"
    )


def _aged(kernel: Any, steps: int) -> Any:
    posterior = make_posterior(kernel, Finite(SENSORS), NOISE_VARIANCE, engine="state-space")
    _steps(posterior, 0, steps)
    return posterior


def _steps(posterior: Any, start: int, count: int) -> float:
    rewards = world(1_000)
    begin = time.perf_counter()
    for t in range(start, start + count):
        mean, variance = posterior.predict(float(t))
        action = int((mean + np.sqrt(BETA * variance)).argmax())
        posterior.observe(action, float(t), rewards[t % 1_000, action])
    return time.perf_counter() - begin


def many_actions(console: Console) -> None:
    """Measure a step with 100 and with 10,000 actions, in a square of four length-scales."""
    medians = {}
    for n in (100, 10_000):
        x = np.random.default_rng(3).uniform(0.0, 4.0, (n, 2))
        kernel = SquaredExponential(1.0) * Periodic(PERIOD, TIME_SCALE)
        posterior = make_posterior(kernel, Finite(x), NOISE_VARIANCE, engine="state-space")
        rng, seconds = np.random.default_rng(0), []
        for t in range(150):
            begin = time.perf_counter()
            arms = posterior.contenders(float(t), BETA)
            mean, variance = posterior.predict(float(t), arms)
            best = int((mean + np.sqrt(BETA * variance)).argmax())
            posterior.observe(best if arms is None else int(arms[best]), float(t), rng.normal())
            seconds.append(time.perf_counter() - begin)
        medians[n] = 1e3 * float(np.median(seconds))
    ratio = medians[10_000] / medians[100]
    console.print(
        f"A step: {medians[100]:.2f} ms with 100 actions, {medians[10_000]:.2f} ms with 10,000 "
        f"({ratio:.1f}x, target 20x)"
    )


def million(console: Console) -> None:
    """Run a million steps of the agent in a world of 50 arms, and print the time."""
    env = gym.make("PeriodicGP-SyntheticDiscrete-v0", horizon=1_000_000, disable_env_checker=True)
    start = time.perf_counter()
    run = play(env, AgentSpec.parse("periodic-gp-ucb:time_length_scale=1"), seed=0)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    console.print(
        f"A million steps of periodic-gp-ucb in SyntheticDiscrete: {seconds:.0f} s, "
        f"{1e6 * run.agent_seconds.mean():.0f} us a step, regret {run.regret.sum():,.0f}, of which "
        f"{run.regret[-500_000:].sum():,.0f} in the second half; peak memory {memory:.0f} MB"
    )


def main() -> None:
    """Measure all times and print them."""
    parser = argparse.ArgumentParser(description="Speed of the posterior, compared with others.")
    parser.add_argument("--horizons", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--million", action="store_true", help="also run a million steps")
    arguments = parser.parse_args()
    console = Console(width=120)
    compare(arguments.horizons, console)
    far_out(console)
    many_actions(console)
    if arguments.million:
        million(console)


if __name__ == "__main__":
    main()
