"""Verification of a submission in tiers, the cheapest first.

- **well-formed**: the files are complete and of this protocol.
- **replayed**: the submitted actions have the claimed regrets in the worlds of the protocol. No
  code of the agent is run. This proves the numbers, not that they were found without the seeds.
- **re-run**: the agent, run again on a sample of the runs, chooses the same actions.
- **hidden-seed**: run on seeds unknown when the code was written, it is not significantly worse
  (``judge.py``; only in an edition).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from agents.registry import AgentSpec, is_built_in
from evaluation import sandbox
from evaluation.leaderboard.bundle import (
    BundleError,
    LeaderboardError,
    Manifest,
    read_manifest,
    read_steps_file,
)
from evaluation.leaderboard.replay import played_worlds, run_forms, run_names
from evaluation.leaderboard.steps import Actions, read_steps
from evaluation.leaderboard.submit import Report, agent_runs, code_hash
from evaluation.protocol import Protocol
from evaluation.record import Record
from evaluation.runner import execute_all
from evaluation.runs import Run, with_key
from evaluation.specs import AgentEntry, ProtocolError, track_of

TIERS = ("well-formed", "replayed", "re-run", "hidden-seed")
SAMPLE = 12
"""Runs of a submission that are run again."""
REGRET_TOLERANCE = 1e-9
"""Relative tolerance of claimed regrets: machines differ in the last digits."""
ACTION_TOLERANCE = 1e-6
"""Tolerance of the coordinates of a box when an agent is run again; arms must be equal."""


Played = Sequence[tuple[Run, Record]]
"""Runs with their records."""


class CannotCheckError(LeaderboardError):
    """A tier that cannot be tried, which says nothing about the submission."""


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Result of a tier, with a sentence for people."""

    tier: str
    passed: bool
    words: str


@dataclass(frozen=True)
class Submission:
    """A well-formed submission: manifest, bytes of the steps, and the action of every step."""

    manifest: Manifest
    steps: bytes
    actions: Actions


@dataclass
class Verification:
    """Progress of a submission through the tiers.

    Attributes:
        verdicts: One for each tier that was tried; the last may be a refusal.
        submission: The submission, once it is well-formed.
    """

    verdicts: list[Verdict] = field(default_factory=list)
    submission: Submission | None = None

    @property
    def passed(self) -> bool:
        """Whether every tier was passed."""
        return all(verdict.passed for verdict in self.verdicts)


def verify(
    folder: Path,
    protocol: Protocol,
    *,
    through: str = "replayed",
    agents: Sequence[str] = (),
    sample: int = SAMPLE,
    isolation: str = "sandbox",
    workers: int | None = None,
    on_progress: Report = lambda progress: None,
) -> Verification:
    """Take a bundle through the tiers until one refuses it.

    Args:
        folder: The bundle.
        protocol: The protocol that it must be of; nothing in the bundle chooses a world.
        through: Last tier to try, at most "re-run".
        agents: Places of code, for the tier re-run; not needed for installed agents.
        sample: Number of runs that are run again.
        isolation: "sandbox", or "none" for an agent that you trust.
        workers: Number of processes; by default one per core.
        on_progress: Called with the progress of the runs.

    Raises:
        CannotCheckError: If a tier cannot be tried.
    """
    found, tier = Verification(), "well-formed"
    try:
        submission = found.submission = read_submission(folder, protocol)
        found.verdicts.append(Verdict(tier, True, "the files are complete and of this protocol"))
        if through != tier:
            tier = "replayed"
            words = check_regrets(submission, protocol)
            found.verdicts.append(Verdict(tier, True, words))
        if through == "re-run":
            tier = "re-run"
            agent = judged_agent(submission.manifest, agents)
            runs = sampled_runs(protocol, agent, sample, np.random.default_rng())
            words = check_actions(
                submission, protocol, execute(runs, isolation, workers, on_progress)
            )
            found.verdicts.append(Verdict(tier, True, words))
    except (BundleError, ProtocolError) as error:
        found.verdicts.append(Verdict(tier, False, str(error)))
    return found


def read_submission(folder: Path, protocol: Protocol, *, trusted: bool = False) -> Submission:
    """Read a bundle, which must be complete and of the protocol."""
    manifest = read_manifest(folder)
    if manifest.challenge != protocol.challenge:
        raise BundleError(
            f"it is of another protocol ({manifest.protocol!r}, challenge "
            f"{manifest.challenge[:12]}) than {protocol.name!r} ({protocol.challenge[:12]}): other "
            "worlds, seeds, limits, data or versions"
        )
    if is_built_in(manifest.agent):
        track_of(AgentSpec(manifest.agent, manifest.settings), manifest.track)
    if [(run.env, run.seed) for run in manifest.runs] != run_names(protocol):
        raise BundleError("its runs are not all runs of the protocol, once and in order")
    for run in manifest.runs:
        if run.seconds > protocol.limits.seconds:
            limit = f"the protocol's limit of {protocol.limits.seconds:g} seconds"
            raise BundleError(f"{run.env}, seed {run.seed} took longer than {limit}")
    forms = run_forms(protocol)
    steps = read_steps_file(folder, manifest, rows=sum(form.steps for form in forms))
    return Submission(manifest, steps, read_steps(steps, forms, trusted=trusted))


