"""Verification in tiers, the cheapest first; a submission is trusted as far as it gets.

- **well-formed**: the files are what they say, complete, and of this protocol.
- **replayed**: the logged actions, played through the seeded worlds again, give the logged rewards
  and the claimed regrets. Needs no agent's code. It proves the numbers, not that the agent chose
  the actions without knowing the seeds.
- **re-run**: the agent itself, on a sample of the runs, chooses the same actions.
- **hidden-seed**: the agent is run on seeds that nobody could know, derived from a secret whose
  hash was published with the season. Its regret there must not be larger than reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.registry import BUILT_IN, AgentSpec, UnknownAgentError
from evaluation.agent_code import own_hash
from evaluation.cell import cells_of, with_key
from evaluation.entries import AgentEntry, ProtocolError
from evaluation.leaderboard.bundle import (
    BundleError,
    Manifest,
    read_manifest,
    read_steps_file,
)
from evaluation.leaderboard.hidden import HiddenSeeds, can_tell, is_worse_on_hidden_seeds
from evaluation.leaderboard.replay import action_width, expected_times, replay
from evaluation.leaderboard.steps import Columns, read_steps
from evaluation.leaderboard.submit import agent_cells, env_records, run_names
from evaluation.protocol import YARDSTICKS, Protocol
from evaluation.summary import UNIFORM
from evaluation.sweep import Progress, run_cells

Array = NDArray[np.float64]
Report = Callable[[Progress], object]
Regrets = Mapping[tuple[str, int], float]
"""By world and seed."""

TIERS = ("well-formed", "replayed", "re-run", "hidden-seed")
ACTION_TOLERANCE = 1e-6
"""Of the coordinates of a box; arms must be equal."""
MOST_WORDS = 1000
SAMPLE = 12
"""Runs that are run again."""


class CannotCheckError(Exception):
    """A tier that says nothing about a submission: one sentence about what is missing."""


@dataclass(frozen=True)
class Verdict:
    """What a tier came to."""

    tier: str
    passed: bool
    words: str

    def __post_init__(self) -> None:
        short = "".join(c if c.isprintable() else " " for c in self.words)[:MOST_WORDS]
        object.__setattr__(self, "words", short)


@dataclass
class Verification:
    """A submission on its way through the tiers.

    Attributes:
        manifest: What it says about itself, once it is well-formed.
        verdicts: What the tiers came to, the last may be a refusal.
        steps: The bytes of its steps, which all of this is about.
        runs: Its steps, by cell.
        regrets: Regret of every step, by cell, from the worlds: once it is replayed.
        ms_per_step: Of the agent, as we have measured it: once it is run again.
    """

    manifest: Manifest | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    steps: bytes = b""
    runs: list[Columns] = field(default_factory=list)
    regrets: list[Array] = field(default_factory=list)
    ms_per_step: float | None = None

    @property
    def passed(self) -> bool:
        """Whether no tier refused it."""
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def tier(self) -> str | None:
        """The highest tier that it passed."""
        good = [verdict.tier for verdict in self.verdicts if verdict.passed]
        return good[-1] if good else None


def verify(
    folder: Path,
    protocol: Protocol,
    *,
    through: str = "replayed",
    agent: str | None = None,
    salt: bytes | None = None,
    uniform: Regrets | None = None,
    sample: int = SAMPLE,
    rng: np.random.Generator | None = None,
    workers: int | None = None,
    on_progress: Report = lambda progress: None,
) -> Verification:
    """Take a bundle through the tiers until one refuses it.

    Args:
        folder: The bundle.
        protocol: What it must be of; nothing in the bundle chooses a world.
        through: The last tier to try.
        agent: Where its code is, for the tiers that run it; not needed for built-in agents.
        salt: The secret that hidden seeds are derived from.
        uniform: What choosing at random loses in the public runs, if it is known already.
        sample: Runs that are run again.
        rng: Chooses them; by default nobody can know beforehand.
        workers: Processes that run the agent; by default one per core.
        on_progress: Told how far a run is.

    Raises:
        CannotCheckError: If a tier cannot be tried at all, which is nobody's verdict.
    """
    found = Verification()
    checks: dict[str, Callable[[], str]] = {
        "well-formed": lambda: _well_formed(found, folder, protocol),
        "replayed": lambda: _replayed(found, protocol),
        "re-run": lambda: _rerun(
            found, _judged(found, protocol, agent), sample, rng, workers, on_progress
        ),
        "hidden-seed": lambda: _on_hidden_seeds(
            found, _judged(found, protocol, agent), salt, uniform, workers, on_progress
        ),
    }
    for tier in TIERS[: TIERS.index(through) + 1]:
        try:
            found.verdicts.append(Verdict(tier, True, checks[tier]()))
        except BundleError as error:
            found.verdicts.append(Verdict(tier, False, str(error)))
            break
    return found


def _well_formed(found: Verification, folder: Path, protocol: Protocol) -> str:
    manifest = read_manifest(folder)
    if manifest.challenge != protocol.challenge:
        raise BundleError(
            f"it is of another protocol ({manifest.protocol!r}, challenge "
            f"{manifest.challenge[:12]}) than {protocol.name!r} ({protocol.challenge[:12]}): other "
            "worlds, seeds, limits, data or versions"
        )
    if manifest.envs != env_records(protocol) or manifest.seeds != protocol.seeds:
        raise BundleError("its worlds or seeds are not those of the protocol that it names")
    names = [(cell.env, cell.seed) for cell in manifest.cells]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BundleError(f"the cell {twice[0]} is there more than once")
    if names != run_names(protocol):
        raise BundleError("its cells are not all runs of the protocol, in order")
    times = expected_times(protocol)
    short = [c for c, t in zip(manifest.cells, times, strict=True) if c.steps != len(t)]
    if short:
        raise BundleError(f"{short[0].env}, seed {short[0].seed} has {short[0].steps} steps")
    rows = sum(map(len, times))
    found.steps = read_steps_file(folder, manifest, rows=rows)
    found.runs = read_steps(found.steps, times, action_width(protocol))
    for cell, run in zip(manifest.cells, found.runs, strict=True):
        if run["seconds"].sum() > protocol.limits.seconds:
            raise BundleError(
                f"{cell.env}, seed {cell.seed} took longer than the protocol's limit of "
                f"{protocol.limits.seconds:g} seconds"
            )
    found.manifest = manifest
    return f"{len(names):,} runs, {rows:,} steps, hashes and schema are right"


def _replayed(found: Verification, protocol: Protocol) -> str:
    assert found.manifest is not None
    found.regrets = replay(protocol, found.manifest.cells, found.runs)
    return "the logged actions give the logged rewards and the claimed regrets"


def _judged(found: Verification, protocol: Protocol, place: str | None) -> Protocol:
    """The protocol with the submitted agent, whose code must be the submitted code."""
    manifest = found.manifest
    assert manifest is not None
    name = manifest.agent
    if name not in BUILT_IN:
        name = _code(manifest, place)
    entry = AgentEntry(manifest.label, AgentSpec(name, manifest.settings), manifest.track)
    try:
        return replace(protocol, agents=(entry,))
    except ProtocolError as error:
        raise BundleError(str(error)) from None


def _code(manifest: Manifest, place: str | None) -> str:
    """Where the submitted code is, on this machine."""
    if place is None:
        raise CannotCheckError(
            f"say where the code of {manifest.agent!r} is, to run it: --agent file.py:Class"
        )
    try:
        name = AgentSpec.parse(place).name
        same = own_hash(name) == manifest.source_sha256
    except UnknownAgentError as error:
        raise CannotCheckError(str(error)) from None
    if name.rpartition(":")[2] != manifest.agent.rpartition(":")[2]:
        raise CannotCheckError(f"{manifest.agent!r} was submitted, not {place!r}")
    if not same:
        raise CannotCheckError(f"the code of {place!r} is not the code that was submitted")
    return name


def _rerun(
    found: Verification,
    protocol: Protocol,
    sample: int,
    rng: np.random.Generator | None,
    workers: int | None,
    on_progress: Report,
) -> str:
    cells = agent_cells(protocol)
    rng = rng or np.random.default_rng()
    chosen = sorted(rng.choice(len(cells), min(sample, len(cells)), replace=False).tolist())
    again = [replace(cells[i], isolated=True) for i in chosen]
    outcomes = run_cells(again, workers=workers, on_progress=on_progress)
    for i, cell in zip(chosen, again, strict=True):
        outcome, where = outcomes[cell.key], f"{cell.env}, seed {cell.seed}"
        if outcome.reason is not None:
            raise BundleError(f"the agent failed in {where}: {outcome.reason}")
        logged = found.runs[i]["action"]
        action = np.asarray(outcome.columns["action"], dtype=np.float64).reshape(len(logged), -1)
        gap = np.abs(action - logged[:, : action.shape[1]]).max(axis=1)
        if (gap > ACTION_TOLERANCE).any():
            step = int(np.argmax(gap > ACTION_TOLERANCE))
            raise BundleError(
                f"the agent chooses {_shown(action[step])} at t = {found.runs[i]['t'][step]} of "
                f"{where}, but {_shown(logged[step])} was submitted"
            )
    seconds = np.concatenate([outcomes[cell.key].columns["seconds"] for cell in again])
    found.ms_per_step = 1e3 * float(seconds.mean())
    return (
        f"the agent chose the same actions in {len(chosen)} runs drawn by lot, in "
        f"{found.ms_per_step:.3g} ms per step"
    )


def _shown(action: Array) -> str:
    return ", ".join(f"{x:g}" for x in action if np.isfinite(x))


def _on_hidden_seeds(
    found: Verification,
    protocol: Protocol,
    salt: bytes | None,
    uniform: Regrets | None,
    workers: int | None,
    on_progress: Report,
) -> str:
    assert found.manifest is not None
    if salt is None:
        raise CannotCheckError("hidden seeds need a season's secret")
    fixed = [label for label, origin in protocol.origins.items() if origin and origin.replay]
    if fixed:
        raise CannotCheckError(f"{fixed[0]!r} replays data, for which there are no hidden seeds")
    hidden = HiddenSeeds(salt, found.manifest.id)
    pairs = zip(found.manifest.cells, found.regrets, strict=True)
    reported = {(c.env, c.seed): float(r.sum()) for c, r in pairs}
    public = _normalised(reported, uniform or _uniform(protocol, workers))
    if not can_tell(public, len(hidden.worlds)):
        raise CannotCheckError("the protocol has too few runs for hidden seeds to show anything")
    unseen = protocol.restricted(seeds=hidden.worlds)
    cells = [
        with_key(replace(cell, agent_seed=hidden.agent(cell.env, cell.seed), isolated=True))
        for cell in agent_cells(unseen)
    ]
    outcomes = run_cells(cells, workers=workers, on_progress=on_progress)
    failed = [outcome.reason for outcome in outcomes.values() if outcome.reason is not None]
    if failed:
        raise BundleError(f"the agent failed on a hidden seed: {failed[0]}")
    regret = {
        (cell.env, cell.seed): float(outcomes[cell.key].columns["regret"].sum()) for cell in cells
    }
    verdict = is_worse_on_hidden_seeds(public, _normalised(regret, _uniform(unseen, workers)))
    numbers = (
        f"{verdict.hidden:.3f} on {len(hidden.worlds)} hidden seeds of each world, "
        f"{verdict.public:.3f} on the public ones (permutation test, p = {verdict.p_value:.2g})"
    )
    if verdict.worse:
        raise BundleError(f"its normalised regret is {numbers}: it knows the public seeds")
    return f"normalised regret {numbers}"


def _uniform(protocol: Protocol, workers: int | None) -> Regrets:
    """What choosing at random loses in each run of a protocol."""
    cells = [cell for cell in cells_of(protocol) if cell.track == YARDSTICKS]
    outcomes = run_cells(cells, workers=workers)
    return {
        (cell.env, cell.seed): float(outcomes[cell.key].columns[UNIFORM].sum()) for cell in cells
    }


def _normalised(regret: Regrets, uniform: Regrets) -> dict[str, Array]:
    """Regret of each run as a share of choosing at random, by world."""
    found: dict[str, list[float]] = {}
    for name, value in regret.items():
        found.setdefault(name[0], []).append(value / uniform[name])
    return {env: np.array(values) for env, values in found.items()}
