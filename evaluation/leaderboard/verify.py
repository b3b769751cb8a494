"""Verification in tiers, the cheapest first; a submission is trusted as far as it gets.

- **well-formed**: the files are what they say, complete, and of this protocol.
- **replayed**: the logged actions, played through the seeded worlds again, give the logged rewards
  and the claimed regrets. Needs no agent's code. It proves the numbers, not that the agent chose
  the actions without knowing the seeds.
- **re-run**: the agent itself, on a sample of the runs, chooses the same actions.
- **hidden-seed**: the agent is run on seeds that nobody could know, derived from a secret whose
  hash was published with the edition. Its regret there must not be larger than reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Sized
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import InvalidAction
from numpy.typing import NDArray

from agents.registry import AgentSpec
from evaluation.leaderboard.bundle import (
    BundleError,
    Manifest,
    RunRecord,
    read_manifest,
    read_steps_file,
)
from evaluation.leaderboard.steps import Columns, read_steps
from evaluation.leaderboard.submit import check_track, env_records, run_names
from evaluation.leaderboard.trial import (
    TIERS,
    Regrets,
    Report,
    Verdict,
    Verification,
    judged,
    on_hidden_seeds,
    rerun,
)
from evaluation.protocol.protocol import Protocol
from periodic_envs.arrays import Array
from periodic_envs.env import PeriodicBanditEnv

SAMPLE = 12
"""Runs that are run again."""

TOLERANCE = 1e-9
"""Of rewards and regrets, relative: machines differ in the last digits."""


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
        on_progress: Called with the progress of the tiers that run the agent.

    Raises:
        CannotCheckError: If a tier cannot be tried at all, which is nobody's verdict.
    """
    verification = Verification()
    checks: dict[str, Callable[[], str]] = {
        "well-formed": lambda: _well_formed(verification, folder, protocol),
        "replayed": lambda: _replayed(verification, protocol),
        "re-run": lambda: rerun(
            verification, judged(verification, protocol, agent), sample, rng, workers, on_progress
        ),
        "hidden-seed": lambda: on_hidden_seeds(
            verification, judged(verification, protocol, agent), salt, uniform, workers, on_progress
        ),
    }
    for tier in TIERS[: TIERS.index(through) + 1]:
        try:
            verification.verdicts.append(Verdict(tier, True, checks[tier]()))
        except BundleError as error:
            verification.verdicts.append(Verdict(tier, False, str(error)))
            break
    return verification


def _well_formed(verification: Verification, folder: Path, protocol: Protocol) -> str:
    manifest = read_manifest(folder)
    _check_challenge(manifest, protocol)
    check_track(AgentSpec(manifest.agent, manifest.settings), manifest.track)
    times = expected_times(protocol)
    _check_runs(manifest, protocol, times)
    rows = sum(map(len, times))
    verification.steps = read_steps_file(folder, manifest, rows=rows)
    verification.columns = read_steps(verification.steps, times, action_width(protocol))
    for run, columns in zip(manifest.runs, verification.columns, strict=True):
        if columns["seconds"].sum() > protocol.limits.seconds:
            raise BundleError(
                f"{run.env}, seed {run.seed} took longer than the protocol's limit of "
                f"{protocol.limits.seconds:g} seconds"
            )
    verification.manifest = manifest
    return f"{len(times):,} runs, {rows:,} steps, hashes and schema are right"


def _check_challenge(manifest: Manifest, protocol: Protocol) -> None:
    if manifest.challenge != protocol.challenge:
        raise BundleError(
            f"it is of another protocol ({manifest.protocol!r}, challenge "
            f"{manifest.challenge[:12]}) than {protocol.name!r} ({protocol.challenge[:12]}): other "
            "worlds, seeds, limits, data or versions"
        )
    if manifest.envs != env_records(protocol) or manifest.seeds != protocol.seeds:
        raise BundleError("its worlds or seeds are not those of the protocol that it names")


