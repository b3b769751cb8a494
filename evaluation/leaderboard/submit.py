"""Making a submission: the agent is run in isolation, and its runs are written down."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from agents.registry import AgentSpec
from evaluation import runner
from evaluation.keys import agent_source, own_hash
from evaluation.kinds import BOX, refused, taken_by
from evaluation.leaderboard.bundle import (
    FORMAT,
    MANIFEST,
    STEPS,
    BundleError,
    Manifest,
    RunRecord,
    check_words,
)
from evaluation.leaderboard.forms import run_forms, run_names
from evaluation.leaderboard.steps import write_steps
from evaluation.protocol import Protocol
from evaluation.provenance import machine
from evaluation.running.isolation import SANDBOX, strongest
from evaluation.runs import Run, runs_of
from evaluation.specs import AgentEntry, ProtocolError, track_of
from evaluation.store import Store


def submit(
    agent: AgentEntry,
    protocol: Protocol,
    out: Path,
    *,
    authors: Sequence[str],
    link: str | None = None,
    declared_steps: int = 0,
    isolation: str | None = None,
    workers: int | None = None,
    on_progress: Callable[[runner.Progress], object] = lambda progress: None,
) -> Manifest:
    """Run an agent through a protocol and write the bundle.

    Args:
        agent: The agent; its label is its name in the leaderboard.
        protocol: The worlds and seeds; its own agents play no part.
        out: Folder of the bundle; it appears when it is complete. Until then finished runs are kept
            beside it, so that a stopped command can go on.
        authors: Who made the agent.
        link: Where to read about it.
        declared_steps: Interactions that its author trained it with, in the track "pretrained".
        isolation: Where the agent is run; by default as far from the judge as can be here.
        workers: Processes; by default one per core.
        on_progress: Called with the progress of the runs.

    Raises:
        BundleError: If something about it is not fit to be shown, or runs failed.
    """
    check_words(agent.label, authors, link)
    check_track(agent.spec, agent.track)
    if agent.training_steps:
        raise BundleError(
            "the harness trains no submissions: train it yourself, hand in what it learned with "
            "its code, and declare the interactions"
        )
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise BundleError(f"{str(out)!r} is there already; choose another folder or remove it")
    judged = replace(protocol, agents=(replace(agent, envs=()),))
    if out_of := refused(judged.agents[0], judged):
        takes = taken_by(agent.spec.name)
        raise BundleError(
            f"{agent.label} takes {'boxes' if takes == BOX else takes} only, and submissions are "
            f"ranked over all worlds of a protocol: {protocol.name} has {'; '.join(out_of)}, whose "
            f"actions are {'arms' if takes == BOX else 'boxes'}; {_advice(takes)}"
        )
    runs = agent_runs(judged)  # says what is wrong before anything is written
    kept = out.with_name(f".{out.name}.sqlite")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BundleError(f"cannot make the folder {str(out)!r}: {error.strerror}") from None

    def watch(progress: runner.Progress) -> None:
        on_progress(progress)
        record, run = progress.record, progress.run
        if record is not None and run is not None and record.reason is not None:
            raise BundleError(  # one is enough: a submission needs all runs
                f"the agent failed in {run.env}, seed {run.seed}: {record.reason}; mend it and "
                f"give the same command again, {kept.name} keeps what went well{_hint(run)}"
            )

    with Store(kept) as opened:
        # What failed before is tried again: the author has mended it.
        runner.run(
            judged,
            store=opened,
            workers=workers,
            isolation=isolation or strongest(),
            retry_failed=True,
            references=False,
            on_progress=watch,
        )
        columns = [opened.columns(run.key) for run in runs]
    words = {"authors": tuple(authors), "link": link, "training_steps": declared_steps}
    manifest = _write(judged, runs, columns, out, words)
    for name in (kept.name, f"{kept.name}-shm", f"{kept.name}-wal"):
        kept.with_name(name).unlink(missing_ok=True)
    return manifest


def _advice(takes: str | None) -> str:
    """How an agent can take both."""
    if takes == BOX:
        return "take arms, too, or choose another protocol"
    return "cut a box into points (arms_of, in the tutorial on agents of your own)"


def _hint(run: Run) -> str:
    """What an author may not expect."""
    if run.isolation != SANDBOX:
        return ""
    return " (it runs in a sandbox: no network, no other process, no file but its own code)"


def check_track(spec: AgentSpec, track: str) -> None:
    """Refuse an agent in a track where it has no place."""
    try:
        track_of(spec, track)
    except ProtocolError as error:
        raise BundleError(str(error)) from None


def public_name(name: str) -> str:
    """An agent's name without the folders of its author's machine."""
    place, colon, attribute = name.partition(":")
    return f"{Path(place).name}{colon}{attribute}" if place.endswith(".py") else name


def code_hash(name: str) -> str:
    """SHA-256 of an agent's own files; of one of ours, of all that it imports from ``agents``."""
    return own_hash(name) or agent_source(name)


def agent_runs(protocol: Protocol) -> list[Run]:
    """The runs of a protocol's only agent, world by world."""
    runs = [run for run in runs_of(protocol) if run.agent == protocol.agents[0].label]
    judged = {(run.env, run.seed): run for run in runs if not run.training_steps}
    return [judged[pair] for pair in run_names(protocol)]


def _write(
    protocol: Protocol,
    runs: Sequence[Run],
    columns: Sequence[dict[str, Any]],
    out: Path,
    words: dict[str, Any],
) -> Manifest:
    (entry,) = protocol.agents
    steps = write_steps(run_forms(protocol), [own["action"] for own in columns])
    manifest = Manifest(
        protocol=protocol.name,
        challenge=protocol.challenge,
        label=entry.label,
        agent=public_name(entry.spec.name),
        settings=entry.spec.settings,
        track=entry.track,
        source_sha256=code_hash(entry.spec.name),
        machine=machine(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        steps_sha256=hashlib.sha256(steps).hexdigest(),
        runs=tuple(
            RunRecord(run.env, run.seed, float(own["regret"].sum()), _seconds(own["seconds"]))
            for run, own in zip(runs, columns, strict=True)
        ),
        format=FORMAT,
        **words,
    )
    part = out.with_name(f".{out.name}.part")
    part.mkdir(parents=True, exist_ok=True)
    (part / STEPS).write_bytes(steps)
    (part / MANIFEST).write_bytes(manifest.to_json())
    if out.exists():
        out.rmdir()
    os.replace(part, out)
    return manifest


def _seconds(column: Any) -> float:
    """To microseconds: what is below is noise, and noise takes space."""
    return round(float(column.sum()), 6)
