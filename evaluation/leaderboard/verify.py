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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.registry import BUILT_IN, AgentSpec, UnknownAgentError
from evaluation.agent_code import own_hash
from evaluation.cell import Cell, cells_of, with_key
from evaluation.entries import AgentEntry, ProtocolError
from evaluation.leaderboard.bundle import BundleError, Manifest, read
from evaluation.leaderboard.hidden import HiddenSeeds, is_worse_on_hidden_seeds
from evaluation.leaderboard.replay import expected_times, replay
from evaluation.leaderboard.steps import Columns, read_steps
from evaluation.leaderboard.submit import agent_cells, env_records, run_names
from evaluation.protocol import TRAINING, YARDSTICKS, Protocol
from evaluation.summary import UNIFORM
from evaluation.sweep import Progress, run_cells

Array = NDArray[np.float64]
Report = Callable[[Progress], object]

TIERS = ("well-formed", "replayed", "re-run", "hidden-seed")
ACTION_TOLERANCE = 1e-6
"""Of the coordinates of a box; arms must be equal."""
SAMPLE = 12
"""Runs that are run again."""


class Uniform:
    """What choosing at random loses in each run of a protocol, computed once.

    Args:
        known: By world and seed, where it is known already.
    """

    def __init__(self, known: Mapping[tuple[str, int], float] | None = None) -> None:
        self._known = dict(known or {})

    def of(self, protocol: Protocol) -> dict[tuple[str, int], float]:
        """By world and seed."""
        cells = [cell for cell in cells_of(protocol) if cell.track == YARDSTICKS]
        new = [cell for cell in cells if (cell.env, cell.seed) not in self._known]
        outcomes = run_cells(new) if new else {}
        for cell in new:
            columns = outcomes[cell.key].columns
            self._known[cell.env, cell.seed] = float(columns[UNIFORM].sum())
        return {(cell.env, cell.seed): self._known[cell.env, cell.seed] for cell in cells}


@dataclass(frozen=True)
class Verdict:
    """What a tier came to."""

    tier: str
    passed: bool
    words: str


