"""Who takes submissions into an edition: verifies them, and writes down what came of it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from evaluation.leaderboard.bundle import BundleError, agent_digest, read_manifest
from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.hidden import HiddenSeeds
from evaluation.leaderboard.lines import TIERS
from evaluation.leaderboard.secret import Secret
from evaluation.leaderboard.trial import uniform_regrets
from evaluation.leaderboard.verdicts import Regrets, Report, Verification
from evaluation.leaderboard.verify import verify
from evaluation.protocol import Protocol


class Judge:
    """A maintainer of an edition, who has its secret.

    Args:
        edition: The edition, which must not have ended.
        secret: Its secret.
        through: The last tier to try.
        agent: Where the code of the submissions is; not needed for built-in agents.
        more_trials: Whether a submission may have more trials than others.
        without_sandbox: Whether hidden seeds are given out where there is no sandbox.
        sample: Runs that are run again.
        workers: Processes that run agents; by default one per core.

    Attributes:
        protocol: The edition's.
    """

    def __init__(
        self,
        edition: Edition,
        secret: Secret,
        *,
        through: str,
        agent: str | None = None,
        more_trials: bool = False,
        without_sandbox: bool = False,
        sample: int | None = None,
        workers: int | None = None,
    ) -> None:
        edition.check_secret(secret)
        edition.check_open()
        self._edition, self._secret, self._through = edition, secret, through
        self._agent, self._workers, self._more_trials = agent, workers, more_trials
        self._sample = {} if sample is None else {"sample": sample}
        self._without_sandbox = without_sandbox
        self.protocol: Protocol = edition.protocol()

    @cached_property
    def _uniform(self) -> Regrets:
        return uniform_regrets(self.protocol)

    def standing_of(self, bundle: Path) -> str | None:
        """The tier of a bundle that needs no judging: it has passed as far as it would be taken.

        Judging it again would use up one of its trials on hidden seeds for nothing.
        """
        try:
            name = read_manifest(bundle).id
        except BundleError:
            return None
        asked = TIERS.index(self._through)
        for one in self._edition.accepted():
            if one.manifest.id == name and one.tier in TIERS[asked:] and not one.is_stale:
                return None if self._more_trials else one.tier
        return None

    def judge(
        self, bundle: Path, on_progress: Report = lambda progress: None
    ) -> tuple[Verification, bool]:
        """Verify a bundle and record the verdicts; whether it is in the edition now."""
        verification = verify(
            bundle,
            self.protocol,
            through=self._through,
            remark=self._edition.remark_on,
            agent=self._agent,
            begin_trial=self._begin_trial,
            uniform=self._uniform,
            without_sandbox=self._without_sandbox,
            workers=self._workers,
            on_progress=on_progress,
            **self._sample,
        )
        return verification, self._edition.record(verification, self._secret)

    def _begin_trial(self, verification: Verification) -> HiddenSeeds:
        assert verification.manifest is not None
        assert verification.digest is not None
        return self._edition.begin_trial(
            verification.manifest.id,
            verification.digest,
            agent_digest(verification.manifest),
            self._secret,
            more=self._more_trials,
        )
