"""Submissions: running one agent through a protocol, and verifying the bundle in tiers.

The tiers, the cheapest first:

- **well-formed**: the files are complete and of this protocol.
- **replayed**: the submitted actions have the claimed regrets in the worlds of the protocol. No
  code of the agent is run. This proves the numbers, not that they were found without the seeds.
- **re-run**: the agent, run again on a sample of the runs, chooses the same actions.
- **hidden-seed**: run on seeds unknown when the code was written, it is not significantly worse
  (``judge.py``; only in an edition).
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from agents.registry import AgentSpec, is_built_in
from evaluation import runner, sandbox
from evaluation.entries import accepts
from evaluation.keys import agent_code, digest, our_code
from evaluation.leaderboard.bundle import (
    STEPS,
    BundleError,
    LeaderboardError,
    Manifest,
    RunClaim,
    read_file,
    read_manifest,
    write_bundle,
)
from evaluation.leaderboard.replay import (
    max_step_bytes,
    read_steps,
    replays,
    runs_of_agents,
    write_steps,
)
from evaluation.protocol import Protocol
from evaluation.provenance import machine
from evaluation.record import Record
from evaluation.runs import Run
from evaluation.specs import AgentEntry, track_of
from evaluation.store import Store

TIERS = ("well-formed", "replayed", "re-run", "hidden-seed")
SAMPLE = 12  # runs of a submission that are run again
REGRET_TOLERANCE = 1e-9  # of claimed regrets, relative: machines differ in the last digits
ACTION_TOLERANCE = 1e-6  # of coordinates when an agent is run again; arms must be equal
Report = Callable[[runner.Progress], object]


def submit(
    agent: AgentEntry,
    protocol: Protocol,
    out: Path,
    *,
    authors: Sequence[str],
    link: str | None = None,
    isolation: str | None = None,
    workers: int | None = None,
    on_progress: Report = lambda progress: None,
) -> Manifest:
    """Run an agent through a protocol and write the bundle.

    Args:
        agent: The agent; its label is its name in the leaderboard. Its training steps are declared,
            not run: authors train their agents.
        protocol: The worlds and seeds; its own agents play no part.
        out: Folder of the bundle. Until it is complete, finished runs are kept beside it, so that
            an interrupted command can resume.
        authors: Names of the authors.
        link: Address with more information.
        isolation: "sandbox" or "none"; by default a sandbox where the system has one.
        workers: Number of processes; by default one per core.
        on_progress: Called with the progress of the runs.

    Raises:
        BundleError: If a name cannot be shown, the agent does not fit the protocol, or a run fails.
    """
    track_of(agent.spec, agent.track)
    if out.exists():
        raise BundleError(f"{str(out)!r} already exists: choose another folder or remove it")
    judged = replace(protocol, agents=(replace(agent, envs=(), training_steps=0),))
    setups = judged.setups.items()
    foreign = [env for env, setup in setups if not accepts(agent.spec.name, setup)]
    if foreign:
        raise BundleError(
            f"submissions are ranked over all worlds of a protocol, and {agent.label} does not "
            f"take the actions of {', '.join(foreign)} of {protocol.name}"
        )
    draft = _draft(agent, protocol, authors, link)
    workspace = out.with_name(f".{out.name}.runs")
    workspace.mkdir(parents=True, exist_ok=True)

    def watch(progress: runner.Progress) -> None:
        on_progress(progress)
        if progress.run and progress.record and progress.record.reason is not None:
            raise BundleError(  # a submission needs all runs: stop at the first failure
                f"the agent failed in {progress.run.env}, seed {progress.run.seed}: "
                f"{progress.record.reason}; fix it and run the command again, {workspace.name} "
                "keeps the finished runs"
            )

    with Store(workspace / "store.sqlite") as store:
        runner.run(
            judged,
            store=store,
            workers=workers,
            isolation=isolation or ("sandbox" if sandbox.available() else "none"),
            retry_failed=True,
            references=False,
            on_progress=watch,
        )
        runs = runs_of_agents(judged, judged.agents)
        columns = [store.columns(run.key) for run in runs]
    steps = write_steps(replays(protocol), [own["action"] for own in columns])
    manifest = msgspec.structs.replace(
        draft,
        steps_sha256=hashlib.sha256(steps).hexdigest(),
        runs=tuple(
            RunClaim(
                run.env,
                run.seed,
                float(own["regret"].sum()),
                round(float(own["seconds"].sum()), 6),
            )
            for run, own in zip(runs, columns, strict=True)
        ),
    )
    write_bundle(out, manifest, steps)
    shutil.rmtree(workspace)
    return manifest


def _draft(
    agent: AgentEntry, protocol: Protocol, authors: Sequence[str], link: str | None
) -> Manifest:
    """Return a valid manifest without runs, before the work."""
    place, colon, attribute = agent.spec.name.partition(":")
    # Reading it checks the types, which making it does not.
    draft = Manifest(
        protocol=protocol.name,
        challenge=protocol.challenge,
        label=agent.label,
        # Without the folders of the author's machine.
        agent=f"{Path(place).name}{colon}{attribute}",
        settings=agent.spec.settings,
        track=agent.track,
        training_steps=agent.training_steps,
        source_sha256=code_hash(agent.spec.name),
        authors=tuple(authors),
        link=link,
        machine=machine(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        steps_sha256="0" * 64,
        runs=(),
    )
    return Manifest.from_json(draft.to_json())


def code_hash(name: str) -> str:
    """Return the SHA-256 of an agent's code: its own files, or this package for one of ours."""
    return digest([our_code(), agent_code(name)]) if is_built_in(name) else agent_code(name)


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Result of a tier, with a sentence for people."""

    tier: str
    passed: bool
    words: str


@dataclass(frozen=True)
class Submission:
    """A well-formed submission: manifest, bytes of the steps, and the actions of every run."""

    manifest: Manifest
    steps: bytes
    actions: Sequence[NDArray[Any]]

    @property
    def id(self) -> str:
        """Id of the submission."""
        return self.manifest.id


def verify(
    folder: Path,
    protocol: Protocol,
    *,
    rerun: int = 0,
    agents: Sequence[str] = (),
    isolation: str = "sandbox",
    workers: int | None = None,
    on_progress: Report = lambda progress: None,
) -> list[Verdict]:
    """Take a bundle through the tiers until one refuses it.

    Args:
        folder: The bundle.
        protocol: The protocol that it must be of; nothing in the bundle chooses a world.
        rerun: Number of runs that are run again, for the tier re-run.
        agents: Places of code, to run it; not needed for agents of this package.
        isolation: "sandbox", or "none" for an agent that you trust.
        workers: Number of processes; by default one per core.
        on_progress: Called with the progress of the runs.

    Raises:
        LeaderboardError: If a tier cannot be tried.
        ProtocolError: If an agent of this package is in a track where it does not belong.
    """
    verdicts: list[Verdict] = []
    try:
        submission = read_submission(folder, protocol)
        verdicts.append(Verdict(TIERS[0], True, "the files are complete and of this protocol"))
        verdicts.append(Verdict(TIERS[1], True, check_regrets(submission, protocol)))
        if rerun:
            check_sandbox(isolation)
            agent = judged_agent(submission.manifest, agents)
            runs = sampled(runs_of_agents(protocol, [agent]), rerun, np.random.default_rng())
            played = execute(runs, isolation, workers, on_progress)
            verdicts.append(Verdict(TIERS[2], True, check_actions(submission, played)))
    except BundleError as error:
        verdicts.append(Verdict(TIERS[len(verdicts)], False, str(error)))
    return verdicts


def read_submission(folder: Path, protocol: Protocol) -> Submission:
    """Read a bundle, which must be complete and of the protocol."""
    manifest, runs = read_manifest(folder), replays(protocol)
    if manifest.challenge != protocol.challenge:
        raise BundleError(
            f"it is of another protocol ({manifest.protocol!r}, challenge "
            f"{manifest.challenge[:12]}) than {protocol.name!r} ({protocol.challenge[:12]}): other "
            "worlds, seeds, limits, data or versions"
        )
    if is_built_in(manifest.agent):
        track_of(manifest.entry.spec, manifest.track)
    if [(run.env, run.seed) for run in manifest.runs] != [(run.env, run.seed) for run in runs]:
        raise BundleError("its runs are not all runs of the protocol, once and in order")
    steps = read_file(folder / STEPS, max_step_bytes(runs))
    if hashlib.sha256(steps).hexdigest() != manifest.steps_sha256:
        raise BundleError(f"{STEPS} does not have the SHA-256 that the manifest states")
    return Submission(manifest, steps, read_steps(steps, runs))


def check_regrets(submission: Submission, protocol: Protocol) -> str:
    """Step the worlds through the actions, which must have the claimed regrets."""
    for claim, run, own in zip(
        submission.manifest.runs, replays(protocol), submission.actions, strict=True
    ):
        regret = float(run.columns(own)["regret"].sum())
        if abs(regret - claim.regret) > REGRET_TOLERANCE * (1.0 + abs(regret)):
            raise BundleError(
                f"the regret of {run.env}, seed {run.seed} is claimed as {claim.regret:.9g}, but "
                f"the submitted actions have {regret:.9g}: an action or the regret was changed"
            )
    return "the submitted actions have the claimed regrets"


def judged_agent(manifest: Manifest, agents: Sequence[str]) -> AgentEntry:
    """Return the agent of a submission, under the submission's id.

    An agent of this package is taken as it is here; any other must be the submitted code, at one of
    the places that the judge names. Nothing in a bundle decides what is run.

    Raises:
        LeaderboardError: If the code is at none of these places.
    """
    if is_built_in(manifest.agent):
        return manifest.entry
    attribute = manifest.agent.rpartition(":")[2]
    places = [AgentSpec.parse(place).name for place in agents]
    codes = {code_hash(place): place for place in places if place.rpartition(":")[2] == attribute}
    if manifest.source_sha256 not in codes:
        raise LeaderboardError(
            f"the submitted code of {manifest.agent!r}, unchanged, is needed to run it: --agent "
            f"file.py:{attribute}, module:{attribute} or the name of an installed agent"
        )
    return replace(manifest.entry, spec=AgentSpec(codes[manifest.source_sha256], manifest.settings))


def sampled(runs: Sequence[Run], count: int, rng: np.random.Generator) -> list[Run]:
    """Return some of the runs, drawn at random."""
    return [runs[place] for place in rng.permutation(len(runs))[:count]]


def execute(
    runs: Sequence[Run], isolation: str, workers: int | None, on_progress: Report
) -> list[tuple[Run, Record]]:
    """Run agents that are not trusted.

    Raises:
        LeaderboardError: If the sandbox does not start.
    """
    isolated = [replace(run, isolation=isolation) for run in runs]
    records = runner.execute_all(isolated, workers=workers, on_progress=on_progress)
    for record in records.values():
        if (record.reason or "").startswith(sandbox.DID_NOT_START):
            raise LeaderboardError(f"{record.reason}: this says nothing about the agent")
    return [(run, records[run.key]) for run in isolated]


def check_sandbox(isolation: str) -> None:
    """Require a sandbox where one is asked for."""
    if isolation == "sandbox" and not sandbox.available():
        raise LeaderboardError(
            f"agents of other people are run in a sandbox: {sandbox.why_not()}; install "
            "bubblewrap, or use --isolation none for code that you trust"
        )


def check_actions(submission: Submission, played: Sequence[tuple[Run, Record]]) -> str:
    """Compare what the agent chose in some of the public runs with what was submitted."""
    claims = [(claim.env, claim.seed) for claim in submission.manifest.runs]
    for run, record in played:
        where = f"{run.env}, seed {run.seed}"
        if record.reason is not None:
            raise BundleError(f"the agent failed in {where}: {record.reason}")
        expected = submission.actions[claims.index((run.env, run.seed))]
        chosen = record.columns["action"].reshape(expected.shape)
        gap = np.abs(chosen - expected).reshape(len(expected), -1).max(axis=1)
        if (gap > ACTION_TOLERANCE).any():
            step = int(np.argmax(gap > ACTION_TOLERANCE))
            raise BundleError(
                f"{where}: the agent chooses {chosen[step]} at t = "
                f"{record.columns['t'][step]}, but {expected[step]} was submitted"
            )
    return f"the agent chose the same actions in {len(played)} runs"
