"""Verification of a submission in tiers, the cheapest first.

- **well-formed**: the files are complete and of this protocol.
- **replayed**: the submitted actions have the claimed regrets in the worlds of the protocol. No
  code of the agent is run. This proves the numbers, not that they were found without the seeds.
- **re-run**: the agent, run again on a sample of the runs, chooses the same actions.
- **hidden-seed**: run on seeds unknown when the code was written, it is not significantly worse
  (``judge.py``; only in an edition).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from agents.registry import AgentSpec, is_built_in
from evaluation import sandbox
from evaluation.leaderboard.bundle import (
    STEPS,
    Actions,
    BundleError,
    LeaderboardError,
    Manifest,
    read_file,
    read_manifest,
    read_steps,
)
from evaluation.leaderboard.replay import played_worlds, run_forms, run_names
from evaluation.leaderboard.submit import Report, agent_runs, code_hash
from evaluation.protocol import Protocol
from evaluation.record import Record
from evaluation.runner import execute_all
from evaluation.runs import Run
from evaluation.specs import AgentEntry, track_of

TIERS = ("well-formed", "replayed", "re-run", "hidden-seed")
SAMPLE = 12  # runs of a submission that are run again
REGRET_TOLERANCE = 1e-9  # of claimed regrets, relative: machines differ in the last digits
ACTION_TOLERANCE = 1e-6  # of coordinates when an agent is run again; arms must be equal
Played = Sequence[tuple[Run, Record]]


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

    @property
    def id(self) -> str:
        """Id of the submission."""
        return self.manifest.id


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
) -> list[Verdict]:
    """Take a bundle through the tiers until one refuses it.

    Args:
        folder: The bundle.
        protocol: The protocol that it must be of; nothing in the bundle chooses a world.
        through: Last tier to try, at most "re-run".
        agents: Places of code, for the tier re-run; not needed for agents of this package.
        sample: Number of runs that are run again.
        isolation: "sandbox", or "none" for an agent that you trust.
        workers: Number of processes; by default one per core.
        on_progress: Called with the progress of the runs.

    Raises:
        CannotCheckError: If a tier cannot be tried.
        ProtocolError: If an agent of this package is in a track where it does not belong.
    """
    verdicts: list[Verdict] = []
    try:
        submission = read_submission(folder, protocol)
        verdicts.append(Verdict(TIERS[0], True, "the files are complete and of this protocol"))
        if through != TIERS[0]:
            verdicts.append(Verdict(TIERS[1], True, check_regrets(submission, protocol)))
        if through == TIERS[2]:
            agent = judged_agent(submission.manifest, agents)
            runs = sampled_runs(protocol, agent, sample, np.random.default_rng())
            played = execute(runs, isolation, workers, on_progress)
            verdicts.append(Verdict(TIERS[2], True, check_actions(submission, protocol, played)))
    except BundleError as error:
        verdicts.append(Verdict(TIERS[len(verdicts)], False, str(error)))
    return verdicts


def read_submission(folder: Path, protocol: Protocol, *, trusted: bool = False) -> Submission:
    """Read a bundle, which must be complete and of the protocol."""
    manifest, forms = read_manifest(folder), run_forms(protocol)
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
    if max(run.seconds for run in manifest.runs) > protocol.limits.seconds:
        limit = protocol.limits.seconds
        raise BundleError(f"a run took longer than the protocol's limit of {limit:g} seconds")
    steps = read_file(folder / STEPS, 100_000 + 300 * sum(form.steps for form in forms))
    if hashlib.sha256(steps).hexdigest() != manifest.steps_sha256:
        raise BundleError(f"{STEPS} does not have the SHA-256 that the manifest states")
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
    agent, attribute = submitted_agent(manifest), manifest.agent.rpartition(":")[2]
    if is_built_in(manifest.agent):
        return agent
    places = [AgentSpec.parse(place).name for place in agents]
    named = [place for place in places if place.rpartition(":")[2] == attribute]
    for place in named:
        if code_hash(place) == manifest.source_sha256:
            return replace(agent, spec=AgentSpec(place, manifest.settings))
    wrong = f"{named[0]!r} is not the code that was submitted; " if named else ""
    raise CannotCheckError(
        f"{wrong}the submitted code of {manifest.agent!r} is needed to run it: --agent "
        f"file.py:{attribute}, module:{attribute} or the name of an installed agent"
    )


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
    isolated = [replace(run, isolation=isolation) for run in runs]
    records = execute_all(isolated, workers=workers, on_progress=on_progress)
    for record in records.values():
        if (record.reason or "").startswith(sandbox.DID_NOT_START):
            raise CannotCheckError(f"{record.reason}: this says nothing about the agent")
    return [(run, records[run.key]) for run in isolated]


def check_sandbox(isolation: str) -> None:
    """Require a sandbox where one is asked for."""
    if isolation == "sandbox" and not sandbox.available():
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
                f"{where}: the agent chooses {chosen[step]} at t = "
                f"{record.columns['t'][step]}, but {expected[step]} was submitted"
            )
    speed = f"{ms_per_step([record for _, record in played]):.3g} ms per step"
    return f"the agent chose the same actions in {len(played)} runs, in {speed}"


def ms_per_step(records: Sequence[Record]) -> float:
    """Return the agent's time per step, as measured by the judge."""
    seconds = np.concatenate([record.columns["seconds"] for record in records])
    return 1e3 * float(seconds.mean())
