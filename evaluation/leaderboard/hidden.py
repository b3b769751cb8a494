"""Hidden seeds, which nobody can know beforehand, and what they reveal."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evaluation.statistics import middle_half
from periodic_envs.arrays import Array

COUNT = 10
"""Hidden worlds of each kind."""
FALSE_ALARM = 1e-3
"""How often an honest agent is refused."""
_PERMUTATIONS = 20_000


class HiddenSeeds:
    """Seeds derived from a secret, other ones for every submission and every trial of it.

    Of each run the world's and the agent's are derived apart: an agent's random numbers must not
    give its world away, as they would on public seeds.

    Args:
        salt: The secret.
        submission: Its id.
        trial: Number of the trial: an agent never meets a seed that it has met before.
        count: Worlds of each kind.

    Attributes:
        trial: Number of the trial.
        worlds: Their seeds.
    """

    def __init__(self, salt: bytes, submission: str, trial: int, count: int = COUNT) -> None:
        self.trial = trial
        self._salt = hmac.new(salt, f"{submission} {trial}".encode(), hashlib.sha256).digest()
        self.worlds = tuple(self._number(f"world {i}") for i in range(count))

    def agent(self, env: str, seed: int) -> int:
        """The agent's seed in one of the worlds."""
        return self._number(f"agent {seed} {env}")

    def _number(self, what: str) -> int:
        digest = hmac.new(self._salt, what.encode(), hashlib.sha256).digest()
        return int.from_bytes(digest[:16], "big")  # too many for a table made beforehand


@dataclass(frozen=True)
class Comparison:
    """Normalised regret on public and on hidden seeds (IQM), and whether it could be chance."""

    public: float
    hidden: float
    p_value: float

    @property
    def worse(self) -> bool:
        """Whether the hidden ones are clearly worse."""
        return self.p_value <= FALSE_ALARM


def can_tell(public: Mapping[str, Array], count: int) -> bool:
    """Whether so few runs could show anything: the most extreme exchange must be rare enough."""
    ways = math.prod(math.comb(len(runs) + count, count) for runs in public.values())
    return 2.0 / ways <= FALSE_ALARM


def is_worse_on_hidden_seeds(
    public: Mapping[str, Array], hidden: Mapping[str, Array], *, seed: int = 0
) -> Comparison:
    """One-sided permutation test: an honest agent does not know which seeds are public.

    Were the agent honest, the runs of a world could be exchanged between the two groups. Two
    statistics, of which the more telling one counts (twice, Bonferroni): the difference of the
    interquartile means of all runs, which is what agents are ranked by, and that of the means,
    which sees what the former cuts off. Random exchanges and the observed one are counted
    [@phipson2010permutation], so an honest agent is refused with a probability of at most
    ``FALSE_ALARM``.

    Args:
        public: Normalised regret of the submitted runs, by world.
        hidden: Of the runs on hidden seeds.
        seed: Of the random exchanges.
    """
    rng = np.random.default_rng(seed)
    pools = [np.concatenate((known, hidden[env])) for env, known in public.items()]
    cuts = [len(known) for known in public.values()]
    rows = _PERMUTATIONS + 1
    shuffled = [rng.permuted(np.tile(pool, (rows, 1)), axis=1) for pool in pools]
    for mixed, pool in zip(shuffled, pools, strict=True):
        mixed[0] = pool  # the observed one
    first = np.concatenate([m[:, :cut] for m, cut in zip(shuffled, cuts, strict=True)], axis=1)
    second = np.concatenate([m[:, cut:] for m, cut in zip(shuffled, cuts, strict=True)], axis=1)
    middle = middle_half(first), middle_half(second)
    gaps = (middle[1] - middle[0], second.mean(1) - first.mean(1))
    tails = [(gap >= gap[0] - 1e-12 * max(abs(gap[0]), 1.0)).mean() for gap in gaps]
    p_value = min(1.0, 2.0 * float(min(tails)))
    return Comparison(float(middle[0][0]), float(middle[1][0]), p_value)
