"""Judging a batch of submissions on hidden seeds, and checking an edition."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from agents.registry import is_built_in
from evaluation.leaderboard.bundle import BundleError
from evaluation.leaderboard.edition import (
    SUBMISSIONS,
    Edition,
    EditionEntry,
    EditionError,
    Judged,
    Recorded,
)
from evaluation.leaderboard.hidden import COUNT, HiddenSeeds, has_power, hidden_verdict
from evaluation.leaderboard.replay import Regrets, uniform_regrets
from evaluation.leaderboard.submit import Report, agent_runs, code_hash
from evaluation.leaderboard.verify import (
    SAMPLE,
    CannotCheckError,
    Played,
    Verdict,
    check_actions,
    check_sandbox,
    execute,
    judged_agent,
    ms_per_step,
    sampled_runs,
    submitted_agent,
    verify,
)
from evaluation.protocol import Protocol
from evaluation.runs import Run, with_key
from evaluation.specs import AgentEntry, agent_entry

REFERENCE_AGENTS = ("random", "gp-ucb", "periodic-gp-ucb", "auto-gp-ucb")
"""Run in every batch, so that batches on different seeds are comparable."""
REGRET_TOLERANCE = 1e-6
"""Relative tolerance of a regret that was computed on another machine."""


def judge(
    edition: Edition,
    submissions: Sequence[str] = (),
    *,
    agents: Sequence[str] = (),
    isolation: str = "sandbox",
    sample: int = SAMPLE,
    workers: int | None = None,
    on_progress: Report = lambda progress: None,
) -> Judged:
    """Judge a batch of submissions on the same hidden seeds, with the reference agents.

    The batch is recorded before its seeds are drawn. An interrupted batch must be judged again, on
    new seeds, or abandoned; the log shows both.

    Args:
        edition: The edition.
        submissions: Labels or ids; by default all without a verdict, or the interrupted batch.
        agents: Places of the code of agents that are not of this package.
        isolation: "sandbox", or "none" for agents that you trust.
        sample: Number of public runs of each submission that are run again.
        workers: Number of processes; by default one per core.
        on_progress: Called with the progress of the runs.

    Raises:
        CannotCheckError: If the batch cannot be judged here.
    """
    protocol, entries = edition.protocol, _batch(edition, submissions)
    check_sandbox(isolation)
    _check_protocol(protocol)
    players = [judged_agent(entry.manifest, agents) for entry in entries]
    references = [agent_entry(name) for name in REFERENCE_AGENTS]
    batch = tuple(player.label for player in players)
    code = {player.label: code_hash(player.spec.name) for player in (*players, *references)}
    edition.append(Recorded(batch=batch, code=code, isolation=isolation))
    seeds = HiddenSeeds(secrets.token_hex(16), batch, edition.head)
    rng = np.random.default_rng(int(seeds.nonce, 16))
    hidden = hidden_runs(protocol, players, seeds)
    public = [run for player in players for run in sampled_runs(protocol, player, sample, rng)]
    played = execute([*hidden, *public], isolation, workers, on_progress)
    compared = execute(hidden_runs(protocol, references, seeds), "none", workers, on_progress)
    regrets = _regrets([*played[: len(hidden)], *compared])
    uniform = _uniform(protocol, seeds)
    verdicts = {}
    for entry in entries:
        own = [(run, record) for run, record in played[len(hidden) :] if run.agent == entry.id]
        try:
            check_actions(entry.submission, protocol, own)
            verdict = hidden_verdict(entry.manifest, regrets[entry.id], seeds, uniform)
        except BundleError as error:
            verdict = Verdict("re-run", False, str(error))
        verdicts[entry.id] = verdict
    judged = Judged(
        nonce=seeds.nonce,
        seeds=tuple(map(str, seeds.worlds)),
        regrets=regrets,
        ms_per_step=_times([*played, *compared]),
        verdicts=verdicts,
    )
    edition.append(judged)
    return judged


def _batch(edition: Edition, submissions: Sequence[str]) -> list[EditionEntry]:
    """Return the submissions to judge."""
    entries = edition.entries()
    wanted = set(edition.batch or submissions)
    if not wanted:
        entries = [entry for entry in entries if not entry.judged]
        wanted = {entry.id for entry in entries}
    chosen = [entry for entry in entries if wanted & {entry.id, entry.manifest.label}]
    unknown = wanted - {name for entry in chosen for name in (entry.id, entry.manifest.label)}
    if unknown or not chosen:
        missing = f"{min(unknown)!r}" if unknown else "submission without a verdict"
        raise CannotCheckError(f"edition {edition.name} has no {missing}")
    return chosen


def _check_protocol(protocol: Protocol) -> None:
    for label, origin in protocol.origins.items():
        if origin is not None and origin.replay:
            raise CannotCheckError(f"{label!r} replays data, for which no hidden seeds exist")
    if not has_power([len(protocol.seeds)] * len(protocol.envs)):
        raise CannotCheckError("the protocol has too few runs for a test on hidden seeds")


def hidden_runs(protocol: Protocol, agents: Sequence[AgentEntry], seeds: HiddenSeeds) -> list[Run]:
    """Return the runs of agents on hidden seeds."""
    runs = agent_runs(replace(protocol, agents=tuple(agents), seeds=seeds.worlds))
    return [with_key(replace(run, agent_seed=seeds.agent(run.env, run.seed))) for run in runs]


def _regrets(played: Played) -> dict[str, dict[str, tuple[float | None, ...]]]:
    """Return regrets by agent and world, None where a run failed."""
    regrets: dict[str, dict[str, tuple[float | None, ...]]] = {}
    for run, record in played:
        own = regrets.setdefault(run.agent, {})
        own[run.env] = (*own.get(run.env, ()), None if record.reason else record.regret)
    return regrets


def _times(played: Played) -> dict[str, float]:
    """Return the time per step of every agent that finished a run."""
    finished = [(run.agent, record) for run, record in played if record.reason is None]
    agents = dict.fromkeys(agent for agent, _ in finished)
    return {name: ms_per_step([own for agent, own in finished if agent == name]) for name in agents}


def _uniform(protocol: Protocol, seeds: HiddenSeeds) -> Regrets:
    """Return the regret of choosing at random on public and on hidden seeds."""
    hidden = replace(protocol, seeds=seeds.worlds)
    return {**uniform_regrets(protocol), **uniform_regrets(hidden)}


def check(edition: Edition, *, head: str | None = None) -> list[EditionEntry]:
    """Recompute everything in an edition that needs no code of its agents.

    Args:
        edition: The edition; its chain of hashes was checked when it was read.
        head: A published head, which the log must have or continue.

    Raises:
        EditionError: If something does not agree with the log.
    """
    if head is not None and head not in edition.heads:
        raise EditionError(f"the log does not continue the published head {head[:12]}")
    if strays := edition.strays():
        raise EditionError(f"the log does not name {SUBMISSIONS}/{strays[0][:80]!r}")
    entries = edition.entries()
    for entry in entries:
        found = verify(edition.folder / SUBMISSIONS / entry.id, edition.protocol)
        if not found.passed:
            raise EditionError(f"submission {entry.id[:12]}: {found.verdicts[-1].words}")
    for recorded, judged, seeds in batches(edition):
        _check_batch(edition.protocol, entries, recorded, judged, seeds)
    return entries


def batches(edition: Edition) -> Iterator[tuple[Recorded, Judged, HiddenSeeds]]:
    """Yield every judged batch with its seeds, derived again."""
    lines = edition.lines
    for number, judged in enumerate(lines):
        recorded = lines[number - 1]
        if isinstance(judged, Judged) and isinstance(recorded, Recorded):
            head = edition.heads[number - 1]
            yield recorded, judged, HiddenSeeds(judged.nonce, recorded.batch, head)


def _check_batch(
    protocol: Protocol,
    entries: Sequence[EditionEntry],
    recorded: Recorded,
    judged: Judged,
    seeds: HiddenSeeds,
) -> None:
    where = f"the batch of {judged.time}"
    if judged.seeds != tuple(map(str, seeds.worlds)):
        raise EditionError(f"{where}: the hidden seeds are not those of its nonce")
    runs = {env.label: COUNT for env in protocol.envs}
    counts = [{env: len(own[env]) for env in own} for own in judged.regrets.values()]
    agents = {*recorded.batch, *REFERENCE_AGENTS}
    complete = agents == judged.regrets.keys() == recorded.code.keys()
    if (
        not complete
        or judged.verdicts.keys() != set(recorded.batch)
        or counts.count(runs) != len(counts)
    ):
        raise EditionError(f"{where}: regrets or verdicts are missing")
    uniform = _uniform(protocol, seeds)
    for entry in (entry for entry in entries if entry.id in recorded.batch):
        verdict, regrets = judged.verdicts[entry.id], judged.regrets[entry.id]
        again = hidden_verdict(entry.manifest, regrets, seeds, uniform)
        if verdict.tier == "hidden-seed" and verdict.passed != again.passed:
            raise EditionError(
                f"{where}: the verdict on {entry.id[:12]} is not that of its regrets"
            )


def rerun(
    edition: Edition,
    count: int,
    *,
    workers: int | None = None,
    on_progress: Report = lambda progress: None,
) -> int:
    """Run agents of this package again whose code has not changed.

    Args:
        edition: The edition.
        count: Number of public runs of each submission, and of hidden runs in each batch.
        workers: Number of processes; by default one per core.
        on_progress: Called with the progress of the runs.

    Returns:
        The number of runs.

    Raises:
        EditionError: If a run does not agree with the edition.
    """
    rng, drawn = np.random.default_rng(), []
    for claims in _claims(edition):
        drawn += [claims[place] for place in rng.permutation(len(claims))[:count]]
    played = execute([run for run, _ in drawn], "none", workers, on_progress) if drawn else []
    for (run, record), (_, regret) in zip(played, drawn, strict=True):
        gap = abs((record.regret or 0.0) - (regret or 0.0))
        failed = (record.reason is None) == (regret is None)
        if failed or gap > REGRET_TOLERANCE * (1.0 + abs(regret or 0.0)):
            raise EditionError(
                f"{run.agent[:12]} in {run.env}, seed {run.seed}, has the regret {record.regret} "
                f"({record.reason or 'no failure'}), and the edition says {regret}"
            )
    return len(drawn)


def _claims(edition: Edition) -> Iterator[list[tuple[Run, float | None]]]:
    """Yield the runs of each agent whose code is here, with the regret that the edition states."""
    protocol = edition.protocol
    players = {name: agent_entry(name) for name in REFERENCE_AGENTS}
    for entry in edition.entries():
        player = players[entry.id] = submitted_agent(entry.manifest)
        if _is_here(player, entry.manifest.source_sha256):
            runs = agent_runs(replace(protocol, agents=(player,)))
            yield list(zip(runs, [run.regret for run in entry.manifest.runs], strict=True))
    for recorded, judged, seeds in batches(edition):
        for label, own in judged.regrets.items():
            if _is_here(players[label], recorded.code[label]):
                runs = hidden_runs(protocol, [players[label]], seeds)
                regrets = [regret for env in protocol.envs for regret in own[env.label]]
                yield list(zip(runs, regrets, strict=True))


def _is_here(player: AgentEntry, code: str) -> bool:
    return is_built_in(player.spec.name) and code_hash(player.spec.name) == code
