"""An edition of the leaderboard as a page of the site.

    python -m evaluation.studies.edition [--docs docs] [--folder leaderboard] [--edition NAME]

Nothing is run: every figure is of the edition's folder, which anybody can check
(``periodic-gp leaderboard check``). The ranking is that of ``periodic-gp leaderboard build``;
beside it stands what the same agents came to on hidden seeds.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from agents.registry import is_built_in
from evaluation.cli.editions import FOLDER, find_edition
from evaluation.leaderboard.content import SubmittedRuns, boards
from evaluation.leaderboard.edition import Edition, EditionError
from evaluation.leaderboard.hidden import COUNT
from evaluation.leaderboard.lines import HiddenRuns
from evaluation.leaderboard.log import LogError
from evaluation.leaderboard.standing import Accepted
from evaluation.leaderboard.trial import uniform_regrets
from evaluation.report.content import Board
from evaluation.statistics import Interval, iqm, paired_difference
from evaluation.studies.markdown import markdown_table, shown
from evaluation.studies.pages import write_page
from evaluation.studies.stamp import make_stamp

COMMAND = "python -m evaluation.studies.edition --docs docs"
STUDY = "evaluation.studies.edition"
WORLD = "PeriodicGP-"
TEXT = """# Edition {name} of the leaderboard

{agents} agents in {worlds} worlds, {seeds} seeds each: {own} of periodic-gp and {others} of other
libraries, through the same door. This page is written by `{command}`
from the folder [leaderboard/{name}](../leaderboard/{name}); nothing is run for it. The head of its
log is `{head}`.

**What was checked.** Of every agent here the judge has read the submitted steps, computed their
regret itself, run the agent again on a part of them, and then run it on {hidden} hidden seeds of
each world: seeds that nobody knew, other ones for every agent. It ran them in a sandbox. The
edition is {state}. Whoever doubts a row
can check it (`periodic-gp leaderboard check --rerun 3`). What each tier proves is on the page about
[trust](explanation/trust.md).

**What is measured.** Normalised regret: 0 is an oracle, 1 is choosing at random. The first figure
is its interquartile mean over all runs on the public seeds, with a 95 % interval. Agents are ranked
by it, for on these seeds all of them met the same worlds and the same noise. The second figure is
the same on hidden seeds. "As good as the first" means that the paired 95 % interval of the
difference in mean normalised regret on public seeds has zero in it; it is not corrected for looking
at many pairs.

{ranking}

Times are the agents' own in the sandbox, on two busy cores: a factor of ten says something, a third
does not. Agents of other libraries have a star; what they are and how they were set is on the page
about [other libraries](peers.md).

## The least regret in every world

{best}

## What hidden seeds say

{hidden_words}

## What not to read into it

- All agents have their defaults, and runs have {steps} steps. With other widths some rivals come
  much closer ([the zoo](zoo.md), "Controls").
- The worlds are ours and need no data. On measurements the order may be another one:
  [what we found](findings.md).
- `auto-gp-ucb` was developed on other seeds of some of these worlds.

