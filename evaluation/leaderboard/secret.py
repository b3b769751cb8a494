"""An edition's secret: the key that signs its log, and the salt of its hidden seeds.

Hidden seeds are such that nobody can know them beforehand; what they reveal is tested here, too.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from platformdirs import user_config_path
from scipy import stats

from evaluation.protocol.tracks import TRAINING_SEED
from periodic_envs.arrays import Array

COUNT = 10
"""Hidden worlds of each kind."""
FALSE_ALARM = 1e-3
"""How often an honest agent is refused."""
_PERMUTATIONS = 20_000


class SecretError(Exception):
    """A secret that is missing or does not belong to the edition: one sentence."""


@dataclass(frozen=True)
class Secret:
    """What only the maintainers have.

    Attributes:
        key: Signs the log.
        salt: Hidden seeds are derived from it.
    """

    key: Ed25519PrivateKey
    salt: bytes

    @classmethod
    def create(cls, path: Path) -> Secret:
        """Make a new secret, in a file that only its owner can read."""
        if path.exists():
            raise SecretError(f"there is a secret in {str(path)!r} already: it is left alone")
        made = cls(Ed25519PrivateKey.generate(), secrets.token_bytes(32))
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"key": made.key.private_bytes_raw().hex(), "salt": made.salt.hex()}
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(content, file)
        return made

    @classmethod
    def load(cls, path: Path) -> Secret:
        """Read a secret from its file."""
        try:
            content = json.loads(path.read_text())
            key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(content["key"]))
            return cls(key, bytes.fromhex(content["salt"]))
        except OSError as error:
            raise SecretError(
                f"cannot read the edition's secret {str(path)!r} ({error.strerror}); only its "
                "maintainers have it: name its place with --secret"
            ) from None
        except (ValueError, KeyError, TypeError):
            raise SecretError(f"{str(path)!r} holds no edition's secret") from None

    @property
    def public_key(self) -> str:
        """The public half of the key, which everybody may know."""
        return self.key.public_key().public_bytes_raw().hex()

    @property
    def salt_hash(self) -> str:
        """SHA-256 of the salt, published when the edition opens: it binds the maintainers."""
        return hashlib.sha256(self.salt).hexdigest()


def default_path(edition: str) -> Path:
    """Where an edition's secret is kept: in the user's settings, outside any repository."""
    return user_config_path("periodic-gp") / "editions" / f"{edition}.json"


class HiddenSeeds:
    """Seeds derived from a secret, other ones for every submission.

    Of each run the world's and the agent's are derived apart: an agent's random numbers must not
    give its world away, as they would on public seeds.

    Args:
        salt: The secret.
        submission: Its id.
        count: Worlds of each kind.

    Attributes:
        worlds: Their seeds.
    """

    def __init__(self, salt: bytes, submission: str, count: int = COUNT) -> None:
        self._salt = hmac.new(salt, submission.encode(), hashlib.sha256).digest()
        self.worlds = tuple(self._number(f"world {i}") % TRAINING_SEED for i in range(count))

    def agent(self, env: str, seed: int) -> int:
        """The agent's seed in one of the worlds."""
        return self._number(f"agent {seed} {env}")

    def _number(self, what: str) -> int:
        digest = hmac.new(self._salt, what.encode(), hashlib.sha256).digest()
        return int.from_bytes(digest[:7], "big")


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
    middle = _iqm(first), _iqm(second)
    gaps = (middle[1] - middle[0], second.mean(1) - first.mean(1))
    tails = [(gap >= gap[0] - 1e-12 * max(abs(gap[0]), 1.0)).mean() for gap in gaps]
    p_value = min(1.0, 2.0 * float(min(tails)))
    return Comparison(float(middle[0][0]), float(middle[1][0]), p_value)


def _iqm(values: Array) -> Array:
    """Interquartile mean of every row."""
    return np.asarray(stats.trim_mean(values, 0.25, axis=1))
