"""The tiers that run the agent of a submission: again, and on hidden seeds.

The agent is run in a sandbox where the system has one. Without it hidden seeds are not given out,
unless the maintainers insist: an agent that finds the judge could find the seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.registry import AgentSpec, UnknownAgentError, is_built_in, names
from evaluation import sandbox
from evaluation.leaderboard.bundle import BundleError, Manifest
from evaluation.leaderboard.copies import ACTION_TOLERANCE, equal_actions
from evaluation.leaderboard.hidden import COUNT, HiddenSeeds, can_tell, is_worse_on_hidden_seeds
from evaluation.leaderboard.libraries import missing_libraries
from evaluation.leaderboard.lines import HiddenRuns
from evaluation.leaderboard.replay import references
from evaluation.leaderboard.submit import agent_runs, code_hash
from evaluation.leaderboard.verdicts import CannotCheckError, Regrets, Report, Verification
from evaluation.protocol import Protocol
from evaluation.record import Record
from evaluation.results import UNIFORM
from evaluation.runner import execute_all
from evaluation.running.isolation import strongest
from evaluation.runs import Run, with_key
from evaluation.specs import AgentEntry, ProtocolError
from periodic_envs.arrays import Array

SAMPLE = 12
"""Runs that are run again."""


@dataclass(frozen=True)
class Conditions:
    """How the agent of a submission is run.

    Attributes:
        agent: Where its code is; not needed for built-in agents.
        sample: Runs that are run again.
        rng: Chooses them; by default nobody can know beforehand.
        begin_trial: Gives out hidden seeds, after it has been written down that they are used up.
        uniform: What choosing at random loses in the public runs, if it is known already.
        without_sandbox: Whether hidden seeds are given out where there is no sandbox.
        workers: Processes that run the agent; by default one per core.
        on_progress: Called with the progress of the runs.
    """

    agent: str | None = None
    sample: int = SAMPLE
    rng: np.random.Generator | None = None
    begin_trial: Callable[[Verification], HiddenSeeds] | None = None
    uniform: Regrets | None = None
    without_sandbox: bool = False
    workers: int | None = None
    on_progress: Report = lambda progress: None


def judged(verification: Verification, protocol: Protocol, place: str | None) -> Protocol:
    """The protocol with the submitted agent, whose code must be the submitted code.

    Of a built-in agent there is the code of this version, and it is the actions that count.
    """
    manifest = verification.manifest
    assert manifest is not None
    name = manifest.agent
    if not is_built_in(name):
        name = _code(manifest, place)
    if place is not None:
        _check_settings(manifest, place)
    verification.code = code_hash(name)
    entry = AgentEntry(manifest.label, AgentSpec(name, manifest.settings), manifest.track)
    try:
        return replace(protocol, agents=(entry,))
    except ProtocolError as error:
        raise BundleError(str(error)) from None


def _code(manifest: Manifest, place: str | None) -> str:
    """Where the submitted code is, on this machine."""
    if place is None:
        known = manifest.agent in names()  # of an installed package
        where = manifest.agent if known else "file.py:Class, or module:Class of a package"
        raise CannotCheckError(
            f"say where the code of {manifest.agent!r} is, to run it: --agent {where}"
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
    if missing := missing_libraries(name):
        raise CannotCheckError(
            f"{place!r} needs what is not installed here: {', '.join(missing)}; install it, and "
            "give the same command again"
        )
    return name


def _check_settings(manifest: Manifest, place: str) -> None:
    """Refuse other settings than the submitted ones: the agent is run with those."""
    given = AgentSpec.parse(place).settings
    if given and given != manifest.settings:
        own = str(AgentSpec("", manifest.settings)).lstrip(":") or "its default settings"
        raise CannotCheckError(
            f"it was submitted with {own}, and is run with these: leave the settings out of "
            f"{place!r}"
        )


def rerun(verification: Verification, protocol: Protocol, how: Conditions) -> str:
    """Run a sample again; what came of it, or a BundleError if an action differs."""
    runs = agent_runs(protocol)
    rng = how.rng or np.random.default_rng()
    places = sorted(rng.choice(len(runs), min(how.sample, len(runs)), replace=False).tolist())
    outcomes = _outcomes(verification, [runs[i] for i in places], how)
    for i, outcome in zip(places, outcomes, strict=True):
        where = f"{runs[i].env}, seed {runs[i].seed}"
        if outcome.reason is not None:
            raise BundleError(f"the agent failed in {where}: {outcome.reason}")
        if differs := difference(outcome, verification.actions[i]):
            raise BundleError(f"in {where} {differs}{_of_another_version(verification)}")
    seconds = np.concatenate([outcome.columns["seconds"] for outcome in outcomes])
    verification.ms_per_step = 1e3 * float(seconds.mean())
    return (
        f"the agent chose the same actions in {len(places)} runs drawn by lot, in "
        f"{verification.ms_per_step:.3g} ms per step ({_place(verification)})"
    )


def _of_another_version(verification: Verification) -> str:
    assert verification.manifest is not None
    same = verification.code == verification.manifest.source_sha256
    return "" if same else " (and was made with another version of the code)"


def _place(verification: Verification) -> str:
    """Where the agent was run, for people."""
    return f"in {verification.sandbox}" if verification.sandbox else "without a sandbox"


def _outcomes(verification: Verification, runs: Sequence[Run], how: Conditions) -> list[Record]:
    """Run the agent of a submission, isolated from the judge as well as can be here."""
    verification.sandbox = sandbox.available()
    alone = [with_key(replace(run, isolation=strongest())) for run in runs]
    found = execute_all(alone, workers=how.workers, on_progress=how.on_progress)
    for outcome in found.values():
        if (outcome.reason or "").startswith(sandbox.DID_NOT_START):
            raise CannotCheckError(f"{outcome.reason}: this is no verdict on the agent")
    return [found[run.key] for run in alone]


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


def check_hidden(how: Conditions) -> None:
    """Refuse to try hidden seeds where there are none, or no sandbox and nobody insists."""
    if how.begin_trial is None:
        raise CannotCheckError("hidden seeds are an edition's: periodic-gp leaderboard add")
    if sandbox.available() is None and not how.without_sandbox:
        raise CannotCheckError(
            "hidden seeds are given out to agents in a sandbox only, and there is none here: "
            f"{sandbox.why_not()}; install bubblewrap, or insist with --without-sandbox, which the "
            "log will say"
        )


def on_hidden_seeds(verification: Verification, protocol: Protocol, how: Conditions) -> str:
    """Run the agent on seeds that nobody knew; an error if it is clearly worse than reported."""
    assert verification.manifest is not None
    check_hidden(how)
    assert how.begin_trial is not None
    fixed = [label for label, origin in protocol.origins.items() if origin and origin.replay]
    if fixed:
        raise CannotCheckError(f"{fixed[0]!r} replays data, for which there are no hidden seeds")
    pairs = zip(verification.manifest.runs, verification.regrets, strict=True)
    reported = {(run.env, run.seed): float(regret.sum()) for run, regret in pairs}
    public = _normalised(reported, how.uniform or uniform_regrets(protocol))
    if not can_tell(public, COUNT):
        raise CannotCheckError("the protocol has too few runs for hidden seeds to show anything")
    verification.override = sandbox.available() is None
    hidden = how.begin_trial(verification)
    regrets = _hidden_regrets(verification, protocol, hidden, how)
    unseen = uniform_regrets(protocol.restricted(seeds=hidden.worlds))
    verdict = is_worse_on_hidden_seeds(public, _normalised(regrets, unseen))
    numbers = (
        f"{verdict.hidden:.3f} on {len(hidden.worlds)} hidden seeds of each world, "
        f"{verdict.public:.3f} on the public ones (permutation test, p = {verdict.p_value:.2g}; "
        f"trial {hidden.trial}, {_place(verification)})"
    )
    if verdict.worse:
        raise BundleError(f"its normalised regret is {numbers}: it knows the public seeds")
    return f"normalised regret {numbers}"


def _hidden_regrets(
    verification: Verification, protocol: Protocol, hidden: HiddenSeeds, how: Conditions
) -> Regrets:
    """Regret of the agent in the hidden worlds; all that came of them is written down."""
    runs = hidden_runs(protocol, hidden)
    outcomes = _outcomes(verification, runs, how)
    found: dict[str, list[float | None]] = {}
    for run, outcome in zip(runs, outcomes, strict=True):
        found.setdefault(run.env, []).append(outcome.regret if outcome.reason is None else None)
    regrets = {env: tuple(own) for env, own in found.items()}
    verification.hidden = HiddenRuns(hidden.trial, hidden.worlds, regrets)
    for run, outcome in zip(runs, outcomes, strict=True):
        if outcome.reason is not None:  # in the agent's words it could tell what it has seen
            raise BundleError(f"the agent failed on a hidden seed of {run.env}")
    return {
        (run.env, run.seed): float(outcome.columns["regret"].sum())
        for run, outcome in zip(runs, outcomes, strict=True)
    }


def hidden_runs(protocol: Protocol, hidden: HiddenSeeds) -> list[Run]:
    """The runs of a protocol's only agent on hidden seeds, world by world."""
    runs = agent_runs(protocol.restricted(seeds=hidden.worlds))
    return [with_key(replace(run, agent_seed=hidden.agent(run.env, run.seed))) for run in runs]


def uniform_regrets(protocol: Protocol) -> Regrets:
    """What choosing at random loses in each run."""
    return {name: float(own[UNIFORM].sum()) for name, own in references(protocol).items()}


def _normalised(regret: Regrets, uniform: Regrets) -> dict[str, Array]:
    """Regret of each run as a share of choosing at random, by world."""
    shares: dict[str, list[float]] = {}
    for name, value in regret.items():
        shares.setdefault(name[0], []).append(value / uniform[name])
    return {env: np.array(values) for env, values in shares.items()}