Your agent could be in the next edition: [how to hand one in](howto/leaderboard.md).
"""
BOARD = "verified-online"
OPEN = "still open: agents may follow, and the hidden seeds are secret"
CLOSED = (
    "closed: the salt of the hidden seeds is published, so that everybody can see that they were\n"
    "fixed before the first agent came, and run them again"
)
HIDDEN = """Each of the {tried} agents had hidden seeds of its own. Their normalised regret differs
from that on the public seeds by {mean:+.3f} on average, from {low:+.3f} to {high:+.3f}: other
worlds, other luck. An agent that knew the public seeds would be far above. The judge tests for
that; {refused} here. {first} has the least regret on hidden seeds, {regret:.3f}, and is
{same}."""


@dataclass(frozen=True)
class Row:
    """An agent of a board.

    Attributes:
        label: Its name.
        own: Whether it is one of ours.
        public: Interquartile mean of its normalised regret on the public seeds.
        hidden: The same on hidden seeds, None if it was not tried there.
        as_good: Whether it cannot be told from the first.
        ms_per_step: Time of the agent, as the judge measured it.
    """

    label: str
    own: bool
    public: Interval
    hidden: Interval | None
    as_good: bool
    ms_per_step: float | None

    @property
    def name(self) -> str:
        """With a star if it is of another library."""
        return f"`{self.label}`" + ("" if self.own else " *")

    def cells(self, rank: int) -> list[str]:
        """Its row of the table."""
        hidden = "" if self.hidden is None else shown(self.hidden, 3)
        time = "" if self.ms_per_step is None else f"{self.ms_per_step:.2f}"
        beside = "first" if rank == 1 else "yes" if self.as_good else ""
        return [self.name, str(rank), shown(self.public, 3), hidden, beside, time]


class Study:
    """What the page says of a board of an edition.

    Args:
        edition: The edition.
        board: One of its boards.
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
        return [self._row(row, means[str(row["agent"])] - first) for row in ranked]

    def _row(self, row: dict[str, Any], behind: Any) -> Row:
        """An agent, and how far it is behind the first in each run."""
        label = str(row["agent"])
        one, gap = self.accepted[label], paired_difference(behind, np.zeros_like(behind))
        return Row(
            label=label,
            own=is_built_in(one.manifest.agent),
            public=Interval(*(row[f"normalised{end}"] for end in ("", "_low", "_high"))),
            hidden=self._hidden(one),
            as_good=bool(gap.low <= 0.0 <= gap.high),
            ms_per_step=one.ms_per_step,
        )

    def _hidden(self, one: Accepted) -> Interval | None:
        """Normalised regret of a submission in its last trial on hidden seeds."""
        trials = [line.hidden for line in one.verdicts if line.hidden is not None]
        if one.tier != "hidden-seed":
            return None
        found = iqm(1.0 - self._shares(trials[-1]))
        return Interval(1.0 - found.estimate, 1.0 - found.high, 1.0 - found.low)

    def _shares(self, trial: HiddenRuns) -> Any:
        """Seeds by worlds, regret as a share of what choosing at random loses there."""
        uniform = uniform_regrets(self.protocol.restricted(seeds=trial.seeds))
        regrets = np.array([trial.regrets[env] for env in trial.regrets], dtype=np.float64)
        random = [[uniform[env, seed] for seed in trial.seeds] for env in trial.regrets]
        return (regrets / np.array(random)).T

    def best(self) -> Iterator[list[str]]:
        """Of every world the three agents with the least regret."""
        frame = self.board.results.table(track=self.board.track)
        names = {row.label: row.name for row in self.rows}
        for task, of_task in frame.groupby("task", sort=False):
            mine = of_task[of_task["agent"].isin(names)].nsmallest(3, "normalised")
            cells = [f"{names[r.agent]} {r.normalised:.2f}" for r in mine.itertuples()]
            yield [str(task).removeprefix(WORLD), *cells, *[""] * (3 - len(cells))]

    def hidden_words(self) -> str:
        """Whether agents do on hidden seeds what they do on public ones."""
        tried = [row for row in self.rows if row.hidden is not None]
        if len(tried) < 2:
            return "Fewer than two agents were tried on hidden seeds."
        gaps = [row.hidden.estimate - row.public.estimate for row in tried if row.hidden]
        first = min(tried, key=lambda row: row.hidden.estimate if row.hidden else np.inf)
        is_first = first is self.rows[0]
        same = "the first on the public seeds, too" if is_first else "not the first on public ones"
        caught = sum(one.tier == "refused" for one in self.edition.accepted())
        return HIDDEN.format(
            refused=f"it has refused {caught}" if caught else "it has refused nobody",
            tried=len(tried),
            mean=np.mean(gaps),
            low=min(gaps),
            high=max(gaps),
            first=first.name,
            regret=first.hidden.estimate if first.hidden else np.nan,
            same=same,
        )

    def text(self) -> str:
        """The page."""
        rows, closed = self.rows, self.edition.closed
        heads = ["agent", "rank", "public seeds [95 %]", "hidden seeds [95 %]"]
        heads += ["as good as the first", "ms a step"]
        own = sum(row.own for row in rows)
        return TEXT.format(
            name=self.edition.name,
            head=self.edition.log.head,
            command=COMMAND,
            agents=len(rows),
            worlds=len(self.protocol.envs),
            seeds=len(self.protocol.seeds),
            steps=self.protocol.horizon,
            own=own,
            others=len(rows) - own,
            hidden=COUNT,
            state=OPEN if closed is None else CLOSED,
            ranking=markdown_table(heads, [row.cells(i) for i, row in enumerate(rows, 1)]),
            best=markdown_table(["world", "least", "second", "third"], [*self.best()], texts=4),
            hidden_words=self.hidden_words(),
        )


def main(arguments: list[str] | None = None) -> None:
    """Write the page of an edition, or print it."""
    parser = ArgumentParser(description="A page of an edition of the leaderboard.")
    parser.add_argument("--docs", type=Path, help="Folder to write edition.md into.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="Folder of the leaderboard.")
    parser.add_argument("--edition", help="Name of the edition; the last one if left out.")
    options = parser.parse_args(arguments)
    try:
        edition = find_edition(options.folder, options.edition)
        found = [board for board in boards(edition) if board.id == BOARD]
    except (EditionError, LogError) as error:
        raise SystemExit(f"{error}") from error
    if not found:
        raise SystemExit(f"edition {edition.name} has no verified agent that learns online yet")
    study = Study(edition, found[0])
    print(study.text())
    if options.docs is not None:
        stamp = make_stamp(
            COMMAND,
            study=STUDY,
            agents=[one.manifest.agent for one in study.accepted.values() if _is_ours(one)],
            worlds=[entry.spec.env_id for entry in study.protocol.envs],
        )
        numbers = {row.label: asdict(row) for row in study.rows}
        write_page(options.docs, "edition", study.text(), numbers, [stamp])


def _is_ours(one: Accepted) -> bool:
    """Whether its code is here, so that a change of it makes the page stale."""
    return is_built_in(one.manifest.agent)


if __name__ == "__main__":
    main()
