"""What the page of an edition says, from the edition's folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from agents.registry import AgentSpec, is_built_in
from evaluation.leaderboard.content import SubmittedRuns
from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.lines import HiddenRuns, Judged
from evaluation.leaderboard.standing import Accepted
from evaluation.leaderboard.trial import uniform_regrets
from evaluation.report.content import Board
from evaluation.statistics import Interval, iqm, paired_difference

HIDDEN = "hidden-seed"


@dataclass(frozen=True)
class Row:
    """An agent of a board.

    Attributes:
        label: Its name.
        own: Whether it is one of ours.
        public: Interquartile mean of its normalised regret on the public seeds.
        hidden: The same on hidden seeds, None if it has not passed them.
        close: Whether its mean cannot be told from that of the first, or is the lower one.
        ms_per_step: Time of a decision and of a reward, as the judge measured it.
    """

    label: str
    own: bool
    public: Interval
    hidden: Interval | None
    close: bool
    ms_per_step: float | None

    @property
    def name(self) -> str:
        """With a star if it is of another library."""
        return f"`{self.label}`" + ("" if self.own else " *")


@dataclass(frozen=True)
class Leaders:
    """The agents with the least regret in a world.

    Attributes:
        world: Its name.
        best: Three agents, the best first, each with its mean normalised regret.
        close: How many agents cannot be told from the first, itself left out.
    """

    world: str
    best: tuple[tuple[str, float], ...]
    close: int


class Study:
    """What can be said of a board of an edition.

    Args:
        edition: The edition.
        board: One of its boards.

    Attributes:
        accepted: The submissions of the board, by label.
    """

    def __init__(self, edition: Edition, board: Board) -> None:
        self.edition, self.board = edition, board
        self.protocol = edition.protocol()
        assert isinstance(board.results.source, SubmittedRuns)
        self.accepted = board.results.source.rows

    @cached_property
    def rows(self) -> list[Row]:
        """All agents, the best first."""
        results, track = self.board.results, self.board.track
        scores = results.scores(track)
        means = dict(zip(scores.agents, 1.0 - scores.values.mean(axis=2), strict=True))
        ranked = results.overall(track=track).to_dict("records")
        first = means[str(ranked[0]["agent"])]
        return [self._row(row, means[str(row["agent"])], first) for row in ranked]

    def _row(self, row: dict[str, Any], mean: Any, first: Any) -> Row:
        label = str(row["agent"])
        one = self.accepted[label]
        return Row(
            label=label,
            own=is_built_in(one.manifest.agent),
            public=Interval(*(row[f"normalised{end}"] for end in ("", "_low", "_high"))),
            hidden=self._hidden(one),
            close=not clearly_worse(mean, first),
            ms_per_step=one.ms_per_step,
        )

    def _hidden(self, one: Accepted) -> Interval | None:
        """Normalised regret of a submission in its last trial on hidden seeds."""
        if one.tier != HIDDEN:
            return None
        found = iqm(1.0 - self._shares(_trials(one)[-1]))
        return Interval(1.0 - found.estimate, 1.0 - found.high, 1.0 - found.low)

    def _shares(self, trial: HiddenRuns) -> Any:
        """Seeds by worlds, regret as a share of what choosing at random loses there."""
        uniform = uniform_regrets(self.protocol.restricted(seeds=trial.seeds))
        regrets = np.array(list(trial.regrets.values()), dtype=np.float64)
        random = [[uniform[env, seed] for seed in trial.seeds] for env in trial.regrets]
        return (regrets / np.array(random)).T

    def leaders(self) -> Iterator[Leaders]:
        """Of every world the three agents with the least regret."""
        track = self.board.track
        frame = self.board.results.table(track=track)
        for task, of_task in frame.groupby("task", sort=False):
            mine = of_task[of_task["agent"].isin(self.accepted)].sort_values("normalised")
            regrets: pd.DataFrame = self.board.results.regrets(str(task), track)
            first, *others = [str(agent) for agent in mine["agent"]]
            told = sum(clearly_worse(regrets[agent], regrets[first]) for agent in others)
            best = tuple(zip(mine["agent"][:3], mine["normalised"][:3], strict=True))
            yield Leaders(str(task), best, len(others) - told)

    @property
    def tried(self) -> list[Row]:
        """Agents that have passed hidden seeds."""
        return [row for row in self.rows if row.hidden is not None]

    @property
    def hidden_seeds(self) -> int:
        """Of each world, in every trial."""
        return min(
            (len(t.seeds) for one in self.accepted.values() for t in _trials(one)), default=0
        )

    @property
    def caught(self) -> int:
        """Verdicts by which hidden seeds refused an agent, of this board or any other."""
        lines = [line for line in self.edition.lines() if isinstance(line, Judged)]
        return sum(v.tier == HIDDEN and not v.passed for line in lines for v in line.verdicts)

    @property
    def sandboxes(self) -> set[str]:
        """What agents were run in, "" for no sandbox."""
        lines = [line for one in self.accepted.values() for line in one.verdicts]
        return {str(line.sandbox or "") for line in lines if line.ms_per_step is not None}

    @property
    def with_settings(self) -> list[str]:
        """Agents that do not have their defaults, as they are called."""
        given = (one.manifest for one in self.accepted.values())
        return [str(AgentSpec(m.agent, m.settings)) for m in given if m.settings]

    @property
    def stale(self) -> list[str]:
        """Agents whose code has changed since they were judged."""
        return [label for label, one in self.accepted.items() if one.is_stale]


def clearly_worse(regrets: Any, least: Any) -> bool:
    """Whether the interval of the paired difference lies above zero."""
    return bool(paired_difference(regrets, least).low > 0.0)


def _trials(one: Accepted) -> list[HiddenRuns]:
    return [line.hidden for line in one.verdicts if line.hidden is not None]