@dataclass
class Verification:
    """A submission on its way through the tiers.

    Attributes:
        manifest: What it says about itself, once it is well-formed.
        verdicts: What the tiers came to, the last may be a refusal.
        runs: Its steps, by cell.
        regrets: Regret of every step, by cell, from the worlds: once it is replayed.
    """

    manifest: Manifest | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    runs: list[Columns] = field(default_factory=list)
    regrets: list[Array] = field(default_factory=list)

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
    hidden: HiddenSeeds | None = None,
    uniform: Uniform | None = None,
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
        hidden: Seeds for the last tier.
        uniform: What choosing at random loses, if it is known already.
        sample: Runs that are run again.
        rng: Chooses them; by default nobody can know beforehand.
        workers: Processes that run the agent; by default one per core.
        on_progress: Told how far a run is.
    """
    found, chance = Verification(), uniform or Uniform()
    checks: dict[str, Callable[[], str]] = {
        "well-formed": lambda: _well_formed(found, folder, protocol),
        "replayed": lambda: _replayed(found, protocol),
        "re-run": lambda: _rerun(
            found, _judged(found, protocol, agent), sample, rng, workers, on_progress
        ),
        "hidden-seed": lambda: _on_hidden_seeds(
            found, _judged(found, protocol, agent), hidden, chance, workers, on_progress
        ),
    }
    for tier in TIERS[: TIERS.index(through) + 1]:
        try:
            found.verdicts.append(Verdict(tier, True, checks[tier]()))
        except (BundleError, ProtocolError, UnknownAgentError) as error:
            found.verdicts.append(Verdict(tier, False, str(error)))
            break
    return found


def _well_formed(found: Verification, folder: Path, protocol: Protocol) -> str:
    manifest, steps = read(folder)
    if manifest.challenge != protocol.challenge:
        raise BundleError(
            f"it is of another protocol ({manifest.protocol!r}, challenge "
            f"{manifest.challenge[:12]}) than {protocol.name!r} ({protocol.challenge[:12]}): other "
            "worlds, seeds, limits, data or versions"
        )
    if manifest.envs != env_records(protocol) or manifest.seeds != protocol.seeds:
        raise BundleError("its worlds or seeds are not those of the protocol that it names")
    names = [(cell.env, cell.seed) for cell in manifest.cells]
    twice = (
        {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else ()
    )
    if twice:
        raise BundleError(f"the cell {min(twice)} is there more than once")
    if names != run_names(protocol):
        raise BundleError("its cells are not all runs of the protocol, in order")
    times = expected_times(protocol)
    short = [c for c, t in zip(manifest.cells, times, strict=True) if c.steps != len(t)]
    if short:
        raise BundleError(f"{short[0].env}, seed {short[0].seed} has {short[0].steps} steps")
    found.runs = read_steps(steps, times)
    found.manifest = manifest
    return f"{len(names):,} runs, {sum(map(len, times)):,} steps, hashes and schema are right"


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
        if place is None:
            raise BundleError(
                f"say where the code of {name!r} is, to run it: --agent file.py:Class"
            )
        name = AgentSpec.parse(place).name
        if own_hash(name) != manifest.source_sha256:
            raise BundleError(f"the code of {place!r} is not the code that was submitted (SHA-256)")
    spec = AgentSpec(name, manifest.settings)
    entry = AgentEntry(manifest.label, spec, manifest.track, manifest.training_steps)
    return replace(protocol, agents=(entry,))


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
    outcomes = run_cells(
        [*_trainings(protocol, again), *again], workers=workers, on_progress=on_progress
    )
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
    return f"the agent chose the same actions in {len(chosen)} runs drawn by lot"


def _trainings(protocol: Protocol, cells: list[Cell]) -> list[Cell]:
    wanted = {cell.lesson for cell in cells}
    return [c for c in cells_of(protocol) if c.track == TRAINING and c.key in wanted]


def _shown(action: Array) -> str:
    return ", ".join(f"{x:g}" for x in action if np.isfinite(x))


def _on_hidden_seeds(
    found: Verification,
    protocol: Protocol,
    hidden: HiddenSeeds | None,
    uniform: Uniform,
    workers: int | None,
    on_progress: Report,
) -> str:
    if hidden is None:
        raise BundleError("hidden seeds need a season's secret")
    origins = protocol.origins
    moving = [e.label for e in protocol.envs if not (o := origins[e.label]) or not o.replay]
    if not moving:
        raise BundleError("every world of this protocol replays data: hidden seeds say nothing")
    assert found.manifest is not None
    pairs = zip(found.manifest.cells, found.regrets, strict=True)
    reported = {(c.env, c.seed): float(r.sum()) for c, r in pairs if c.env in moving}
    unseen = protocol.restricted(envs=moving, seeds=hidden.worlds)
    cells = [
        with_key(replace(cell, agent_seed=hidden.agent(cell.env, cell.seed), isolated=True))
        if cell.track != TRAINING
        else cell
        for cell in cells_of(unseen)
        if cell.track != YARDSTICKS
    ]
    outcomes = run_cells(cells, workers=workers, on_progress=on_progress)
    failed = [outcome.reason for outcome in outcomes.values() if outcome.reason is not None]
    if failed:
        raise BundleError(f"the agent failed on a hidden seed: {failed[0]}")
    regret = {
        (cell.env, cell.seed): float(outcomes[cell.key].columns["regret"].sum())
        for cell in cells
        if cell.track != TRAINING
    }
    verdict = is_worse_on_hidden_seeds(
        _normalised(reported, uniform.of(protocol.restricted(envs=moving))),
        _normalised(regret, uniform.of(unseen)),
    )
    if verdict.worse:
        raise BundleError(
            f"on {len(hidden.worlds)} hidden seeds its normalised regret is {verdict.hidden:.3f}, "
            f"reported is {verdict.public:.3f} (permutation test, p = {verdict.p_value:.2g}): it "
            "knows the public seeds"
        )
    return (
        f"normalised regret {verdict.hidden:.3f} on {len(hidden.worlds)} hidden seeds in "
        f"{len(moving)} worlds, {verdict.public:.3f} reported (p = {verdict.p_value:.2g})"
    )


def _normalised(
    regret: dict[tuple[str, int], float], uniform: dict[tuple[str, int], float]
) -> dict[str, Any]:
    """Regret of each run as a share of choosing at random, by world."""
    found: dict[str, list[float]] = {}
    for name, value in regret.items():
        found.setdefault(name[0], []).append(value / uniform[name])
    return {env: np.array(values) for env, values in found.items()}
