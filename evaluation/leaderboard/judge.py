"""Judging of batches of submissions on hidden seeds, and verification of editions."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from agents.registry import is_built_in
from evaluation.leaderboard.bundle import BundleError, LeaderboardError, Manifest
from evaluation.leaderboard.edition import SUBMISSIONS, Edition, EditionEntry, Judged, Recorded
from evaluation.leaderboard.replay import runs_of_agents, uniform_regrets
from evaluation.leaderboard.submission import (
    SAMPLE,
    TIERS,
    Report,
    Verdict,
    check_actions,
    check_regrets,
    check_sandbox,
    code_hash,
    execute,
    judged_agent,
    sampled,
)
from evaluation.protocol import Protocol
from evaluation.runs import Run, with_key
from evaluation.specs import AgentEntry, agent_entry, canonical_json
from evaluation.statistics import middle_half

# Run in every batch, so that batches on different seeds are comparable.
REFERENCE_AGENTS = ("random", "gp-ucb", "periodic-gp-ucb", "auto-gp-ucb")
COUNT = 10  # hidden seeds of each world
FALSE_ALARM = 1e-3  # probability of refusing an honest agent
PERMUTATIONS = 20_000
REGRET_TOLERANCE = 1e-6  # of a regret that was computed on another machine


@dataclass(frozen=True)
class HiddenSeeds:
    """Hidden seeds of a batch, shared by all its agents, so that results are paired.

    The seeds of a world and of the agent in it are derived separately, so that the agent's random
    numbers do not reveal the world. Both have 128 bits, which prevents an exhaustive search.

    Attributes:
        nonce: Random text, drawn after the batch was recorded.
        batch: Ids of the submissions.
        head: Head of the log after the batch was recorded.
    """

    nonce: str
    batch: Sequence[str]
    head: str

    @property
    def worlds(self) -> tuple[int, ...]:
        """Seeds of the worlds."""
        return tuple(self.seed("world", number) for number in range(COUNT))

    def seed(self, *what: str | int) -> int:
        """Return a derived seed, for example of ``"agent", env, seed`` for an agent in a world."""
        content = canonical_json([self.nonce, list(self.batch), self.head, *what])
        return int.from_bytes(hashlib.sha256(content.encode()).digest()[:16], "big")


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
        agents: Locations of the code of third-party agents.
        isolation: "sandbox", or "none" for agents that you trust.
        sample: Number of public runs of each submission to repeat.
        workers: Number of processes; by default one per core.
        on_progress: Called with the progress of the runs.

    Raises:
        LeaderboardError: If the batch cannot be judged on this system.
    """
    check_sandbox(isolation)
    check_protocol(edition.protocol)
    with edition.locked():
        return _judge(edition, submissions, agents, isolation, sample, workers, on_progress)


def _judge(
    edition: Edition,
    submissions: Sequence[str],
    agents: Sequence[str],
    isolation: str,
    sample: int,
    workers: int | None,
    on_progress: Report,
) -> Judged:
    protocol, entries = edition.protocol, _batch(edition, submissions)
    players = [judged_agent(entry.manifest, agents) for entry in entries]
    references = [agent_entry(name) for name in REFERENCE_AGENTS]
    batch = tuple(player.label for player in players)
    code = {player.label: code_hash(player.spec.name) for player in (*players, *references)}
    edition.append(Recorded(batch=batch, code=code, isolation=isolation))
    seeds = HiddenSeeds(secrets.token_hex(16), batch, edition.head)
    rng = np.random.default_rng(int(seeds.nonce, 16))
    public = [
        run
        for player in players
        for run in sampled(runs_of_agents(protocol, [player]), sample, rng)
    ]
    unseen = execute(hidden_runs(protocol, players, seeds), isolation, workers, on_progress)
    again = execute(public, isolation, workers, on_progress)
    compared = execute(hidden_runs(protocol, references, seeds), "none", workers, on_progress)
    regrets: dict[str, dict[str, tuple[float | None, ...]]] = {}
    for run, record in [*unseen, *compared]:
        own = regrets.setdefault(run.agent, {})
        own[run.env] = (*own.get(run.env, ()), record.regret)
    seconds = {
        agent: [
            record.columns["seconds"]
            for run, record in [*unseen, *again, *compared]
            if run.agent == agent and record.reason is None
        ]
        for agent in regrets
    }
    uniform, verdicts = uniform_regrets(protocol, seeds.worlds), {}
    for entry in entries:
        try:
            check_actions(entry, [pair for pair in again if pair[0].agent == entry.id])
            verdict = hidden_verdict(entry.manifest, regrets[entry.id], seeds, uniform)
        except BundleError as error:
            verdict = Verdict(TIERS[2], False, str(error))
        verdicts[entry.id] = verdict
    judged = Judged(
        nonce=seeds.nonce,
        seeds=tuple(map(str, seeds.worlds)),
        regrets=regrets,
        ms_per_step={
            agent: 1e3 * float(np.concatenate(own).mean()) for agent, own in seconds.items() if own
        },
        verdicts=verdicts,
    )
    edition.append(judged)
    return judged