def _check_runs(manifest: Manifest, protocol: Protocol, times: Sequence[Sized]) -> None:
    names = [(run.env, run.seed) for run in manifest.runs]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BundleError(f"the run {twice[0]} is there more than once")
    if names != run_names(protocol):
        raise BundleError("its runs are not all runs of the protocol, in order")
    for run, t in zip(manifest.runs, times, strict=True):
        if run.steps != len(t):
            raise BundleError(f"{run.env}, seed {run.seed} has {run.steps} steps")


def _replayed(verification: Verification, protocol: Protocol) -> str:
    assert verification.manifest is not None
    verification.regrets = replay(protocol, verification.manifest.runs, verification.columns)
    return "the logged actions give the logged rewards and the claimed regrets"


def _worlds(protocol: Protocol) -> dict[str, PeriodicBanditEnv]:
    """The worlds that the protocol means, never one that a bundle names."""
    return {entry.label: protocol.world(entry).make() for entry in protocol.envs}


def action_width(protocol: Protocol) -> int:
    """Coordinates of an action, the largest number of any world of the protocol."""
    shapes = [env.action_space.shape for env in _worlds(protocol).values()]
    return max(int(np.prod(shape or (1,))) for shape in shapes)


def expected_times(protocol: Protocol) -> list[NDArray[np.int64]]:
    """What t is in every run of a submission."""
    times, worlds = [], _worlds(protocol)
    for entry in protocol.envs:
        env = worlds[entry.label]
        t = np.arange(env.public.first_step, env.public.first_step + env.horizon)
        times += [t] * len(protocol.seeds_of(entry))
    return times


def replay(protocol: Protocol, runs: Sequence[RunRecord], steps: Sequence[Columns]) -> list[Array]:
    """The regret of every step, from the worlds themselves.

    Raises:
        BundleError: Where an action is none, or a reward or regret is not what the world gives.
    """
    worlds = _worlds(protocol)
    return [_replay(worlds[run.env], run, own) for run, own in zip(runs, steps, strict=True)]


def _replay(env: PeriodicBanditEnv, run: RunRecord, steps: Columns) -> Array:
    where = f"{run.env}, seed {run.seed}"
    env.reset(seed=run.seed)
    rewards, regrets = np.empty(run.steps), np.empty(run.steps)
    for i, logged in enumerate(steps["action"]):
        try:
            _, reward, _, _, info = env.step(_action(env.action_space, logged))
        except (InvalidAction, ValueError) as error:
            raise BundleError(f"the action at t = {steps['t'][i]} of {where}: {error}") from None
        rewards[i], regrets[i] = float(reward), info["regret"]
    wrong = np.flatnonzero(~_equal(rewards, steps["reward"]))
    if len(wrong):
        i = int(wrong[0])
        raise BundleError(
            f"the reward at t = {steps['t'][i]} of {where} is {steps['reward'][i]:.9g}, but the "
            f"logged action gives {rewards[i]:.9g}: the action or the reward was changed"
        )
    if not _equal(regrets.sum(), run.regret):
        raise BundleError(
            f"the regret of {where} is claimed as {run.regret:.9g}, but the logged actions have "
            f"{regrets.sum():.9g}"
        )
    return regrets


def _action(space: spaces.Space[Any], logged: Array) -> Any:
    if isinstance(space, spaces.Discrete):
        if np.isfinite(logged[1:]).any() or not float(logged[0]).is_integer():
            raise ValueError(f"an arm is one whole number, got {logged.tolist()}")
        return int(logged[0])
    (width,) = space.shape or (1,)
    if np.isfinite(logged[width:]).any():
        raise ValueError(f"it has more than {width} coordinates: {logged.tolist()}")
    return logged[:width].copy()


def _equal(a: Any, b: Any) -> Any:
    return np.abs(a - b) <= TOLERANCE * (1.0 + np.abs(b))