def check_regrets(submission: Submission, protocol: Protocol) -> str:
    """Compute the regrets of the actions, which must be the claimed ones."""
    triples = zip(
        submission.manifest.runs, played_worlds(protocol), submission.actions, strict=True
    )
    for run, world, own in triples:
        regret = float(world.columns(own)["regret"].sum())
        if abs(regret - run.regret) > REGRET_TOLERANCE * (1.0 + abs(regret)):
            raise BundleError(
                f"the regret of {run.env}, seed {run.seed} is claimed as {run.regret:.9g}, but the "
                f"submitted actions have {regret:.9g}: an action or the regret was changed"
            )
    return "the submitted actions have the claimed regrets"


def judged_agent(manifest: Manifest, agents: Sequence[str]) -> AgentEntry:
    """Return the agent of a submission, under the submission's id.

    An agent of this package is taken as it is here; any other must be the submitted code, at one of
    the places that the judge names. Nothing in a bundle decides what is run.

    Raises:
        CannotCheckError: If the code is at none of these places.
    """
    agent = submitted_agent(manifest)
    attribute = manifest.agent.rpartition(":")[2]
    if not is_built_in(manifest.agent):
        places = [AgentSpec.parse(place).name for place in agents]
        named = [place for place in places if place.rpartition(":")[2] == attribute]
        same = [place for place in named if code_hash(place) == manifest.source_sha256]
        if not same:
            wrong = (
                f"the code of {named[0]!r} is not the code that was submitted; " if named else ""
            )
            raise CannotCheckError(
                f"{wrong}the submitted code of {manifest.agent!r} is needed to run it: --agent "
                f"file.py:{attribute}, module:{attribute} or the name of an installed agent"
            )
        agent = replace(agent, spec=AgentSpec(same[0], manifest.settings))
    return agent


def submitted_agent(manifest: Manifest) -> AgentEntry:
    """Return the agent that a submission names, under the submission's id; not fit to be run."""
    return AgentEntry(manifest.id, AgentSpec(manifest.agent, manifest.settings), manifest.track)


def sampled_runs(
    protocol: Protocol, agent: AgentEntry, sample: int, rng: np.random.Generator
) -> list[Run]:
    """Return some of the public runs of an agent, drawn at random."""
    runs = agent_runs(replace(protocol, agents=(agent,)))
    return [runs[place] for place in rng.permutation(len(runs))[:sample]]


def execute(
    runs: Sequence[Run], isolation: str, workers: int | None, on_progress: Report
) -> Played:
    """Run agents that are not trusted.

    Raises:
        CannotCheckError: If the sandbox does not start.
    """
    check_sandbox(isolation)
    isolated = [with_key(replace(run, isolation=isolation)) for run in runs]
    records = execute_all(isolated, workers=workers, on_progress=on_progress)
    for record in records.values():
        if (record.reason or "").startswith(sandbox.DID_NOT_START):
            raise CannotCheckError(f"{record.reason}: this says nothing about the agent")
    return [(run, records[run.key]) for run in isolated]


def check_sandbox(isolation: str) -> None:
    """Require a sandbox where one is asked for."""
    if isolation == "sandbox" and sandbox.available() is None:
        raise CannotCheckError(
            f"agents of other people are run in a sandbox: {sandbox.why_not()}; install "
            "bubblewrap, or use --isolation none for code that you trust"
        )


def check_actions(submission: Submission, protocol: Protocol, played: Played) -> str:
    """Compare what the agent chose in some of the public runs with what was submitted."""
    submitted = dict(zip(run_names(protocol), submission.actions, strict=True))
    for run, record in played:
        where = f"{run.env}, seed {run.seed}"
        if record.reason is not None:
            raise BundleError(f"the agent failed in {where}: {record.reason}")
        expected = submitted[run.env, run.seed]
        chosen = record.columns["action"].reshape(expected.shape)
        gap = np.abs(chosen - expected).reshape(len(expected), -1).max(axis=1)
        if (gap > ACTION_TOLERANCE).any():
            step = int(np.argmax(gap > ACTION_TOLERANCE))
            raise BundleError(
                f"{where}: the agent chooses {_shown(chosen[step])} at t = "
                f"{record.columns['t'][step]}, but {_shown(expected[step])} was submitted"
            )
    speed = f"{ms_per_step([record for _, record in played]):.3g} ms per step"
    return f"the agent chose the same actions in {len(played)} runs, in {speed}"


def _shown(action: NDArray[Any]) -> str:
    return ", ".join(f"{x:g}" for x in np.atleast_1d(action))


def ms_per_step(records: Sequence[Record]) -> float:
    """Return the agent's time per step, as measured by the judge."""
    seconds = np.concatenate([record.columns["seconds"] for record in records])
    return 1e3 * float(seconds.mean())