def _batch(edition: Edition, submissions: Sequence[str]) -> list[EditionEntry]:
    """Return the submissions to judge."""
    wanted = set(edition.batch or submissions)
    chosen = [
        entry
        for entry in edition.entries()
        if (wanted & {entry.id, entry.manifest.label} if wanted else not entry.judged)
    ]
    if len(chosen) < max(1, len(wanted)):
        raise LeaderboardError(
            "unknown-submission" if wanted else "nothing-to-judge",
            f"edition {edition.name} does not contain "
            + (
                f"all of {', '.join(sorted(wanted))}" if wanted else "submissions without a verdict"
            ),
        )
    return chosen


def check_protocol(protocol: Protocol) -> None:
    """Raise an error unless all worlds can be drawn from seeds and the test has enough runs."""
    replayed = [label for label, origin in protocol.origins.items() if origin and origin.replay]
    if replayed:
        raise LeaderboardError(
            "no-hidden-seeds", f"{replayed[0]!r} replays data, which has no hidden seeds"
        )
    if 2 / math.comb(len(protocol.seeds) + COUNT, COUNT) ** len(protocol.envs) > FALSE_ALARM:
        raise LeaderboardError(
            "too-few-runs", "the protocol has too few runs for the test on hidden seeds"
        )


def hidden_runs(protocol: Protocol, agents: Sequence[AgentEntry], seeds: HiddenSeeds) -> list[Run]:
    """Return the runs of agents on hidden seeds."""
    runs = runs_of_agents(replace(protocol, seeds=seeds.worlds), agents)
    return [
        with_key(replace(run, agent_seed=seeds.seed("agent", run.env, run.seed))) for run in runs
    ]


def hidden_verdict(
    manifest: Manifest,
    regrets: Mapping[str, Sequence[float | None]],
    seeds: HiddenSeeds,
    uniform: Mapping[tuple[str, int], float],
) -> Verdict:
    """Return the verdict on an agent from its regrets on hidden seeds.

    Args:
        manifest: Manifest with the regrets on public seeds.
        regrets: Regrets on hidden seeds by world, None where a run failed.
        seeds: Hidden seeds.
        uniform: Regret of choosing at random, by world and seed, public and hidden.
    """
    for env, own in regrets.items():
        if None in own:  # the agent's error message could leak the hidden world
            return Verdict(TIERS[3], False, f"the agent failed on a hidden seed of {env}")
    public = {
        env: [run.regret / uniform[env, run.seed] for run in manifest.runs if run.env == env]
        for env in regrets
    }
    hidden = {
        env: (np.array(own, float) / [uniform[env, seed] for seed in seeds.worlds]).tolist()
        for env, own in regrets.items()
    }
    known, unseen, p_value = permutation_test(public, hidden)
    words = (
        f"normalised regret {unseen:.3f} on {COUNT} hidden seeds of each world, {known:.3f} on the "
        f"public ones (permutation test, p = {p_value:.2g})"
    )
    worse = p_value <= FALSE_ALARM
    return Verdict(TIERS[3], not worse, words + ": it depends on the public seeds" * worse)


def permutation_test(
    public: Mapping[str, Sequence[float]], hidden: Mapping[str, Sequence[float]]
) -> tuple[float, float, float]:
    """Test whether an agent is worse on hidden than on public seeds, one-sided.

    For an honest agent the runs of a world are exchangeable between the two groups. Two statistics
    are tested with Bonferroni's correction: the difference of the interquartile means, which
    determine the ranking, and that of the means, which include the tails. The observed assignment
    counts as one of the permutations [@phipson2010permutation], so the test keeps its level.

    Args:
        public: Normalised regret of the submitted runs, by world.
        hidden: Normalised regret of the runs on hidden seeds, by world.

    Returns:
        Interquartile means on public and on hidden seeds, and the p-value.
    """
    rng = np.random.default_rng(0)
    first, second = [], []
    for env, known in public.items():
        pool = np.concatenate((known, hidden[env]))
        mixed = rng.permuted(np.tile(pool, (PERMUTATIONS + 1, 1)), axis=1)
        mixed[0] = pool  # the observed assignment
        first.append(mixed[:, : len(known)])
        second.append(mixed[:, len(known) :])
    one, two = np.concatenate(first, axis=1), np.concatenate(second, axis=1)
    middle = middle_half(one), middle_half(two)
    gaps = (middle[1] - middle[0], two.mean(1) - one.mean(1))
    tails = [(gap >= gap[0] - 1e-12 * max(abs(gap[0]), 1.0)).mean() for gap in gaps]
    return float(middle[0][0]), float(middle[1][0]), min(1.0, 2.0 * float(min(tails)))


