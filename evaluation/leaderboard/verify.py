"""Verification in tiers, the cheapest first; a submission is trusted as far as it gets.

- **well-formed**: the files are what they say, complete, and of this protocol.
- **replayed**: the submitted actions, played through the seeded worlds again, have the claimed
  regrets. Needs no agent's code. It proves the numbers, not that the agent chose the actions
  without knowing the seeds.
- **re-run**: the agent itself, on a sample of the runs, chooses the same actions.
- **hidden-seed**: the agent is run on seeds that nobody could know, derived from a secret whose
  hash was published with the edition. Its regret there must not be larger than reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agents.registry import AgentSpec
from evaluation.leaderboard.bundle import (
    BundleError,
    Manifest,
    read_manifest,
    read_steps_file,
)
from evaluation.leaderboard.forms import run_forms, run_names
from evaluation.leaderboard.lines import TIERS, Verdict
from evaluation.leaderboard.replay import played_worlds
from evaluation.leaderboard.steps import read_steps
from evaluation.leaderboard.submit import check_track
from evaluation.leaderboard.trial import (
    Conditions,
    check_hidden,
    judged,
    on_hidden_seeds,
    rerun,
)
from evaluation.leaderboard.verdicts import Verification
from evaluation.protocol import Protocol

TOLERANCE = 1e-9
"""Of regrets, relative: machines differ in the last digits."""


def verify(
    folder: Path,
    protocol: Protocol,
    *,
    through: str = "replayed",
    remark: Callable[[Verification], str] = lambda verification: "",
    **conditions: Any,
) -> Verification:
    """Take a bundle through the tiers until one refuses it.

    Args:
        folder: The bundle.
        protocol: What it must be of; nothing in the bundle chooses a world.
        through: The last tier to try.
        remark: Called once it is replayed: what else there is to say of it, or a BundleError.
        conditions: How the agent is run, in the tiers that run it: see ``Conditions``.

    Raises:
        CannotCheckError: If a tier cannot be tried at all, which is nobody's verdict.
    """
    how = Conditions(**conditions)
    if through == "hidden-seed":
        check_hidden(how)  # now, and not after all the other tiers
    verification = Verification()
    checks: dict[str, Callable[[], str]] = {
        "well-formed": lambda: _well_formed(verification, folder, protocol),
        "replayed": lambda: _replayed(verification, protocol) + remark(verification),
        "re-run": lambda: rerun(verification, judged(verification, protocol, how.agent), how),
        "hidden-seed": lambda: on_hidden_seeds(
            verification, judged(verification, protocol, how.agent), how
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
    _check_runs(manifest, protocol)
    forms = run_forms(protocol)
    rows = sum(form.steps for form in forms)
    verification.steps = read_steps_file(folder, manifest, rows=rows)
    verification.actions = read_steps(verification.steps, forms)
    verification.manifest = manifest
    return f"{len(forms):,} runs, {rows:,} steps, hashes and schema are right"


def _check_challenge(manifest: Manifest, protocol: Protocol) -> None:
    if manifest.challenge != protocol.challenge:
        raise BundleError(
            f"it is of another protocol ({manifest.protocol!r}, challenge "
            f"{manifest.challenge[:12]}) than {protocol.name!r} ({protocol.challenge[:12]}): other "
            "worlds, seeds, limits, data or versions"
        )


def _check_runs(manifest: Manifest, protocol: Protocol) -> None:
    names = [(run.env, run.seed) for run in manifest.runs]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BundleError(f"the run {twice[0]} is there more than once")
    if names != run_names(protocol):
        raise BundleError("its runs are not all runs of the protocol, in order")
    for run in manifest.runs:
        if run.seconds > protocol.limits.seconds:
            raise BundleError(
                f"{run.env}, seed {run.seed} took longer than the protocol's limit of "
                f"{protocol.limits.seconds:g} seconds"
            )


def _replayed(verification: Verification, protocol: Protocol) -> str:
    """Ask the worlds what the actions lose; each run must have the regret that was claimed."""
    manifest = verification.manifest
    assert manifest is not None
    worlds = played_worlds(protocol)
    regrets = []
    for run, world, actions in zip(manifest.runs, worlds, verification.actions, strict=True):
        regrets.append(world.columns(actions)["regret"])
        found = float(regrets[-1].sum())
        if abs(found - run.regret) > TOLERANCE * (1.0 + abs(found)):
            raise BundleError(
                f"the regret of {run.env}, seed {run.seed} is claimed as {run.regret:.9g}, but the "
                f"submitted actions have {found:.9g}: an action or the regret was changed"
            )
    verification.regrets = regrets
    return "the submitted actions have the claimed regrets"
