"""All that a decider knows: its arms, its journal, and an agent that has seen what is in it."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from agents import AgentSpec, names
from agents.saving import pack, unpack
from periodic_decisions.deciding import files
from periodic_decisions.deciding.errors import DeciderError, one_line
from periodic_decisions.deciding.journal import Entry, Journal
from periodic_decisions.deciding.learner import ASKED, Event, Learner
from periodic_decisions.deciding.settings import MAX_ARMS, Settings, checked_arm, checked_arms

LEFT_WHEN_FULL = 0.75
"""Share of the events that is kept when there are too many: to forget one by one would be slow."""
MAX_STEP = 2**53
"""Up to which a step is a float without loss."""


class Knowledge:
    """What changes as choices are made.

    Args:
        settings: What does not change.
        spec: Who decides.
        arms: What can be chosen.

    Attributes:
        settings: What does not change.
        names: All arms that there ever were; choices and rewards are kept by their numbers here.
        arms: The ones that can be chosen now, in the order of the agent's actions.
        journal: Choices and rewards.
    """

    def __init__(self, settings: Settings, spec: AgentSpec, arms: list[str]) -> None:
        self.settings, self._spec = settings, spec
        self.names, self.arms = list(arms), list(arms)
        self.journal = Journal(settings.remember)
        self._origin: datetime | None = None
        self._first, self._generation = 0, 0
        # Apart from the agent's generators, whose seeds have another second word.
        self._explorer = np.random.default_rng([settings.seed, 2**32])
        self._learner = Learner.fresh(spec, settings, len(arms), self._generation)

    def begin(self, moment: datetime) -> None:
        """Count steps from this moment on, unless they are counted already."""
        if self._origin is None:
            clock = self.settings.clock
            self._origin = clock.origin(moment)
            self._first = clock.count(moment, self._origin)

    def step_of(self, moment: datetime) -> int:
        """The step of a moment.

        Raises:
            DeciderError: If it is before the start.
        """
        clock = self.settings.clock
        step = clock.count(moment, self._origin or clock.origin(moment))
        if self._origin is not None and step < self._first:
            start = self._origin + self._first * clock.step
            raise DeciderError(
                f"{moment} is before the start, which is {start}"
                f"{'' if clock.on_the_wall else ' in UTC'}: make the decider with start=..., or "
                "let it learn what is older before it chooses"
            )
        return step

    def choose(self, moment: datetime) -> Entry:
        """Note a choice for a moment."""
        step = self.step_of(moment)
        answer = self._learner.act(step)
        self.begin(moment)
        self._note((step, ASKED, math.nan))
        # Both are drawn whatever comes of it, so that choices do not depend on earlier ones.
        explores = self._explorer.random() < self.settings.explore
        anything = int(self._explorer.integers(len(self.arms)))
        arm, share = (anything if explores else answer.arm), self.settings.explore
        probability = share / len(self.arms) + (1.0 - share) * (arm == answer.arm)
        if not answer.is_certain and share < 1.0:
            probability = math.nan
        return self.journal.begin(moment, step, self._code(self.arms[arm]), probability)

    def tell(self, entry: Entry, reward: float) -> None:
        """Note the reward of a choice, and let the agent learn from it if the arm is there."""
        name = self.names[entry.arm]
        if name in self.arms:
            self._learner.update(entry.step, self.arms.index(name), reward)
        self.journal.close(entry, reward)
        self._note((entry.step, entry.arm, reward))

    def learn(
        self,
        rewards: Iterable[tuple[datetime, str, float]],
        on_progress: Callable[[int, int], object] | None = None,
        *,
        again: bool = False,
    ) -> int:
        """Let the agent see rewards of others' choices, known ones only if ``again``; how many."""
        found = sorted(rewards, key=lambda one: one[0])[-self.settings.remember :]
        if not found:
            return 0
        before = self._origin, self._first
        self.begin(found[0][0])
        try:
            told = [(self.step_of(moment), self._code(arm), r) for moment, arm, r in found]
            new = told if again else self._unknown(told)
            if new:
                self._rebuild(self.arms, more=new, on_progress=on_progress)
        except BaseException:
            self._origin, self._first = before
            raise
        return len(new)

    def _unknown(self, told: list[Event]) -> list[Event]:
        """Those that are not remembered; how many are is said."""
        known, new = Counter(self.journal.events), []
        for event in told:
            if known[event]:
                known[event] -= 1
            else:
                new.append(event)
        if len(new) < len(told):
            warnings.warn(
                f"{len(told) - len(new):,} of {len(told):,} rewards (the same step, arm and "
                "reward) were known already and are skipped; again=True lets them count again",
                stacklevel=4,
            )
        return new

    def add(self, arm: Any) -> None:
        """Let an arm be chosen from now on."""
        if checked_arm(arm) in self.arms:
            raise DeciderError(f"there is an arm {arm!r} already")
        if len(self.arms) >= MAX_ARMS:
            raise DeciderError(f"there are at most {MAX_ARMS:,} arms")
        self._rebuild([*self.arms, arm])

    def retire(self, arm: Any) -> None:
        """Let an arm be chosen no more."""
        self.check_arm(arm)
        if len(self.arms) == 2:
            raise DeciderError(f"cannot retire {arm!r}: a choice needs at least two arms")
        self._rebuild([name for name in self.arms if name != arm])

    def check_arm(self, arm: Any) -> None:
        """Refuse what is no arm."""
        if arm not in self.arms:
            raise DeciderError(f"there is no arm {arm!r}; there are {', '.join(self.arms[:20])}")

    def expected(self, step: int, arm: int) -> tuple[float, float, float] | None:
        """Mean reward of an arm, by its number among all, and its interval, if anybody knows."""
        return self._learner.expected(step, self.arms.index(self.names[arm]))

    def planner(self) -> Learner:
        """A copy of the agent, to ask what it would do."""
        return self._learner.copied()

    @property
    def origin(self) -> datetime | None:
        """Where steps are counted from; None before the start."""
        return self._origin

    def _code(self, name: str) -> int:
        return self.names.index(name)

    def _rebuild(
        self,
        arms: list[str],
        *,
        more: Iterable[Event] = (),
        leave: float = 1.0,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Let a fresh agent see what is remembered, and more, in the order of time."""
        names = [*self.names, *(name for name in arms if name not in self.names)]
        generation, events = self._generation + 1, self.journal.settled(more, leave)
        learner = Learner.fresh(self._spec, self.settings, len(arms), generation)
        learner.replay(list(_seen(events, names, arms)), on_progress)
        self.names, self.arms, self.journal.events = names, arms, events
        self._generation, self._learner = generation, learner

    def _note(self, event: Event) -> None:
        """Remember what the agent has seen; that it was asked only if it has to be replayed."""
        replayed = not self._learner.can_be_saved
        if event[1] == ASKED and not replayed:
            return
        self.journal.events.append(event)
        if not self.journal.is_full():
            return
        if replayed:  # the agent in a file sees no more than is remembered: this one neither
            self._rebuild(self.arms, leave=LEFT_WHEN_FULL)
        else:
            self.journal.events = self.journal.settled((), LEFT_WHEN_FULL)

    def write(self, path: Path) -> None:
        """Save all of it."""
        arrays: dict[str, Any] = {}
        agent = self._learner.packed(arrays)
        header = {
            "settings": self.settings.plain(),
            "names": self.names,
            "arms": self.arms,
            "origin": None if self._origin is None else self._origin.isoformat(),
            "first": self._first,
            "generation": self._generation,
            "explorer": pack(self._explorer, arrays),
            "agent": agent,
        }
        files.write(path, header, arrays | self.journal.arrays())

    @classmethod
    def read(cls, path: Path, spec: AgentSpec | None) -> Knowledge:
        """What was saved.

        Raises:
            DeciderError: If the file cannot be read, or the agent is not registered and not given.
        """
        header, arrays = files.read(path)
        try:
            return cls._restored(header, arrays, spec)
        except DeciderError as error:
            raise DeciderError(f"cannot load {str(path)!r}: {error}") from error
        except Exception as error:  # a damaged file can fail anywhere
            raise DeciderError(
                f"cannot load {str(path)!r}: it is damaged ({one_line(error)})"
            ) from error

    @classmethod
    def _restored(
        cls, header: dict[str, Any], arrays: dict[str, Any], spec: AgentSpec | None
    ) -> Knowledge:
        made = cls.__new__(cls)
        made.settings = settings = Settings.checked(**header["settings"])
        made._spec = spec or _registered(settings.agent)
        made.arms = checked_arms(header["arms"])
        made.names = [checked_arm(name) for name in header["names"]]
        origin = header["origin"]
        made._origin = None if origin is None else datetime.fromisoformat(origin)
        made._first, made._generation = int(header["first"]), int(header["generation"])
        made._explorer = unpack(header["explorer"], arrays, np.random.Generator)
        made.journal = Journal.restored(arrays, settings.remember, settings.clock.zone)
        made._check()
        if header["agent"] is None:
            fresh = Learner.fresh(made._spec, settings, len(made.arms), made._generation)
            fresh.replay(_seen(made.journal.events, made.names, made.arms))
            made._learner = fresh
        else:
            made._learner = Learner.unpacked(
                made._spec, settings, len(made.arms), header["agent"], arrays
            )
        return made

    def _check(self) -> None:
        """Refuse a file that does not fit together."""
        codes = [e.arm for e in self.journal] + [arm for _, arm, _ in self.journal.events]
        steps = [e.step for e in self.journal] + [step for step, _, _ in self.journal.events]
        if not set(self.arms) <= set(self.names) or len(set(self.names)) < len(self.names):
            raise DeciderError("its arms do not fit together")
        if codes and not (min(codes) >= ASKED and max(codes) < len(self.names)):
            raise DeciderError("it has choices of arms that there are not")
        if steps and not (min(steps) >= 0 and max(steps) < MAX_STEP):
            raise DeciderError("it has choices at impossible times")


def _seen(events: Iterable[Event], names: list[str], arms: list[str]) -> list[Event]:
    """What an agent is shown, with its own numbers of the arms; nothing of arms that are gone."""
    places = {names.index(name): i for i, name in enumerate(arms)} | {ASKED: ASKED}
    return [(step, places[arm], reward) for step, arm, reward in events if arm in places]


def _registered(agent: str) -> AgentSpec:
    """The agent that a file names, unless that would import something from anywhere."""
    name = agent.partition(":")[0]
    if name not in names():
        raise DeciderError(
            f"it was made with {agent!r}, which is not registered: give agent={agent!r} once more"
        )
    return AgentSpec.parse(agent)