def check(edition: Edition, *, head: str | None = None) -> list[EditionEntry]:
    """Verify everything in an edition that does not require the code of its agents.

    Args:
        edition: The edition; its chain of hashes is checked on reading.
        head: Published head, which the log must contain.

    Raises:
        LeaderboardError: If the content does not match the log.
    """
    if head is not None and head not in edition.heads:
        raise LeaderboardError(
            "unknown-head", f"the log does not contain the published head {head[:12]}"
        )
    entries = edition.entries()
    folders = {path.name for path in edition.folder.glob(f"{SUBMISSIONS}/*")}
    if strays := sorted(folders - {entry.id for entry in entries}):
        raise LeaderboardError(
            "unexpected-file", f"{SUBMISSIONS}/{strays[0][:80]!r} is not in the log"
        )
    for entry in entries:
        check_regrets(entry, edition.protocol)
    for recorded, judged, seeds in batches(edition):
        _check_batch(edition.protocol, entries, recorded, judged, seeds)
    return entries


def batches(edition: Edition) -> Iterator[tuple[Recorded, Judged, HiddenSeeds]]:
    """Yield every judged batch with its derived seeds."""
    lines = edition.lines
    for recorded, judged, head in zip(lines, lines[1:], edition.heads, strict=False):
        if isinstance(recorded, Recorded) and isinstance(judged, Judged):
            yield recorded, judged, HiddenSeeds(judged.nonce, recorded.batch, head)


def _check_batch(
    protocol: Protocol,
    entries: Sequence[EditionEntry],
    recorded: Recorded,
    judged: Judged,
    seeds: HiddenSeeds,
) -> None:
    counts = {
        agent: {env: len(regrets) for env, regrets in own.items()}
        for agent, own in judged.regrets.items()
    }
    runs = {env.label: COUNT for env in protocol.envs}
    if (
        counts != dict.fromkeys((*recorded.batch, *REFERENCE_AGENTS), runs)
        or recorded.code.keys() != counts.keys()
        or judged.verdicts.keys() != set(recorded.batch)
        or judged.seeds != tuple(map(str, seeds.worlds))
    ):
        raise LeaderboardError(
            "wrong-batch",
            f"the batch of {judged.time} is incomplete, or its seeds are not those of its nonce",
        )
    uniform = uniform_regrets(protocol, seeds.worlds)
    for entry in (entry for entry in entries if entry.id in recorded.batch):
        verdict, regrets = judged.verdicts[entry.id], judged.regrets[entry.id]
        again = hidden_verdict(entry.manifest, regrets, seeds, uniform)
        was_refused = (
            verdict.tier == TIERS[2] and not verdict.passed
        )  # by running public runs again
        if not was_refused and (verdict.tier, verdict.passed) != (again.tier, again.passed):
            raise LeaderboardError(
                "wrong-verdict",
                f"the verdict on {entry.id[:12]} of {judged.time} does not match its regrets",
            )


def rerun(
    edition: Edition,
    count: int,
    *,
    workers: int | None = None,
    on_progress: Report = lambda progress: None,
) -> int:
    """Repeat hidden runs of agents of this package whose code has not changed.

    Args:
        edition: The edition.
        count: Number of hidden runs of each judged agent to repeat.
        workers: Number of processes; by default one per core.
        on_progress: Called with the progress of the runs.

    Returns:
        The number of runs.

    Raises:
        LeaderboardError: If a regret does not match the edition.
    """
    players = {name: agent_entry(name) for name in REFERENCE_AGENTS}
    players |= {entry.id: entry.manifest.entry for entry in edition.entries()}
    rng, drawn = np.random.default_rng(), []
    for recorded, judged, seeds in batches(edition):
        for label, own in judged.regrets.items():
            name = players[label].spec.name
            if is_built_in(name) and code_hash(name) == recorded.code[label]:
                runs = sampled(hidden_runs(edition.protocol, [players[label]], seeds), count, rng)
                drawn += [(run, own[run.env][seeds.worlds.index(run.seed)]) for run in runs]
    played = execute([run for run, _ in drawn], "none", workers, on_progress)
    for (run, record), (_, regret) in zip(played, drawn, strict=True):
        measured, claimed = np.array(
            [record.regret, regret], dtype=np.float64
        ).tolist()  # NaN: failed
        if not np.isclose(
            measured, claimed, rtol=REGRET_TOLERANCE, atol=REGRET_TOLERANCE, equal_nan=True
        ):
            raise LeaderboardError(
                "wrong-regret",
                f"{run.agent[:12]} in {run.env}, seed {run.seed}, has the regret {measured}, but "
                f"the edition states {claimed}",
            )
    return len(drawn)
