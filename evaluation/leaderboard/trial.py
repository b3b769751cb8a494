"""The tiers that run the agent of a submission: again, and on hidden seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.registry import AgentSpec, UnknownAgentError, is_built_in
from evaluation.leaderboard.bundle import BundleError, Manifest
from evaluation.leaderboard.copies import ACTION_TOLERANCE, equal_actions
from evaluation.leaderboard.replay import references
from evaluation.leaderboard.secret import HiddenSeeds, can_tell, is_worse_on_hidden_seeds
from evaluation.leaderboard.submit import agent_runs, code_hash
from evaluation.leaderboard.verdicts import CannotCheckError, Regrets, Report, Verification
from evaluation.protocol.entries import AgentEntry, ProtocolError
from evaluation.protocol.protocol import Protocol
from evaluation.results import UNIFORM
from evaluation.running.isolation import strongest
from evaluation.running.record import Record
from evaluation.running.run import with_key
from evaluation.running.sweep import execute_all
from periodic_envs.arrays import Array


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
        same = code_hash(name) == manifest.source_sha256
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
        if differs := difference(outcome, verification.actions[i]):
            raise BundleError(f"in {where} {differs}")
    seconds = np.concatenate([outcomes[run.key].columns["seconds"] for run in again])
    verification.ms_per_step = 1e3 * float(seconds.mean())
    return (
        f"the agent chose the same actions in {len(chosen)} runs drawn by lot, in "
        f"{verification.ms_per_step:.3g} ms per step"
    )


def difference(outcome: Record, submitted: NDArray[Any]) -> str | None:
    """The first action in which a run differs from the submitted one, if there is any."""
    chosen = outcome.columns["action"].reshape(submitted.shape)
    other = ~equal_actions(chosen, submitted, ACTION_TOLERANCE)
    if not other.any():
        return None
    step = int(np.argmax(other))
    return (
        f"the agent chooses {_shown(chosen[step])} at t = {outcome.columns['t'][step]}, but "
        f"{_shown(submitted[step])} was submitted"
    )


def _shown(action: Any) -> str:
    return ", ".join(f"{x:g}" for x in np.atleast_1d(action))


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
    public = _normalised(reported, uniform or uniform_regrets(protocol))
    if not can_tell(public, len(hidden.worlds)):
        raise CannotCheckError("the protocol has too few runs for hidden seeds to show anything")
    unseen = protocol.restricted(seeds=hidden.worlds)
    regret = _hidden_regrets(unseen, hidden, workers, on_progress)
    verdict = is_worse_on_hidden_seeds(public, _normalised(regret, uniform_regrets(unseen)))
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


def uniform_regrets(protocol: Protocol) -> Regrets:
    """What choosing at random loses in each run."""
    return {name: float(own[UNIFORM].sum()) for name, own in references(protocol).items()}


def _normalised(regret: Regrets, uniform: Regrets) -> dict[str, Array]:
    """Regret of each run as a share of choosing at random, by world."""
    shares: dict[str, list[float]] = {}
    for name, value in regret.items():
        shares.setdefault(name[0], []).append(value / uniform[name])
    return {env: np.array(values) for env, values in shares.items()}
