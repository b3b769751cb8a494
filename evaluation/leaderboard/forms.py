"""What every run of a protocol looks like, whoever plays it: the worlds say it, never a bundle."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.protocol import Protocol
from periodic_envs.env import PeriodicBanditEnv


@dataclass(frozen=True)
class RunForm:
    """The form of a run.

    Attributes:
        env: Label of the world.
        seed: Of the world.
        first_step: Time of the first decision.
        steps: Decisions.
        arms: How many there are to choose from, None for a box.
        dim: Coordinates of a point of the box.
    """

    env: str
    seed: int
    first_step: int
    steps: int
    arms: int | None
    dim: int

    def __str__(self) -> str:
        return f"{self.env}, seed {self.seed}"

    def moment(self, step: int) -> str:
        """A step of the run, for people."""
        return f"t = {self.first_step + step} of {self}"


def run_names(protocol: Protocol) -> list[tuple[str, int]]:
    """World and seed of every run that a submission has, in order."""
    return [(e.label, seed) for e in protocol.envs for seed in protocol.seeds_of(e)]


def worlds_of(protocol: Protocol) -> dict[str, PeriodicBanditEnv]:
    """The worlds that the protocol means, by their labels."""
    return {entry.label: protocol.world(entry).make() for entry in protocol.envs}


def run_forms(protocol: Protocol) -> list[RunForm]:
    """The form of every run that a submission has, in order."""
    worlds = worlds_of(protocol)
    found = []
    for env, seed in run_names(protocol):
        world = worlds[env]
        public = world.public
        found.append(
            RunForm(env, seed, public.first_step, world.horizon, public.n_actions, public.dim)
        )
    return found
