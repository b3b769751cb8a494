"""Speed of the harness.

The script measures:

- the standard protocol with two workers and with one worker;
- the time per step in the harness itself, outside the world and the agent;
- the time of a run in addition to its steps;
- the paper's synthetic study (five agents, T = 200), compared with the same study in the same
  harness with agents that refit scikit-learn's regressor at every step.

    python benchmarks/sweep.py [--seeds 0:10] [--study-seeds 0:100] [--sklearn-seeds 0:2]

The study with scikit-learn is run with few seeds; times are compared per seed.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from rich.console import Console
from scipy.spatial.distance import cdist

import periodic_envs  # noqa: F401 (registers the ids)
from agents import AgentSpec
from evaluation.play import play
from evaluation.protocol import Protocol
from evaluation.runner import run
from evaluation.runs import Run, runs_of
from evaluation.specs import parse_seeds
from evaluation.workers import execute

STUDY = ("periodic-gp-ucb", "gp-ucb", "c-gp-ucb", "r-gp-ucb", "tv-gp-ucb")
console = Console()


def clocks(name: str, gap: np.ndarray, period: float) -> np.ndarray:
    """Return the time kernel of a method at the differences ``gap``, as in the zoo's agent."""
    if name == "periodic-gp-ucb":
        return np.exp(-2.0 / 10.0**2 * np.sin(np.pi * gap / period) ** 2)
    if name == "c-gp-ucb":
        return np.exp(-0.5 * (gap / 10.0) ** 2)
    if name == "tv-gp-ucb":
        return (1.0 - 0.03) ** (np.abs(gap) / 2.0)
    return np.ones_like(gap)


class SklearnUCB:
    """GP method of the study with scikit-learn's regressor, and the same search as in the zoo.

    The search evaluates a grid of 256 actions, and then halves the intervals around the five best
    peaks eight times. scikit-learn has no gradients, so slopes are differences of two predictions.
    """

    def __init__(self, problem: Any, rng: np.random.Generator, method: str) -> None:
        self.problem, self.method = problem, method
        self.grid = np.linspace(-1.0, 1.0, 256)
        self.seen: list[tuple[float, float, float]] = []

    def act(self, observation: np.ndarray) -> np.ndarray:
        """Return the action with the highest upper confidence bound."""
        from sklearn.gaussian_process import GaussianProcessRegressor

        t = float(observation[0])
        if not self.seen:
            return np.zeros(1)
        data = np.array(self.seen)
        model = GaussianProcessRegressor(self._kernel(), alpha=1.0, optimizer=None)
        model.fit(data[:, :2], data[:, 2])
        beta = max(0.8 * np.log(0.4 * (t + 1)), 0.0)

        def bound(actions: np.ndarray) -> np.ndarray:
            query = np.column_stack([actions, np.full(len(actions), t)])
            mean, deviation = model.predict(query, return_std=True)
            return mean + np.sqrt(beta) * deviation

        return self._refine(bound, bound(self.grid))

    def _refine(self, bound: Any, values: np.ndarray) -> np.ndarray:
        padded = np.r_[-np.inf, values, -np.inf]
        peaks = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
        peaks = peaks[np.argsort(-values[peaks])[:5]]
        low = self.grid[np.maximum(peaks - 1, 0)]
        high = self.grid[np.minimum(peaks + 1, len(self.grid) - 1)]
        for _ in range(8):
            middle = 0.5 * (low + high)
            before, after = np.split(bound(np.r_[middle - 1e-6, middle + 1e-6]), 2)
            low, high = (
                np.where(after > before, middle, low),
                np.where(after > before, high, middle),
            )
        points = np.r_[self.grid[peaks], 0.5 * (low + high)]
        return points[[int(np.argmax(bound(points)))]]

    def update(self, observation: np.ndarray, action: np.ndarray, reward: float) -> None:
        """Store a reward; R-GP-UCB forgets all rewards after every 15 steps."""
        if self.method == "r-gp-ucb" and len(self.seen) == 15:
            self.seen.clear()
        self.seen.append((float(action[0]), float(observation[0]), reward))

    def _kernel(self) -> Any:
        from sklearn.gaussian_process.kernels import Kernel, StationaryKernelMixin

        method, period = self.method, self.problem.periods[0]
        width = self.problem.action_half_width

        class Product(StationaryKernelMixin, Kernel):
            hyperparameters = ()

            def __init__(self):
                """Create a kernel without free parameters."""

            def __call__(self, X, Y=None, eval_gradient=False):
                Y = X if Y is None else Y
                near = np.exp(-0.5 * cdist(width * X[:, :1], width * Y[:, :1], "sqeuclidean"))
                return near * clocks(method, np.subtract.outer(X[:, 1], Y[:, 1]), period)

            def diag(self, X):
                return np.ones(len(X))

        return Product()


