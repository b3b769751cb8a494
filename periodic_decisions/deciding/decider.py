"""A decider: an agent that is asked in names and times, and told in units of the reward."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents import AgentSpec, UnknownAgentError
from agents.base import MAX_REWARD
from periodic_decisions.deciding import files
from periodic_decisions.deciding.errors import DeciderError
from periodic_decisions.deciding.knowledge import Knowledge
from periodic_decisions.deciding.settings import (
    DEFAULT_REMEMBERED,
    Settings,
    checked_arms,
    checked_reward,
)

if TYPE_CHECKING:  # pandas takes half a second, and asking and telling need none of it
    import pandas as pd

    from periodic_decisions.deciding.plan import Plan


@dataclass(frozen=True)
class Choice:
    """What to do.

    Attributes:
        id: Names the choice when its reward is told.
        time: For which it was made, in the time zone of the decider.
        arm: What was chosen.
        expected: Its mean reward as the agent believes; None if the agent does not say.
        interval: Where the agent believes the mean reward to be, with 95 % probability; or None.
        probability: That this arm would be chosen, given all that was known; None if nobody knows.
    """

    id: str
    time: datetime
    arm: str
    expected: float | None
    interval: tuple[float, float] | None
    probability: float | None


class Decider:
    """Chooses one of several arms again and again, and learns from the rewards.

    Rewards may be told late, in any order, or never; several choices may be open at once, for the
    same time, too. A time within a step counts for the whole step.

    Args:
        arms: Names of what can be chosen, two at least.
        step: How often choices differ, such as "15 min" or "1h".
        seasons: What repeats, such as ["1 day", "1 week"], the main one first; by default nothing
            is known to.
        agent: Any agent for finitely many arms, with settings behind a colon.
        timezone: Of times without an offset, such as "Europe/Madrid". Days and weeks follow its
            wall clock.
        objective: "max", or "min" if rewards are costs.
        explore: Share of choices that are drawn at random, each arm being as likely.
        start: The first time; by default that of the first choice, or of what is learned before.
        remember: How many choices stay in the log, and how many rewards are there to be learned
            again when arms change; the newest of each.
        seed: Of all that is random.

    Raises:
        DeciderError: If an argument cannot be; so do all methods, and then nothing is changed.
    """

    def __init__(
        self,
        arms: Sequence[str],
        *,
        step: Any,
        seasons: Sequence[Any] = (),
        agent: str = "auto-gp-ucb",
        timezone: str | None = None,
        objective: str = "max",
        explore: float = 0.0,
        start: Any = None,
        remember: int = DEFAULT_REMEMBERED,
        seed: int = 0,
    ) -> None:
        settings = Settings.checked(
            step=step,
            seasons=seasons,
            agent=str(agent),
            timezone=timezone,
            objective=objective,
            explore=explore,
            remember=remember,
            seed=seed,
        )
        self._known = Knowledge(settings, _spec(settings.agent), checked_arms(arms))
        if start is not None:
            self._known.begin(settings.clock.moment(start))

    @property
    def arms(self) -> tuple[str, ...]:
        """What can be chosen now."""
        return tuple(self._known.arms)

    @property
    def settings(self) -> dict[str, Any]:
        """What the decider was made with, in words and numbers."""
        return self._known.settings.plain()

    @property
    def open_choices(self) -> tuple[str, ...]:
        """The ids of choices whose rewards are not told, the oldest first; ``log`` says more."""
        return tuple(entry.id for entry in self._known.journal if entry.is_open)

    def choose(self, at: Any = None) -> Choice:
        """Choose an arm.

        Args:
            at: For when: text, a datetime or a Timestamp; by default for now.
        """
        clock = self._known.settings.clock
        entry = self._known.choose(clock.moment(clock.now() if at is None else at))
        believed = self._known.expected(entry.step, entry.arm)
        return Choice(
            id=entry.id,
            time=entry.moment,
            arm=self._known.names[entry.arm],
            expected=None if believed is None else believed[0],
            interval=None if believed is None else believed[1:],
            probability=None if math.isnan(entry.probability) else entry.probability,
        )

    def tell(self, choice: str, reward: float) -> None:
        """Tell the reward of a choice, once.

        Args:
            choice: Its id.
            reward: A finite number; more is better, unless the objective is "min".
        """
        entry = self._known.journal.open_entry(choice)
        self._known.tell(entry, checked_reward(reward, MAX_REWARD))

    def learn(
        self,
        source: Any,
        *,
        again: bool = False,
        on_progress: Callable[[int, int], object] | None = None,
        **reading: Any,
    ) -> int:
        """Learn from a table; how many rewards are new.

        The agent then starts afresh, and sees all rewards that are remembered in the order of
        time. Rewards that are remembered already (the same step, arm and reward) are skipped, and
        a warning says so: a table that grows can be learned again and again.

        Args:
            source: A table of all arms (wide or long) or a log (time, arm, reward, and maybe more
                columns), as a DataFrame or a path to a CSV or Parquet file. The newest
                ``remember`` rewards are taken.
            again: Let rewards count that are remembered already: they are other ones.
            on_progress: Called with how many rewards the agent has seen, and of how many.
            reading: How to read it, where that is not plain: ``time_column``, ``arm_column``,
                ``reward_column``, ``time_format``, ``separator``, ``decimal``, ``encoding``,
                ``na_values``, ``arms``, ``duplicates``, as for ``PeriodicGP-Replay-v0``.
        """
        from periodic_decisions.deciding.tables import read_rewards

        rewards = read_rewards(source, self._known, **reading)
        return self._known.learn(rewards, on_progress, again=again)

    def plan(self, at: Any = None, *, steps: int = 24) -> Plan:
        """What would be chosen from a time on if no more rewards came; nothing is changed.

        Args:
            at: From when; by default from now.
            steps: How many steps.
        """
        from periodic_decisions.deciding.plan import make_plan

        clock = self._known.settings.clock
        return make_plan(self._known, clock.moment(clock.now() if at is None else at), steps)

    def add_arm(self, arm: str) -> None:
        """Let an arm be chosen from now on, a new one or one that was retired.

        The agent starts afresh, and sees all rewards that are remembered in the order of time.
        """
        self._known.add(arm)

    def retire_arm(self, arm: str) -> None:
        """Let an arm be chosen no more; its choices may still be told.

        The agent starts afresh, and sees all rewards that are remembered in the order of time.
        """
        self._known.retire(arm)

    @property
    def log(self) -> pd.DataFrame:
        """The choices that are remembered: time, arm, reward, probability and the choice's id.

        Rewards and probabilities are NaN where they are not known.
        """
        from periodic_decisions.deciding.tables import log_table

        return log_table(self._known)

    def export_log(self, path: str | Path) -> None:
        """Write the log into a CSV file, empty where something is not known."""
        from periodic_decisions.deciding.csv_log import write_log

        write_log(self._known, Path(path))

    def save(self, path: str | Path) -> None:
        """Write everything into one file: all of it, or nothing."""
        with files.locked(Path(path)):
            self._known.write(Path(path))

    @classmethod
    def load(cls, path: str | Path, *, agent: str | None = None) -> Decider:
        """The decider that was saved; it goes on as if nothing had happened.

        Args:
            path: The file.
            agent: Who decides, for an agent that is not registered: a file cannot name a place
                to import from.
        """
        made = cls.__new__(cls)
        made._known = Knowledge.read(Path(path), None if agent is None else _spec(agent))
        return made

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: str | Path, *, agent: str | None = None) -> Iterator[Decider]:
        """A saved decider to use while nobody else does; it is saved again at the end.

        If something fails in between, the file stays as it is. Arguments are those of ``load``.
        """
        files.check_there(Path(path))  # or a lock would be left where nothing is
        with files.locked(Path(path)):
            decider = cls.load(path, agent=agent)
            yield decider
            decider._known.write(Path(path))


def _spec(agent: str) -> AgentSpec:
    try:
        return AgentSpec.parse(agent)
    except UnknownAgentError as error:
        sentence, names, _ = str(error).partition("; known are ")  # of some fifty agents
        hint = "; periodic-gp agents lists those there are" if names else ""
        raise DeciderError(sentence + hint) from None
