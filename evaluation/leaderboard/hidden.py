"""Hidden seeds, derived from a nonce that is drawn after the code was handed in, and their test."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.leaderboard.bundle import Manifest
from evaluation.leaderboard.replay import Regrets
from evaluation.leaderboard.verify import Verdict
from evaluation.specs import canonical_json
from evaluation.statistics import middle_half
from periodic_envs.arrays import Array

COUNT = 10
"""Hidden seeds of each world."""
FALSE_ALARM = 1e-3
"""Probability of refusing an honest agent."""
PERMUTATIONS = 20_000


@dataclass(frozen=True)
class HiddenSeeds:
    """Seeds of a batch, the same for all its agents: results are paired.

    The seed of a world and that of the agent in it are derived separately, so that the agent's
    random numbers do not give its world away. Both have 128 bits: too many for a search.

    Attributes:
        nonce: Drawn when the batch was recorded.
        batch: Ids of the submissions.
        head: Head of the log after the batch was recorded.
    """

    nonce: str
    batch: Sequence[str]
    head: str

    @property
    def worlds(self) -> tuple[int, ...]:
        """Seeds of the worlds."""
        return tuple(self._seed("world", number) for number in range(COUNT))

    def agent(self, env: str, seed: int) -> int:
        """Return the agent's seed in one of the worlds."""
        return self._seed("agent", env, seed)

    def _seed(self, *what: str | int) -> int:
        content = canonical_json([self.nonce, list(self.batch), self.head, *what])
        return int.from_bytes(hashlib.sha256(content.encode()).digest()[:16], "big")


@dataclass(frozen=True)
class HiddenTest:
    """Normalised regret on public and on hidden seeds (IQM), with the p-value of the difference."""

    public: float
    hidden: float
    p_value: float


def normalised(regrets: Regrets, uniform: Regrets) -> dict[str, Array]:
    """Return regrets as shares of the regret of choosing at random, by world."""
    shares: dict[str, list[float]] = {}
    for (env, seed), regret in regrets.items():
        shares.setdefault(env, []).append(regret / uniform[env, seed])
    return {env: np.array(values) for env, values in shares.items()}


def has_power(runs: Sequence[int]) -> bool:
    """Return whether the test can refuse anything with so many public runs in each world."""
    return 2.0 / math.prod(math.comb(count + COUNT, COUNT) for count in runs) <= FALSE_ALARM


def permutation_test(public: dict[str, Array], hidden: dict[str, Array]) -> HiddenTest:
    """Test, one-sided, whether an agent is worse on hidden seeds than on public ones.

    The runs of a world of an honest agent are exchangeable between the two groups. Two statistics
    are tested (Bonferroni): the difference of the interquartile means, by which agents are ranked,
    and that of the means, which includes the tails. The observed assignment counts as one of the
    permutations [@phipson2010permutation], so the test keeps its level.

    Args:
        public: Normalised regret of the submitted runs, by world.
        hidden: Normalised regret of the runs on hidden seeds, by world.
    """
    rng = np.random.default_rng(0)
    first, second = [], []
    for env, known in public.items():
        pool = np.concatenate((known, hidden[env]))
        mixed = rng.permuted(np.tile(pool, (PERMUTATIONS + 1, 1)), axis=1)
        mixed[0] = pool  # the observed assignment
        first.append(mixed[:, : len(known)])
        second.append(mixed[:, len(known) :])
    known, unseen = np.concatenate(first, axis=1), np.concatenate(second, axis=1)
    middle = middle_half(known), middle_half(unseen)
    gaps = (middle[1] - middle[0], unseen.mean(1) - known.mean(1))
    tails = [(gap >= gap[0] - 1e-12 * max(abs(gap[0]), 1.0)).mean() for gap in gaps]
    return HiddenTest(float(middle[0][0]), float(middle[1][0]), min(1.0, 2.0 * float(min(tails))))


def hidden_verdict(
    manifest: Manifest,
    regrets: Mapping[str, Sequence[float | None]],
    seeds: HiddenSeeds,
    uniform: Regrets,
) -> Verdict:
    """Return the verdict on an agent from its regrets on hidden seeds.

    Args:
        manifest: Manifest with the regrets on public seeds.
        regrets: Regrets on hidden seeds by world, None where a run failed.
        seeds: The hidden seeds.
        uniform: Regret of choosing at random on public and on hidden seeds.
    """
    public = {(run.env, run.seed): run.regret for run in manifest.runs}
    hidden: Regrets = {}
    for env, own in regrets.items():
        for seed, regret in zip(seeds.worlds, own, strict=True):
            if regret is None:  # the agent's own words could carry what it has seen
                return Verdict("hidden-seed", False, f"the agent failed on a hidden seed of {env}")
            hidden[env, seed] = regret
    test = permutation_test(normalised(public, uniform), normalised(hidden, uniform))
    words = (
        f"normalised regret {test.hidden:.3f} on {COUNT} hidden seeds of each world, "
        f"{test.public:.3f} on the public ones (permutation test, p = {test.p_value:.2g})"
    )
    if test.p_value <= FALSE_ALARM:
        return Verdict("hidden-seed", False, f"{words}: it knows the public seeds")
    return Verdict("hidden-seed", True, words)
