"""What anybody can check of an edition: that its hidden seeds were fixed, and its numbers are true.

While an edition is open its salt is secret, and only its hash is known. When it is closed the salt
is public: then everybody can see that it belongs to the hash, that every hidden seed in the log
belongs to the salt, and that agents do on these seeds what the log says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.registry import AgentSpec, is_built_in
from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.forms import run_forms
from evaluation.leaderboard.hidden import HiddenSeeds
from evaluation.leaderboard.lines import Judged
from evaluation.leaderboard.log import LogError
from evaluation.leaderboard.standing import Accepted, installed_code
from evaluation.leaderboard.steps import read_steps
from evaluation.leaderboard.submit import agent_runs
from evaluation.leaderboard.trial import difference, hidden_runs
from evaluation.leaderboard.verdicts import Report
from evaluation.protocol import Protocol
from evaluation.record import Record
from evaluation.runner import execute_all
from evaluation.running.isolation import PROCESS
from evaluation.runs import Run
from evaluation.specs import AgentEntry

REGRET_TOLERANCE = 1e-6
"""Of the regret of a run on another machine, relative."""


def check_hidden_seeds(edition: Edition) -> int | None:
    """How many hidden seeds belong to the salt of a closed edition, None while it is open.

    Raises:
        LogError: If the salt is not the one that was promised, or a seed is not of it.
    """
    if edition.closed is None:
        return None
    salt, seeds = _salt(edition), 0
    for line in edition.lines():
        if isinstance(line, Judged) and line.hidden is not None:
            expected = HiddenSeeds(salt, str(line.submission), line.hidden.trial).worlds
            if line.hidden.seeds != expected:
                raise LogError(
                    f"the hidden seeds of submission {str(line.submission)[:12]}, trial "
                    f"{line.hidden.trial}, are not those of the edition's salt"
                )
            seeds += len(expected)
    return seeds


def _salt(edition: Edition) -> bytes:
    assert edition.closed is not None
    try:
        salt = bytes.fromhex(edition.closed.salt)
    except ValueError:
        raise LogError("the salt that was published is none") from None
    if hashlib.sha256(salt).hexdigest() != edition.about["salt_sha256"]:
        raise LogError("the salt that was published is not the one whose hash was promised")
    return salt


@dataclass(frozen=True)
class Claim:
    """A run that can be run again, and what it must come to.

    Attributes:
        label: Name of the agent.
        run: The run.
        actions: What was submitted, of a run on a public seed.
        regret: What the log says, of a run on a hidden seed.
    """

    label: str
    run: Run
    actions: NDArray[Any] | None = None
    regret: float | None = None

    def broken(self, outcome: Record) -> str | None:
        """What is wrong with it, None if it holds."""
        where = f"{self.label} in {self.run.env}, seed {self.run.seed}"
        if outcome.reason is not None:
            return f"{where}: {outcome.reason}"
        if self.actions is not None:
            differs = difference(outcome, self.actions)
            return differs and f"{where}: {differs}"
        found, said = outcome.regret, self.regret
        assert found is not None
        assert said is not None
        if abs(found - said) <= REGRET_TOLERANCE * (1.0 + abs(said)):
            return None
        return f"{where} (hidden): its regret is {found:.9g}, the log says {said:.9g}"


@dataclass(frozen=True)
class Rerun:
    """What came of running an edition's built-in agents again.

    Attributes:
        public: Runs on public seeds.
        hidden: Runs on hidden seeds.
        broken: Sentences about those that came to something else.
        skipped: Names of agents whose code is not the one that was judged.
        strangers: Names of agents whose code is not a part of periodic-gp.
    """

    public: int
    hidden: int
    broken: list[str]
    skipped: list[str]
    strangers: list[str]


def rerun_edition(
    edition: Edition,
    count: int | None,
    *,
    workers: int | None = None,
    on_progress: Report = lambda progress: None,
) -> Rerun:
    """Run built-in agents again, on public seeds and, once they are known, on hidden ones.

    Args:
        edition: The edition.
        count: Runs of either kind, of each agent, drawn by lot; None for all.
        workers: Processes; by default one per core.
        on_progress: Called with how far it is.
    """
    same, skipped, strangers = _by_code(edition.accepted())
    claims = [claim for one in same for claim in _drawn(one, edition, count)]
    alone = [replace(claim.run, isolation=PROCESS) for claim in claims]
    outcomes = execute_all(alone, workers=workers, on_progress=on_progress) if alone else {}
    found = [claim.broken(outcomes[claim.run.key]) for claim in claims]
    hidden = sum(claim.regret is not None for claim in claims)
    return Rerun(
        public=len(claims) - hidden,
        hidden=hidden,
        broken=[sentence for sentence in found if sentence is not None],
        skipped=skipped,
        strangers=strangers,
    )


def _by_code(accepted: list[Accepted]) -> tuple[list[Accepted], list[str], list[str]]:
    """Those whose code is here as it was, and the names of those of earlier and of foreign code."""
    ours = [one for one in accepted if is_built_in(one.manifest.agent)]
    earlier = [one.manifest.label for one in ours if one.is_stale]
    foreign = [one.manifest.label for one in accepted if one not in ours]
    return [one for one in ours if not one.is_stale], earlier, foreign


def _drawn(one: Accepted, edition: Edition, count: int | None) -> list[Claim]:
    """Claims of a submission by lot, so many of either kind."""
    protocol, rng = edition.protocol(), np.random.default_rng()
    drawn: list[Claim] = []
    for own in (list(_public(one, protocol)), list(_hidden(one, protocol, edition))):
        size = len(own) if count is None else min(count, len(own))
        drawn += [own[i] for i in rng.permutation(len(own))[:size]]
    return drawn


def _public(one: Accepted, protocol: Protocol) -> Iterator[Claim]:
    actions = read_steps(one.steps, run_forms(protocol), trusted=True)
    for run, own in zip(agent_runs(_with_agent(one, protocol)), actions, strict=True):
        yield Claim(one.manifest.label, run, actions=own)


def _hidden(one: Accepted, protocol: Protocol, edition: Edition) -> Iterator[Claim]:
    """The runs of the trials that were judged with the code that is here."""
    if edition.closed is None:
        return
    salt, code = _salt(edition), installed_code(one.manifest.agent)
    for line in one.verdicts:
        if line.hidden is None or line.code != code:
            continue
        seeds = HiddenSeeds(salt, one.manifest.id, line.hidden.trial)
        said = {
            (env, seed): regret
            for env, regrets in line.hidden.regrets.items()
            for seed, regret in zip(seeds.worlds, regrets, strict=False)
        }
        for run in hidden_runs(_with_agent(one, protocol), seeds):
            if (regret := said.get((run.env, run.seed))) is not None:
                yield Claim(one.manifest.label, run, regret=regret)


def _with_agent(one: Accepted, protocol: Protocol) -> Protocol:
    spec = AgentSpec(one.manifest.agent, one.manifest.settings)
    return replace(protocol, agents=(AgentEntry(one.manifest.label, spec, one.manifest.track),))
