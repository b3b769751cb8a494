"""Decider: an agent that uses named arms, calendar times, and rewards in the user's unit."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agents import AgentSpec, UnknownAgentError, names
from agents.objects import pack, unpack
from periodic_decisions.decider import state
from periodic_decisions.decider.settings import (
    DEFAULT_REMEMBERED,
    MAX_ARMS,
    DeciderError,
    Settings,
    check_whole,
    checked_arm,
    checked_arms,
    checked_reward,
)
from periodic_decisions.decider.state import ASKED, COLUMNS, Event, Journal, Learner

if TYPE_CHECKING:  # importing pandas takes half a second, and few methods need it
    import pandas as pd

    from periodic_decisions.decider.plan import Plan

# Share of the events that remain after a full list is trimmed. Removing one event at a time would
# be slow.
LEFT_WHEN_FULL = 0.75
MAX_PLANNED = 10_000


@dataclass(frozen=True)
class Choice:
    """Choice of a decider.

    Attributes:
        id: Identifier with which the reward is reported.
        time: Time of the choice, in the time zone of the decider.
        arm: The chosen arm.
        expected: Expected mean reward; None if the agent has no belief.
        interval: 95 % interval of the mean reward; None if the agent has no belief.
        probability: Probability with which the arm was chosen; None if unknown.
    """

    id: str
    time: datetime
    arm: str
    expected: float | None
    interval: tuple[float, float] | None
    probability: float | None


class Decider:
    """Agent in production that repeatedly chooses one of several arms and learns from the rewards.

    Rewards may arrive late, in any order, or never. Several choices may wait for their rewards,
    even choices for the same time. All times within a step are equivalent.

    Args:
        arms: Names of at least two arms.
        step: Length of a step, such as "15 min" or "1h".
        seasons: Lengths of the seasons, such as ["1 day", "1 week"], the main season first; empty
            by default.
        agent: Name of an agent for finitely many arms, with settings after a colon.
        timezone: Time zone of times without an offset, such as "Europe/Madrid". Days and weeks
            follow its wall clock.
        objective: "max", or "min" if rewards are costs.
        explore: Share of choices that are drawn uniformly at random.
        start: Earliest time of choices and rewards; by default the time of the first choice or of
            the first learned reward.
        remember: Maximum number of stored choices, and of stored rewards; the newest are kept. When
            arms change, a new agent learns from the stored rewards.
        seed: Seed of all random numbers.

    Raises:
        DeciderError: If an argument is invalid. If a method raises this error, the decider stays
            unchanged.
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
        self._settings = Settings.checked(
            step=step,
            seasons=seasons,
            agent=str(agent),
            timezone=timezone,
            objective=objective,
            explore=explore,
            remember=remember,
            seed=seed,
        )
        self._spec = _spec(self._settings.agent)
        self._arms = checked_arms(arms)
        self._names = list(self._arms)  # all arms, including retired ones, for the journal
        self._journal = Journal(remember)
        self._origin: datetime | None = None
        self._first, self._generation = 0, 0
        # Agents have the seeds [seed, generation], so this generator is independent of theirs.
        self._explorer = np.random.default_rng([seed, 2**32])
        self._learner = Learner(self._spec, self._settings, len(self._arms))
        if start is not None:
            self._begin(self._moment(start))

    @property
    def arms(self) -> tuple[str, ...]:
        """Available arms, without retired arms."""
        return tuple(self._arms)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the decider as plain values."""
        return asdict(self._settings)

    @property
    def open_choices(self) -> tuple[str, ...]:
        """Ids of the choices whose reward is unknown, the oldest first; see ``log``."""
        return tuple(choice.id for choice in self._journal if choice.is_open)

    def choose(self, at: Any = None) -> Choice:
        """Choose an arm.

        Args:
            at: Time as text, datetime or Timestamp; by default the current time.
        """
        moment = self._moment(at)
        step = self._step_of(moment)
        best, is_certain = self._learner.act(step)
        self._begin(moment)
        self._note((step, ASKED, math.nan))
        # Both numbers are always drawn, so that later draws do not depend on earlier choices.
        share, draw = self._settings.explore, self._explorer.random()
        random_arm = int(self._explorer.integers(len(self._arms)))
        arm = random_arm if draw < share else best
        # P(arm) = share / n + (1 - share) [arm = best], for a deterministic agent
        probability = share / len(self._arms) + (1.0 - share) * (arm == best)
        if not is_certain and share < 1.0:
            probability = math.nan
        code = self._names.index(self._arms[arm])
        choice = self._journal.begin(moment, step, code, probability)
        known = None if math.isnan(probability) else probability
        beliefs = self._learner.beliefs(step, [arm])
        if beliefs is None or not np.isfinite(beliefs).all():
            return Choice(choice.id, moment, self._arms[arm], None, None, known)
        mean, low, high = beliefs[0].tolist()
        return Choice(choice.id, moment, self._arms[arm], mean, (low, high), known)

    def tell(self, choice: str, reward: float) -> None:
        """Report the reward of a choice; a second reward for the same choice raises an error.

        Args:
            choice: Id of the choice.
            reward: Finite number; larger is better, unless the objective is "min".
        """
        opened = self._journal.open_choice(choice)
        value = checked_reward(reward)
        name = self._names[opened.arm]
        if name in self._arms:
            self._learner.update(opened.step, self._arms.index(name), value)
        self._journal.close(opened, value)
        self._note((opened.step, opened.arm, value))

    def learn(
        self,
        source: Any,
        *,
        again: bool = False,
        on_progress: Callable[[int, int], object] | None = None,
        **reading: Any,
    ) -> int:
        """Learn from a table and return the number of new rewards.

        The agent is created again and receives all stored rewards in order of time. Rewards that
        are already known (the same step, arm and reward) are skipped with a warning, so that the
        decider can learn from a growing table repeatedly.

        Args:
            source: Table with the rewards of all arms (wide or long), or log of choices (time, arm,
                reward and optional columns), as a DataFrame or a path to a CSV or Parquet file.
                Only the newest ``remember`` rewards are used.
            again: Learn again from known rewards instead of skipping them.
            on_progress: Callback that receives the number of processed rewards and their total
                number.
            reading: Options for reading the table: ``time_column``, ``arm_column``,
                ``reward_column``, ``time_format``, ``separator``, ``decimal``, ``encoding``,
                ``na_values``, ``arms``, ``duplicates``, as for ``read_series``.
        """
        from periodic_decisions.decider.learning import read_rewards

        rewards = read_rewards(source, self._settings, self._arms, self._names, **reading)
        if not rewards:
            return 0
        before = self._origin, self._first
        self._begin(rewards[0][0])
        try:
            events = [(self._step_of(at), self._names.index(arm), r) for at, arm, r in rewards]
            new = events if again else self._unknown(events)
            if new:
                self._rebuild(self._arms, more=new, on_progress=on_progress)
        except BaseException:
            self._origin, self._first = before
            raise
        return len(new)

    def plan(self, at: Any = None, *, steps: int = 24) -> Plan:
        """Return the choices that the decider would make if no further rewards arrived.

        The decider is not changed.

        Args:
            at: Time of the first choice; by default the current time.
            steps: Number of steps.
        """
        from periodic_decisions.decider.plan import make_plan

        check_whole("steps", steps, 1, MAX_PLANNED)
        moment, clock = self._moment(at), self._settings.clock
        self._step_of(moment)
        origin = self._origin or clock.origin(moment)
        times = clock.steps_from(moment, origin, steps)
        numbers = [clock.count(time, origin) for time in times]
        rewards = [(step, self._names[arm], r) for step, arm, r in self._journal.rewards()]
        return make_plan(self._settings, self.arms, self._learner.copied(), times, numbers, rewards)

    def add_arm(self, arm: str) -> None:
        """Add a new arm, or make a retired arm available again.

        The agent is created again and receives all stored rewards in order of time.
        """
        if checked_arm(arm) in self._arms:
            raise DeciderError("repeated-names", f"the arm {arm!r} already exists")
        if len(self._arms) >= MAX_ARMS:
            raise DeciderError("too-many-arms", f"a decider must have at most {MAX_ARMS:,} arms")
        self._rebuild([*self._arms, arm])

    def retire_arm(self, arm: str) -> None:
        """Stop choosing an arm; rewards of its past choices can still be reported.

        The agent is created again and receives all stored rewards in order of time.
        """
        if arm not in self._arms:
            raise DeciderError(
                "unknown-arm", f"unknown arm {arm!r}: the arms are {', '.join(self._arms[:20])}"
            )
        if len(self._arms) == 2:
            raise DeciderError(
                "too-few-arms", f"cannot retire {arm!r}: a choice needs at least two arms"
            )
        self._rebuild([name for name in self._arms if name != arm])

    @property
    def log(self) -> pd.DataFrame:
        """Stored choices, with the columns time, arm, reward, probability and choice_id.

        Unknown rewards and probabilities are NaN.
        """
        import pandas as pd

        rows = [
            (one.moment, self._names[one.arm], one.reward, one.probability, one.id)
            for one in self._journal
        ]
        table = pd.DataFrame(rows, columns=list(COLUMNS))
        times = [pd.Timestamp(time) for time, *_ in rows]
        table["time"] = pd.DatetimeIndex(times, tz=self._settings.clock.zone)
        return table.astype({"reward": np.float64, "probability": np.float64})

    def export_log(self, path: str | Path) -> None:
        """Write the log to a CSV file; unknown values are empty."""
        from periodic_envs.files import write_atomically

        try:
            content = self.log.to_csv(index=False, lineterminator="\n")
            write_atomically(Path(path), content.encode())
        except OSError as error:
            raise DeciderError(
                "cannot-write", f"cannot write {str(path)!r}: {error.strerror or error}"
            ) from error

    def save(self, path: str | Path) -> None:
        """Write the decider to a single file atomically."""
        place = Path(path).resolve()  # all symbolic links to a file share its lock
        with state.locked(place):
            self._write(place)

    @classmethod
    def load(cls, path: str | Path, *, agent: str | None = None) -> Decider:
        """Return a saved decider, which continues exactly from its saved state.

        Args:
            path: Path of the file.
            agent: Agent of the decider; required if this agent is not registered. For safety, a
                file cannot cause a module to be imported.
        """
        made = cls.__new__(cls)
        with state.opened(Path(path)) as (header, arrays):
            made._restore(header, arrays, None if agent is None else _spec(agent))
        return made

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: str | Path, *, agent: str | None = None) -> Iterator[Decider]:
        """Lock and load a saved decider, yield it, and save it at the end.

        After an error, the file stays unchanged. The arguments are those of ``load``.
        """
        place = Path(path).resolve()
        state.check_exists(place)  # otherwise a lock would be created for a missing file
        with state.locked(place):
            decider = cls.load(place, agent=agent)
            yield decider
            decider._write(place)

    def _moment(self, at: Any) -> datetime:
        clock = self._settings.clock
        return clock.moment(datetime.now(clock.zone).replace(microsecond=0) if at is None else at)

    def _begin(self, moment: datetime) -> None:
        """Set the origin and the first step, unless the origin is already set."""
        if self._origin is None:
            clock = self._settings.clock
            self._origin = clock.origin(moment)
            self._first = clock.count(moment, self._origin)

    def _step_of(self, moment: datetime) -> int:
        """Return the number of the step that contains a moment.

        Raises:
            DeciderError: If the moment is before the start of the decider.
        """
        clock = self._settings.clock
        step = clock.count(moment, self._origin or clock.origin(moment))
        if self._origin is not None and step < self._first:
            start = self._origin + self._first * clock.step
            raise DeciderError(
                "before-start",
                f"{moment} is before the start of the decider, {start}"
                f"{'' if clock.on_the_wall else ' in UTC'}: create the decider with an earlier "
                "start=..., or learn from older rewards before the first choice",
            )
        return step

    def _unknown(self, events: list[Event]) -> list[Event]:
        """Return the rewards that are not stored yet, and warn if other rewards are skipped."""
        known, new = Counter(self._journal.events), []
        for event in events:
            known[event] -= 1
            if known[event] < 0:
                new.append(event)
        if len(new) < len(events):
            warnings.warn(
                f"skipped {len(events) - len(new):,} of {len(events):,} rewards because they are "
                "already known (the same step, arm and reward): pass again=True to learn from "
                "them again",
                stacklevel=3,
            )
        return new

    def _note(self, event: Event) -> None:
        """Store an event, and remove the oldest events if there are too many.

        If the agent can be saved, only rewards are stored. Otherwise requests for a choice are
        stored as well, because loading the decider replays all events.
        """
        replayed = not self._learner.can_be_saved
        if event[1] == ASKED and not replayed:
            return
        self._journal.events.append(event)
        if self._journal.is_full and replayed:
            # Loading replays only the stored events, so this agent must also forget the others.
            self._rebuild(self._arms, share=LEFT_WHEN_FULL)
        elif self._journal.is_full:
            self._journal.events = self._journal.rewards(share=LEFT_WHEN_FULL)

    def _rebuild(
        self,
        arms: list[str],
        *,
        more: Iterable[Event] = (),
        share: float = 1.0,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Create a new agent, and replay the stored rewards and ``more`` in order of time.

        Only the newest rewards are kept: at most ``share`` times the maximum number.
        """
        names = [*self._names, *(name for name in arms if name not in self._names)]
        generation, events = self._generation + 1, self._journal.rewards(more, share)
        learner = Learner(self._spec, self._settings, len(arms), generation=generation)
        learner.replay(_seen(events, names, arms), on_progress)
        self._names, self._arms, self._journal.events = names, arms, events
        self._generation, self._learner = generation, learner

    def _write(self, path: Path) -> None:
        arrays: dict[str, Any] = {}
        header = {
            "agent": self._learner.packed(arrays),
            "settings": self.settings,
            "names": self._names,
            "arms": self._arms,
            "origin": None if self._origin is None else self._origin.isoformat(),
            "first": self._first,
            "generation": self._generation,
            "explorer": pack(self._explorer, arrays),
        }
        state.write(path, header, arrays | self._journal.arrays())

    def _restore(
        self, header: dict[str, Any], arrays: dict[str, Any], spec: AgentSpec | None
    ) -> None:
        self._settings = settings = Settings.checked(**header["settings"])
        self._spec = spec or _registered(settings.agent)
        self._arms = checked_arms(header["arms"])
        self._names = [checked_arm(name) for name in header["names"]]
        if not set(self._arms) <= set(self._names) or len(set(self._names)) < len(self._names):
            raise DeciderError("damaged-file", "its lists of arms are inconsistent")
        origin, n_arms = header["origin"], len(self._arms)
        self._origin = None if origin is None else datetime.fromisoformat(origin)
        self._first, self._generation = int(header["first"]), int(header["generation"])
        self._explorer = unpack(header["explorer"], arrays, np.random.Generator)
        self._journal = Journal.restored(
            arrays, settings.remember, settings.clock.zone, len(self._names)
        )
        agent = header["agent"]
        if agent is not None:
            self._learner = Learner.restored(self._spec, settings, n_arms, agent, arrays)
            return
        self._learner = Learner(self._spec, settings, n_arms, generation=self._generation)
        self._learner.replay(_seen(self._journal.events, self._names, self._arms))


def _seen(events: Iterable[Event], names: list[str], arms: list[str]) -> list[Event]:
    """Return the events of available arms and the requests for a choice.

    In the result, an arm is numbered by its position in ``arms``.
    """
    places = {names.index(name): i for i, name in enumerate(arms)} | {ASKED: ASKED}
    return [(step, places[arm], reward) for step, arm, reward in events if arm in places]


def _spec(agent: str) -> AgentSpec:
    try:
        return AgentSpec.parse(agent)
    except UnknownAgentError as error:
        raise DeciderError(error.code, str(error)) from None


def _registered(agent: str) -> AgentSpec:
    """Return the agent that a file names, or raise an error if the agent is not registered.

    Creating an unregistered agent would import a module.
    """
    known = names()
    if agent in known:
        return AgentSpec(agent)
    if agent.partition(":")[0] not in known:
        raise DeciderError(
            "unregistered-agent",
            f"its agent {agent!r} is not registered: to allow the import of this agent, pass "
            f"agent={agent!r}",
        )
    return AgentSpec.parse(agent)
