"""Making a submission: run one agent through a protocol and write the bundle."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from agents.registry import is_built_in
from evaluation import sandbox
from evaluation.entries import accepts
from evaluation.keys import agent_code, digest, our_code
from evaluation.leaderboard.bundle import (
    MANIFEST,
    STEPS,
    BundleError,
    Manifest,
    RunClaim,
    check_names,
    write_steps,
)
from evaluation.leaderboard.replay import run_forms, run_names
from evaluation.protocol import Protocol
from evaluation.provenance import machine
from evaluation.runner import Progress, run
from evaluation.runs import Run, runs_of
from evaluation.specs import AgentEntry, track_of
from evaluation.store import Store
from periodic_envs.files import write_durably

Report = Callable[[Progress], object]


def submit(
    agent: AgentEntry,
    protocol: Protocol,
    out: Path,
    *,
    authors: Sequence[str],
    link: str | None = None,
    training_steps: int = 0,
    isolation: str | None = None,
    workers: int | None = None,
    on_progress: Report = lambda progress: None,
) -> Manifest:
    """Run an agent through a protocol and write the bundle.

    Args:
        agent: The agent; its label is its name in the leaderboard.
        protocol: The worlds and seeds; its own agents play no part.
        out: Folder of the bundle. Until it is complete, finished runs are kept beside it, so that
            an interrupted command can resume.
        authors: Names of the authors.
        link: Address with more information.
        training_steps: Interactions before these runs, in the track "pretrained".
        isolation: "sandbox" or "none"; by default a sandbox where the system has one.
        workers: Number of processes; by default one per core.
        on_progress: Called with the progress of the runs.

    Raises:
        BundleError: If a name cannot be shown, the agent does not fit the protocol, or a run fails.
    """
    check_names(agent.label, authors, link)
    track_of(agent.spec, agent.track)
    if agent.training_steps:
        raise BundleError("submissions are trained by their authors: declare --training-steps")
    if out.exists():
        raise BundleError(f"{str(out)!r} already exists: choose another folder or remove it")
    judged = replace(protocol, agents=(replace(agent, envs=()),))
    setups = judged.setups.items()
    foreign = [env for env, setup in setups if not accepts(agent.spec.name, setup)]
    if foreign:
        raise BundleError(
            f"submissions are ranked over all worlds of a protocol, and {agent.label} does not "
            f"take the actions of {', '.join(foreign)} of {protocol.name}"
        )
    runs = agent_runs(judged)
    out.parent.mkdir(parents=True, exist_ok=True)
    kept = out.with_name(f".{out.name}.sqlite")

    def watch(progress: Progress) -> None:
        on_progress(progress)
        record, failed = progress.record, progress.run
        if record is not None and failed is not None and record.reason is not None:
            raise BundleError(  # a submission needs all runs: stop at the first failure
                f"the agent failed in {failed.env}, seed {failed.seed}: {record.reason}; fix it "
                f"and run the command again, {kept.name} keeps the finished runs"
            )

    with Store(kept) as store:
        run(
            judged,
            store=store,
            workers=workers,
            isolation=isolation or ("sandbox" if sandbox.available() else "none"),
            retry_failed=True,
            references=False,
            on_progress=watch,
        )
        columns = [store.columns(run.key) for run in runs]
    about = {"authors": tuple(authors), "link": link, "training_steps": training_steps}
    manifest = _write(judged, columns, out, about)
    for name in (kept.name, f"{kept.name}-shm", f"{kept.name}-wal"):
        kept.with_name(name).unlink(missing_ok=True)
    return manifest


def code_hash(name: str) -> str:
    """Return the SHA-256 of an agent's code: its own files, or this package for one of ours."""
    return digest([our_code(), agent_code(name)]) if is_built_in(name) else agent_code(name)


def agent_runs(protocol: Protocol) -> list[Run]:
    """Return the runs of a protocol's agents, each agent's in the order of a submission."""
    found = {(run.agent, (run.env, run.seed)): run for run in runs_of(protocol)}
    labels, names = [entry.label for entry in protocol.agents], run_names(protocol)
    return [found[label, name] for label in labels for name in names]


def _write(
    protocol: Protocol, columns: Sequence[dict[str, Any]], out: Path, about: dict[str, Any]
) -> Manifest:
    (entry,) = protocol.agents
    place, colon, attribute = entry.spec.name.partition(":")
    steps = write_steps(run_forms(protocol), [own["action"] for own in columns])
    manifest = Manifest(
        protocol=protocol.name,
        challenge=protocol.challenge,
        label=entry.label,
        # Without the folders of the author's machine.
        agent=f"{Path(place).name}{colon}{attribute}",
        settings=entry.spec.settings,
        track=entry.track,
        source_sha256=code_hash(entry.spec.name),
        machine=machine(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        steps_sha256=hashlib.sha256(steps).hexdigest(),
        runs=tuple(
            RunClaim(env, seed, float(own["regret"].sum()), round(float(own["seconds"].sum()), 6))
            for (env, seed), own in zip(run_names(protocol), columns, strict=True)
        ),
        **about,
    )
    write_bundle(out, manifest, steps)
    return manifest


def write_bundle(folder: Path, manifest: Manifest, steps: bytes) -> None:
    """Write a bundle, which appears under its name when it is complete."""
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    write_durably(part / STEPS, steps)
    write_durably(part / MANIFEST, manifest.to_json())
    os.replace(part, folder)