def timed(protocol: Protocol, workers: int) -> float:
    """Return the seconds of a sweep without stored runs, after a short sweep as warm-up."""
    run(protocol.restricted(agents=["random"], seeds=[0]), workers=workers)  # imports, caches
    start = time.perf_counter()
    results = run(protocol, workers=workers)
    assert not results.failures, results.failures[:3]
    return time.perf_counter() - start


def measure_workers(seeds: tuple[int, ...]) -> None:
    """Measure the standard protocol with one worker and with two workers."""
    protocol = Protocol.load("standard").restricted(seeds=seeds)
    one, two = timed(protocol, 1), timed(protocol, 2)
    console.print(
        f"standard, {len(seeds)} seeds: 1 worker {one:.1f} s, 2 workers {two:.1f} s, "
        f"ratio {one / two:.2f} (target 1.8)",
        highlight=False,
    )


def counted(function: Any, seconds: list[float]) -> Any:
    """Return a function that also adds its seconds to ``seconds[0]``."""

    def call(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        answer = function(*args, **kwargs)
        seconds[0] += time.perf_counter() - start
        return answer

    return call


def measure_overhead(steps: int = 5000, repeats: int = 5) -> None:
    """Print the time per step outside the world and the agent, as a median of several runs."""
    for agent in ("random", "gp-ucb"):
        costs, agent_costs = [], []
        for _ in range(repeats):
            env = gym.make("PeriodicGP-SyntheticDiscrete-v0", horizon=steps).unwrapped
            spec = AgentSpec.parse(agent)
            others = [0.0]
            env.step = counted(env.step, others)
            env.reset = counted(env.reset, others)
            object.__setattr__(spec, "make", counted(spec.make, others))
            start = time.perf_counter()
            result = play(env, spec, 0)
            total = time.perf_counter() - start
            own = result.agent_seconds.sum()
            costs.append((total - others[0] - own) / steps)
            agent_costs.append(own / steps)
        harness, own = 1e6 * np.median(costs), 1e6 * np.median(agent_costs)
        console.print(
            f"{agent}: {harness:.1f} us per step in the harness, {own:.0f} in the agent, "
            f"{harness / own:.0%} (target: below 5 us, or below 10 % of gp-ucb)",
            highlight=False,
        )


def measure_run(seeds: int = 40) -> None:
    """Print the median time of runs of one step, which is nearly all overhead."""

    def cost(one: Run) -> float:
        start = time.process_time()
        assert execute(one).reason is None
        return time.process_time() - start

    for env in ("PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"):
        table = {"envs": [env], "agents": ["random"], "seeds": f"0:{seeds}", "horizon": 1}
        runs = [r for r in runs_of(Protocol.from_dict(table)) if r.agent_spec is not None]
        middle = 1e3 * np.median([cost(one) for one in runs])
        console.print(
            f"a run in {env}: {middle:.1f} ms without its steps (target: 10)", highlight=False
        )


def measure_study(seeds: tuple[int, ...], few: tuple[int, ...]) -> None:
    """Measure the paper's synthetic study, with this project and with scikit-learn."""
    table = {"envs": ["PeriodicGP-Synthetic-v0"], "horizon": 200}
    ours = Protocol.from_dict({**table, "agents": list(STUDY), "seeds": list(seeds)})
    place = Path(__file__).resolve()
    theirs = [f"{place}:SklearnUCB:method={name}" for name in STUDY]
    other = Protocol.from_dict({**table, "agents": theirs, "seeds": list(few)})
    mine, sklearn = timed(ours, 2), timed(other, 2)
    each, sklearn_each = mine / len(seeds), sklearn / len(few)
    console.print(
        f"synthetic study, 5 agents x {len(seeds)} seeds x 200 steps: {mine:.1f} s; with "
        f"scikit-learn {sklearn_each:.1f} s per seed against {each:.2f}, "
        f"ratio {sklearn_each / each:.1f} (target 15)",
        highlight=False,
    )


def main() -> None:
    """Measure all times and print them."""
    parser = argparse.ArgumentParser(description="Speed of the harness.")
    parser.add_argument("--seeds", default="0:10")
    parser.add_argument("--study-seeds", default="0:100")
    parser.add_argument("--sklearn-seeds", default="0:2")
    asked = parser.parse_args()
    measure_overhead()
    measure_run()
    measure_study(parse_seeds(asked.study_seeds), parse_seeds(asked.sklearn_seeds))
    measure_workers(parse_seeds(asked.seeds))


if __name__ == "__main__":
    main()
