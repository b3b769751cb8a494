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
from evaluation.leaderboard.steps import runs_of_agents, uniform_regrets
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

# These agents are run in every batch, so that batches on different seeds are comparable.
REFERENCE_AGENTS = ("random", "gp-ucb", "periodic-gp-ucb", "auto-gp-ucb")
COUNT = 10  # number of hidden seeds for each world
FALSE_ALARM = 1e-3  # maximum probability of refusing an honest agent
PERMUTATIONS = 20_000  # the smallest p-value is 1e-4, a tenth of FALSE_ALARM
REGRET_TOLERANCE = 1e-6  # for regrets that were computed on another machine


@dataclass(frozen=True)
class HiddenSeeds:
    """Hidden seeds of a batch, which all its agents share so that results are paired.

    The seed of a world and the seed of an agent in this world are derived separately, so that the
    agent's random numbers do not reveal the world. Both seeds have 128 bits, which prevents an
    exhaustive search.

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
        """Seeds of the worlds; all worlds use the same seeds."""
        return tuple(self.seed("world", number) for number in range(COUNT))

    def seed(self, *what: str | int) -> int:
        """Return the seed that is derived for ``what``, such as ``"agent", env, seed``."""
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

    The batch is recorded before its seeds are drawn. An interrupted batch must be judged again on
    new seeds, or abandoned; in both cases, the log still shows the interrupted batch.

    Args:
        edition: Edition with the submissions.
        submissions: Labels or ids of submissions; by default all submissions without a verdict. If
            a batch was interrupted, this batch is judged instead.
        agents: Locations of the code of third-party agents.
        isolation: "sandbox", or "none" for agents that you trust.
        sample: Number of public runs of each submission to repeat.
        workers: Number of processes; by default one per core.
        on_progress: Function that is called with the progress of the runs.

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
                f"all of these submissions: {', '.join(sorted(wanted))}"
                if wanted
                else "submissions without a verdict"
            ),
        )
    return chosen


def check_protocol(protocol: Protocol) -> None:
    """Raise an error unless the protocol is suitable for an edition.

    All worlds must be drawn from seeds, and the permutation test on hidden seeds must have enough
    runs.
    """
    replayed = [label for label, origin in protocol.origins.items() if origin and origin.replay]
    if replayed:
        raise LeaderboardError(
            "no-hidden-seeds",
            f"the worlds of an edition must be drawn from seeds, but {replayed[0]!r} replays data",
        )
    # The smallest possible p-value of the permutation test must not exceed FALSE_ALARM.
    if 2 / math.comb(len(protocol.seeds) + COUNT, COUNT) ** len(protocol.envs) > FALSE_ALARM:
        raise LeaderboardError(
            "too-few-runs",
            "the protocol has too few runs for the test on hidden seeds (worlds: "
            f"{len(protocol.envs)}, seeds: {len(protocol.seeds)}): use more seeds or worlds",
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
        regrets: Regrets on hidden seeds by world; None for a failed run.
        seeds: Hidden seeds.
        uniform: Regret of choosing at random, by world and by (public or hidden) seed.
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
        f"public seeds (permutation test, p = {p_value:.2g})"
    )
    worse = p_value <= FALSE_ALARM
    return Verdict(
        TIERS[3], not worse, words + ": the regret depends on knowing the public seeds" * worse
    )


def permutation_test(
    public: Mapping[str, Sequence[float]], hidden: Mapping[str, Sequence[float]]
) -> tuple[float, float, float]:
    """Perform a one-sided test of whether an agent is worse on hidden than on public seeds.

    For an honest agent, the runs in a world are exchangeable between the two groups of seeds. Two
    statistics are tested with Bonferroni's correction: the difference of the interquartile means,
    which determine the ranking, and the difference of the means, which include the tails. The
    observed assignment counts as one of the permutations [@phipson2010permutation], so the test
    keeps its level.

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
    # Gaps that equal the observed gap up to rounding count as at least as large.
    tails = [(gap >= gap[0] - 1e-12 * max(abs(gap[0]), 1.0)).mean() for gap in gaps]
    return float(middle[0][0]), float(middle[1][0]), min(1.0, 2.0 * float(min(tails)))


def check(edition: Edition, *, head: str | None = None) -> list[EditionEntry]:
    """Verify all parts of an edition that can be checked without the code of its agents.

    Args:
        edition: Edition, whose chain of hashes is checked when the log is read.
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
            "unexpected-file", f"{SUBMISSIONS} contains {strays[0][:80]!r}, which is not in the log"
        )
    for entry in entries:
        check_regrets(entry, edition.protocol)
    for recorded, judged, seeds in batches(edition):
        _check_batch(edition.protocol, entries, recorded, judged, seeds)
    return entries


def batches(edition: Edition) -> Iterator[tuple[Recorded, Judged, HiddenSeeds]]:
    """Yield every judged batch with the hidden seeds derived for it."""
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
            f"the batch of {judged.time} is incomplete, or its seeds do not follow from its nonce",
        )
    uniform = uniform_regrets(protocol, seeds.worlds)
    for entry in (entry for entry in entries if entry.id in recorded.batch):
        verdict, regrets = judged.verdicts[entry.id], judged.regrets[entry.id]
        again = hidden_verdict(entry.manifest, regrets, seeds, uniform)
        # A refusal in the tier "re-run" is not checked again, since it requires the agent's code.
        was_refused = verdict.tier == TIERS[2] and not verdict.passed
        if not was_refused and (verdict.tier, verdict.passed) != (again.tier, again.passed):
            raise LeaderboardError(
                "wrong-verdict",
                f"the verdict on submission {entry.id[:12]} of {judged.time} does not match the "
                "regrets in the log",
            )


def rerun(
    edition: Edition,
    count: int,
    *,
    workers: int | None = None,
    on_progress: Report = lambda progress: None,
) -> int:
    """Repeat hidden runs of built-in agents whose code has not changed.

    Args:
        edition: Edition with judged batches.
        count: Number of hidden runs to repeat for each agent of a batch.
        workers: Number of processes; by default one per core.
        on_progress: Function that is called with the progress of the runs.

    Returns:
        Number of repeated runs.

    Raises:
        LeaderboardError: If a repeated run has a different regret than the edition states.
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
        # None, the regret of a failed run, becomes NaN.
        measured, claimed = np.array([record.regret, regret], dtype=np.float64).tolist()
        if not np.isclose(
            measured, claimed, rtol=REGRET_TOLERANCE, atol=REGRET_TOLERANCE, equal_nan=True
        ):
            raise LeaderboardError(
                "wrong-regret",
                f"the repeated run of {run.agent[:12]} in {run.env}, seed {run.seed}, has the "
                f"regret {measured}, but the edition states {claimed}",
            )
    return len(drawn)
