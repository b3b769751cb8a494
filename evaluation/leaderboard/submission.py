"""Creation of submissions and verification of bundles in tiers.

The tiers are, in order of cost:

- **well-formed**: the files are complete and match the protocol.
- **replayed**: the submitted actions have the claimed regrets in the worlds of the protocol. No
  code of the agent is run. This tier verifies the numbers, but cannot rule out that the agent used
  the seeds.
- **re-run**: the agent chooses the same actions when a sample of the runs is repeated.
- **hidden-seed**: the agent is not significantly worse on seeds that were unknown when its code was
  written than on the public seeds. Only an edition has this tier (``judge.py``).
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
from evaluation.leaderboard.steps import (
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
SAMPLE = 12  # number of runs of a submission that are repeated
REGRET_TOLERANCE = 1e-9  # relative, for claimed regrets: machines differ in the last digits
ACTION_TOLERANCE = 1e-6  # for coordinates in repeated runs; arms must be equal
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
    """Run an agent through a protocol and write the results as a bundle.

    Args:
        agent: Agent, whose label is its name on the leaderboard. Its training steps are only a
            declaration, since authors train their agents themselves.
        protocol: Protocol with the worlds and seeds; its agents are ignored.
        out: Folder of the bundle. Finished runs are stored next to this folder until the bundle is
            complete, so that an interrupted command can be resumed.
        authors: Names of the authors.
        link: URL with more information.
        isolation: "sandbox" or "none"; by default a sandbox if available.
        workers: Number of processes; by default one per core.
        on_progress: Function that is called with the progress of the runs.

    Raises:
        BundleError: If ``out`` exists, a name is not printable, the agent does not support a world,
            or a run fails.
    """
    track_of(agent.spec, agent.track)
    if out.exists():
        raise BundleError(
            "file-exists", f"{str(out)!r} already exists: choose a different folder or remove it"
        )
    judged = replace(protocol, agents=(replace(agent, envs=(), training_steps=0),))
    setups = judged.setups.items()
    foreign = [env for env, setup in setups if not accepts(agent.spec.name, setup)]
    if foreign:
        raise BundleError(
            "unsupported-environment",
            f"submissions are ranked over all worlds of a protocol, but {agent.label} does not "
            f"support the actions of {', '.join(foreign)} in {protocol.name}",
        )
    draft = _draft(agent, protocol, authors, link)
    workspace = out.with_name(f".{out.name}.runs")
    workspace.mkdir(parents=True, exist_ok=True)

    def watch(progress: runner.Progress) -> None:
        on_progress(progress)
        if progress.run and progress.record and progress.record.reason is not None:
            raise BundleError(  # a submission needs all runs, so stop at the first failure
                "failed-run",
                f"the agent failed in {progress.run.env}, seed {progress.run.seed}: "
                f"{progress.record.reason}; fix the agent and run the command again: finished runs "
                f"are stored in {workspace.name}",
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
    """Return a manifest without runs, which is validated before the first run."""
    place, colon, attribute = agent.spec.name.partition(":")
    # Only decoding validates the types of the fields; the constructor does not.
    draft = Manifest(
        protocol=protocol.name,
        challenge=protocol.challenge,
        label=agent.label,
        # Exclude the path to the file, which is private to the author's machine.
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
    """Return the SHA-256 of an agent's files, or of this package for a built-in agent."""
    return digest([our_code(), agent_code(name)]) if is_built_in(name) else agent_code(name)


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Result of the check of one tier, with an explanation in ``words``."""

    tier: str
    passed: bool
    words: str


@dataclass(frozen=True)
class Submission:
    """Well-formed submission: manifest, packed steps, and the actions of every run."""

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
    """Verify a bundle tier by tier until a tier fails; return the verdicts.

    Args:
        folder: Folder of the bundle.
        protocol: Expected protocol, which selects the worlds; the bundle cannot select them.
        rerun: Number of runs to repeat for the tier "re-run"; 0 to skip this tier.
        agents: Locations of the code of third-party agents.
        isolation: "sandbox", or "none" for an agent that you trust.
        workers: Number of processes; by default one per core.
        on_progress: Function that is called with the progress of the runs.

    Raises:
        LeaderboardError: If a tier cannot be checked on this system.
        ProtocolError: If the bundle assigns a built-in agent to the wrong track.
    """
    verdicts: list[Verdict] = []
    try:
        submission = read_submission(folder, protocol)
        verdicts.append(Verdict(TIERS[0], True, "the files are complete and match the protocol"))
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
    """Read a bundle and check that it is complete and matches the protocol."""
    manifest, runs = read_manifest(folder), replays(protocol)
    if manifest.challenge != protocol.challenge:
        raise BundleError(
            "wrong-protocol",
            f"the protocol of the bundle, {manifest.protocol!r} (challenge "
            f"{manifest.challenge[:12]}), differs from {protocol.name!r} "
            f"({protocol.challenge[:12]}) in worlds, seeds, limits, data or versions",
        )
    if is_built_in(manifest.agent):
        track_of(manifest.entry.spec, manifest.track)
    if [(run.env, run.seed) for run in manifest.runs] != [(run.env, run.seed) for run in runs]:
        raise BundleError(
            "wrong-runs",
            "the bundle must contain exactly the runs of the protocol, in the same order",
        )
    steps = read_file(folder / STEPS, max_step_bytes(runs))
    if hashlib.sha256(steps).hexdigest() != manifest.steps_sha256:
        raise BundleError("wrong-hash", f"{STEPS} does not match its SHA-256 in the manifest")
    return Submission(manifest, steps, read_steps(steps, runs))


def check_regrets(submission: Submission, protocol: Protocol) -> str:
    """Replay the actions and compare their regrets with the claims; return the result as text."""
    for claim, run, own in zip(
        submission.manifest.runs, replays(protocol), submission.actions, strict=True
    ):
        regret = float(run.columns(own)["regret"].sum())
        if abs(regret - claim.regret) > REGRET_TOLERANCE * (1.0 + abs(regret)):
            raise BundleError(
                "wrong-regret",
                f"the claimed regret in {run.env}, seed {run.seed}, is {claim.regret:.9g}, but the "
                f"submitted actions have the regret {regret:.9g}: either the actions or the claim "
                "was changed",
            )
    return "the submitted actions have the claimed regrets"


def judged_agent(manifest: Manifest, agents: Sequence[str]) -> AgentEntry:
    """Return the agent of a submission, labelled with the submission's id.

    For a built-in agent, the installed version is used. The code of a third-party agent must be at
    one of the locations ``agents`` and match the hash in the submission. A bundle never selects the
    code that is run.

    Raises:
        LeaderboardError: If none of the locations has the submitted code.
    """
    if is_built_in(manifest.agent):
        return manifest.entry
    attribute = manifest.agent.rpartition(":")[2]
    places = [AgentSpec.parse(place).name for place in agents]
    codes = {code_hash(place): place for place in places if place.rpartition(":")[2] == attribute}
    if manifest.source_sha256 not in codes:
        raise LeaderboardError(
            "unknown-code",
            f"no location given with --agent has the submitted code of {manifest.agent!r}, "
            f"unchanged: pass --agent file.py:{attribute}, module:{attribute} or the name of an "
            "installed agent",
        )
    return replace(manifest.entry, spec=AgentSpec(codes[manifest.source_sha256], manifest.settings))


def sampled(runs: Sequence[Run], count: int, rng: np.random.Generator) -> list[Run]:
    """Return a random sample of at most ``count`` runs."""
    return [runs[place] for place in rng.permutation(len(runs))[:count]]


def execute(
    runs: Sequence[Run], isolation: str, workers: int | None, on_progress: Report
) -> list[tuple[Run, Record]]:
    """Execute runs of untrusted agents.

    Raises:
        LeaderboardError: If the sandbox does not start.
    """
    isolated = [replace(run, isolation=isolation) for run in runs]
    records = runner.execute_all(isolated, workers=workers, on_progress=on_progress)
    for record in records.values():
        if (record.reason or "").startswith(sandbox.DID_NOT_START):
            raise LeaderboardError("sandbox-failed", f"{record.reason}; the agent was not tested")
    return [(run, records[run.key]) for run in isolated]


def check_sandbox(isolation: str) -> None:
    """Raise an error if a sandbox is requested but not available."""
    if isolation == "sandbox" and not sandbox.available():
        raise LeaderboardError(
            "no-sandbox",
            f"third-party agents require a sandbox: {sandbox.why_not()}; install bubblewrap, "
            "or use --isolation none for code that you trust",
        )


def check_actions(submission: Submission, played: Sequence[tuple[Run, Record]]) -> str:
    """Compare actions of repeated runs with the submitted actions; return the result as text."""
    claims = [(claim.env, claim.seed) for claim in submission.manifest.runs]
    for run, record in played:
        where = f"{run.env}, seed {run.seed}"
        if record.reason is not None:
            raise BundleError("failed-run", f"the agent failed in {where}: {record.reason}")
        expected = submission.actions[claims.index((run.env, run.seed))]
        chosen = record.columns["action"].reshape(expected.shape)
        gap = np.abs(chosen - expected).reshape(len(expected), -1).max(axis=1)
        if (gap > ACTION_TOLERANCE).any():
            step = int(np.argmax(gap > ACTION_TOLERANCE))
            raise BundleError(
                "wrong-action",
                f"in {where}, the repeated run chose {chosen[step]} at t = "
                f"{record.columns['t'][step]}, but the submitted action is {expected[step]}",
            )
    return f"the agent chose the same actions in {len(played)} repeated runs"
