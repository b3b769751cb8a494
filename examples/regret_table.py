"""What do simple policies lose in each world? Prints mean regret per step over 20 seeds.

No agent of the zoo runs here: the policies are a uniform choice and three that know the world,
which show how much there is to gain from looking at the season.
"""

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import periodic_envs

SEEDS = range(20)


def regrets(env_id: str, seed: int) -> list[float]:
    """Regret per step of: uniform choice, the best fixed action, the best action per phase."""
    env = gym.make(env_id).unwrapped
    env.reset(seed=seed)
    process, public = env.episode.process, env.public
    times = np.arange(env.horizon)
    finite = public.n_actions is not None
    actions = np.arange(public.n_actions) if finite else np.linspace(-1, 1, 201)[:, None]
    means = np.stack([process.mean(actions, int(t)) for t in times])
    best = np.array([process.optimum(int(t))[1] for t in times])
    phase = np.floor(times % process.period).astype(int)
    per_phase = np.stack([means[phase == p].mean(0) for p in np.unique(phase)])
    seasonal = means[times, per_phase.argmax(1)[np.searchsorted(np.unique(phase), phase)]]
    policies = [means.mean(1), means[:, means.mean(0).argmax()], seasonal]
    return [float((best - reward).mean()) for reward in policies]


def main() -> None:
    """Print the table."""
    title = f"Regret per step in hindsight, mean ± standard error over {len(SEEDS)} seeds"
    table = Table(title=title)
    table.add_column("world", no_wrap=True)
    for column in ("uniform choice", "best fixed action", "best action per phase"):
        table.add_column(column, justify="right")
    for env_id in track(periodic_envs.ids(), description="Looking at the worlds"):
        results = np.array([regrets(env_id, seed) for seed in SEEDS])
        error = results.std(0, ddof=1) / np.sqrt(len(SEEDS))
        cells = [f"{m:.2f} ± {e:.2f}" for m, e in zip(results.mean(0), error, strict=True)]
        table.add_row(env_id.removeprefix("PeriodicGP-"), *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
