"""Seeds that nobody can know beforehand, and what they reveal."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.protocol import TRAINING_SEED

Array = NDArray[np.float64]

COUNT = 5
"""Hidden worlds of each kind."""
FALSE_ALARM = 1e-3
"""How often an honest agent is refused."""
_PERMUTATIONS = 20_000


class HiddenSeeds:
    """Seeds derived from a secret.

    Of each run the world's and the agent's are derived apart: an agent's random numbers must not
    give its world away, as they would on public seeds.

    Args:
        salt: The secret.
        count: Worlds of each kind.

    Attributes:
        worlds: Their seeds.
    """

    def __init__(self, salt: bytes, count: int = COUNT) -> None:
        self._salt = salt
        self.worlds = tuple(self._number(f"world {i}") % TRAINING_SEED for i in range(count))

    def agent(self, env: str, seed: int) -> int:
        """The agent's seed in one of the worlds."""
        return self._number(f"agent {seed} {env}")

    def _number(self, what: str) -> int:
        digest = hmac.new(self._salt, what.encode(), hashlib.sha256).digest()
        return int.from_bytes(digest[:7], "big")


@dataclass(frozen=True)
class Comparison:
    """Mean normalised regret on public and on hidden seeds, and whether it could be chance."""

    public: float
    hidden: float
    p_value: float

    @property
    def worse(self) -> bool:
        """Whether the hidden ones are clearly worse."""
        return self.hidden > self.public and self.p_value <= FALSE_ALARM


def is_worse_on_hidden_seeds(
    public: Mapping[str, Array], hidden: Mapping[str, Array], *, seed: int = 0
) -> Comparison:
    """One-sided permutation test: an honest agent does not know which seeds are public.

    Were the agent honest, the runs of a world could be exchanged between the two groups. The
    statistic is the mean over worlds of the difference of the groups' means; random exchanges and
    the observed one are counted [@phipson2010permutation], so an honest agent is refused with a
    probability of at most ``FALSE_ALARM``.

    Args:
        public: Normalised regret of the submitted runs, by world.
        hidden: Of the runs on hidden seeds.
        seed: Of the random exchanges.
    """
    rng = np.random.default_rng(seed)
    observed, drawn = 0.0, np.zeros(_PERMUTATIONS)
    for env, known in public.items():
        both = np.concatenate((known, hidden[env]))
        share = np.full(len(both), -1.0 / len(known))
        share[len(known) :] = 1.0 / len(hidden[env])
        observed += float(share @ both)
        drawn += rng.permuted(np.tile(share, (_PERMUTATIONS, 1)), axis=1) @ both
    extreme = int((drawn >= observed - 1e-12 * max(abs(observed), 1.0)).sum())
    return Comparison(
        float(np.mean([values.mean() for values in public.values()])),
        float(np.mean([values.mean() for values in hidden.values()])),
        (extreme + 1) / (_PERMUTATIONS + 1),
    )
