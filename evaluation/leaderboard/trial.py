"""Verdicts on a submission, and the tiers that run its agent: again, and on hidden seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.registry import AgentSpec, UnknownAgentError, is_built_in
from evaluation.leaderboard.bundle import BundleError, Manifest
from evaluation.leaderboard.secret import HiddenSeeds, can_tell, is_worse_on_hidden_seeds
from evaluation.leaderboard.steps import Columns
from evaluation.leaderboard.submit import agent_runs
from evaluation.protocol.entries import AgentEntry, ProtocolError
from evaluation.protocol.protocol import Protocol
from evaluation.protocol.tracks import REFERENCES
from evaluation.results import UNIFORM
from evaluation.running.isolation import strongest
from evaluation.running.record import Record
from evaluation.running.run import runs_of, with_key
from evaluation.running.sources import own_hash
from evaluation.running.sweep import Progress, execute_all
from periodic_envs.arrays import Array

TIERS = ("well-formed", "replayed", "re-run", "hidden-seed")
MAX_LETTERS = 1000


Report = Callable[[Progress], object]
Regrets = Mapping[tuple[str, int], float]
"""By world and seed."""

ACTION_TOLERANCE = 1e-6
"""Of the coordinates of a box; arms must be equal."""


class CannotCheckError(Exception):
    """A tier that says nothing about a submission: one sentence about what is missing."""


@dataclass(frozen=True)
class Verdict:
    """What a tier found about a submission."""

    tier: str
    passed: bool
    words: str

    def __post_init__(self) -> None:
        short = "".join(c if c.isprintable() else " " for c in self.words)[:MAX_LETTERS]
        object.__setattr__(self, "words", short)


@dataclass
class Verification:
    """A submission on its way through the tiers.

    Attributes:
        manifest: What it says about itself, once it is well-formed.
        verdicts: What the tiers came to, the last may be a refusal.
        steps: The bytes of its steps, which all of this is about.
        columns: Its steps, by run.
        regrets: Regret of every step, by run, from the worlds: once it is replayed.
        ms_per_step: Of the agent, as we have measured it: once it is run again.
    """

    manifest: Manifest | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    steps: bytes = b""
    columns: list[Columns] = field(default_factory=list)
    regrets: list[Array] = field(default_factory=list)
    ms_per_step: float | None = None

    @property
    def passed(self) -> bool:
        """Whether no tier refused it."""
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def tier(self) -> str | None:
        """The highest tier that it passed."""
        good = [verdict.tier for verdict in self.verdicts if verdict.passed]
        return good[-1] if good else None


def judged(verification: Verification, protocol: Protocol, place: str | None) -> Protocol:
    """The protocol with the submitted agent, whose code must be the submitted code."""
    manifest = verification.manifest
    assert manifest is not None
    name = manifest.agent
    if not is_built_in(name):
        name = _code(manifest, place)
    entry = AgentEntry(manifest.label, AgentSpec(name, manifest.settings), manifest.track)
    try:
        return replace(protocol, agents=(entry,))
    except ProtocolError as error:
        raise BundleError(str(error)) from None


def _code(manifest: Manifest, place: str | None) -> str:
    """Where the submitted code is, on this machine."""
    if place is None:
        raise CannotCheckError(
            f"say where the code of {manifest.agent!r} is, to run it: --agent file.py:Class"
        )
    try:
        name = AgentSpec.parse(place).name
        same = own_hash(name) == manifest.source_sha256
    except UnknownAgentError as error:
        raise CannotCheckError(str(error)) from None
    if name.rpartition(":")[2] != manifest.agent.rpartition(":")[2]:
        raise CannotCheckError(f"{manifest.agent!r} was submitted, not {place!r}")
    if not same:
        raise CannotCheckError(f"the code of {place!r} is not the code that was submitted")
    return name


def rerun(
    verification: Verification,
    protocol: Protocol,
    sample: int,
    rng: np.random.Generator | None,
    workers: int | None,
    on_progress: Report,
) -> str:
    """Run a sample again; what came of it, or a BundleError if an action differs."""
    runs = agent_runs(protocol)
    rng = rng or np.random.default_rng()
    chosen = sorted(rng.choice(len(runs), min(sample, len(runs)), replace=False).tolist())
    again = [replace(runs[i], isolation=strongest()) for i in chosen]
    outcomes = execute_all(again, workers=workers, on_progress=on_progress)
    for i, run in zip(chosen, again, strict=True):
        outcome, where = outcomes[run.key], f"{run.env}, seed {run.seed}"
        if outcome.reason is not None:
            raise BundleError(f"the agent failed in {where}: {outcome.reason}")
        logged = verification.columns[i]["action"]
        action = np.asarray(outcome.columns["action"], dtype=np.float64).reshape(len(logged), -1)
        gap = np.abs(action - logged[:, : action.shape[1]]).max(axis=1)
        if (gap > ACTION_TOLERANCE).any():
            step = int(np.argmax(gap > ACTION_TOLERANCE))
            t = verification.columns[i]["t"][step]
            raise BundleError(
                f"the agent chooses {_shown(action[step])} at t = {t} of {where}, but "
                f"{_shown(logged[step])} was submitted"
            )
    seconds = np.concatenate([outcomes[run.key].columns["seconds"] for run in again])
    verification.ms_per_step = 1e3 * float(seconds.mean())
    return (
        f"the agent chose the same actions in {len(chosen)} runs drawn by lot, in "
        f"{verification.ms_per_step:.3g} ms per step"
    )


def _shown(action: Array) -> str:
    return ", ".join(f"{x:g}" for x in action if np.isfinite(x))


def on_hidden_seeds(
    verification: Verification,
    protocol: Protocol,
    salt: bytes | None,
    uniform: Regrets | None,
    workers: int | None,
    on_progress: Report,
) -> str:
    """Run the agent on seeds that nobody knew; an error if it is clearly worse than reported."""
    assert verification.manifest is not None
    if salt is None:
        raise CannotCheckError("hidden seeds need an edition's secret")
    fixed = [label for label, origin in protocol.origins.items() if origin and origin.replay]
    if fixed:
        raise CannotCheckError(f"{fixed[0]!r} replays data, for which there are no hidden seeds")
    hidden = HiddenSeeds(salt, verification.manifest.id)
    pairs = zip(verification.manifest.runs, verification.regrets, strict=True)
    reported = {(run.env, run.seed): float(regret.sum()) for run, regret in pairs}
    public = _normalised(reported, uniform or _uniform(protocol, workers))
    if not can_tell(public, len(hidden.worlds)):
        raise CannotCheckError("the protocol has too few runs for hidden seeds to show anything")
    unseen = protocol.restricted(seeds=hidden.worlds)
    regret = _hidden_regrets(unseen, hidden, workers, on_progress)
    verdict = is_worse_on_hidden_seeds(public, _normalised(regret, _uniform(unseen, workers)))
    numbers = (
        f"{verdict.hidden:.3f} on {len(hidden.worlds)} hidden seeds of each world, "
        f"{verdict.public:.3f} on the public ones (permutation test, p = {verdict.p_value:.2g})"
    )
    if verdict.worse:
        raise BundleError(f"its normalised regret is {numbers}: it knows the public seeds")
    return f"normalised regret {numbers}"


def _hidden_regrets(
    unseen: Protocol, hidden: HiddenSeeds, workers: int | None, on_progress: Report
) -> Regrets:
    """Regret of the agent in the hidden worlds."""
    runs = [
        with_key(replace(run, agent_seed=hidden.agent(run.env, run.seed), isolation=strongest()))
        for run in agent_runs(unseen)
    ]
    outcomes = execute_all(runs, workers=workers, on_progress=on_progress)
    if failed := failures(outcomes):
        raise BundleError(f"the agent failed on a hidden seed: {failed[0]}")
    return {(run.env, run.seed): float(outcomes[run.key].columns["regret"].sum()) for run in runs}


def failures(outcomes: Mapping[str, Record]) -> list[str]:
    """Why runs failed."""
    return [outcome.reason for outcome in outcomes.values() if outcome.reason is not None]


def reference_columns(
    protocol: Protocol, workers: int | None = None, on_progress: Report = lambda progress: None
) -> dict[tuple[str, int], dict[str, NDArray[Any]]]:
    """What the oracle, the best fixed action and their like lose, by world and seed."""
    runs = [run for run in runs_of(protocol) if run.track == REFERENCES]
    outcomes = execute_all(runs, workers=workers, on_progress=on_progress)
    if failed := failures(outcomes):
        raise CannotCheckError(f"a world of the protocol cannot be run: {failed[0]}")
    return {(run.env, run.seed): outcomes[run.key].columns for run in runs}


def uniform_regrets(columns: Mapping[tuple[str, int], Mapping[str, NDArray[Any]]]) -> Regrets:
    """What choosing at random loses in each run."""
    return {name: float(own[UNIFORM].sum()) for name, own in columns.items()}


def _uniform(protocol: Protocol, workers: int | None) -> Regrets:
    return uniform_regrets(reference_columns(protocol, workers))


def _normalised(regret: Regrets, uniform: Regrets) -> dict[str, Array]:
    """Regret of each run as a share of choosing at random, by world."""
    shares: dict[str, list[float]] = {}
    for name, value in regret.items():
        shares.setdefault(name[0], []).append(value / uniform[name])
    return {env: np.array(values) for env, values in shares.items()}
