"""The words of the page."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path

import numpy as np

from agents.registry import is_built_in
from evaluation.cli.editions import FOLDER, find_edition
from evaluation.leaderboard.content import EARLIER, boards
from evaluation.leaderboard.edition import EditionError
from evaluation.leaderboard.log import LogError
from studies.edition.study import Leaders, Row, Study
from studies.markdown import folded, markdown_table, shown
from studies.pages import write_page
from studies.stamp import make_stamp

COMMAND = "python -m studies.edition --docs docs"
STUDY = "studies.edition"
BOARD = "verified-online"
WORLD = "PeriodicGP-"
TEXT = """# Edition {name} of the leaderboard

{agents} agents that learn online in {worlds} worlds, {seeds} seeds each: {own} of periodic-gp and
{others} of other libraries (with a star), through the same door. This page is written by
`{command}` from the folder
[leaderboard/{name}](../leaderboard/{name}); nothing is run for it. The head of its log is
`{head}`.

**What was checked.** The judge has read the steps of every agent, computed their regret itself, and
run the agent again on a part of them. It then ran {tried} of the {agents} on {hidden} hidden seeds
of each world, which nobody knew, other ones for every agent. {sandbox}
The edition is {state}.
Whoever doubts a row without a star can run some of it again, on public and on hidden seeds:
`periodic-gp leaderboard check --rerun 3`. For a row with a star install its package;
`periodic-gp verify leaderboard/{name}/submissions/ID --through re-run --agent NAME`
runs some of its public seeds. The ids are at the end of this page. What each tier proves is on the
page about [trust](explanation/trust.md).

**What is measured.** Normalised regret: 0 is an oracle, 1 is choosing at random. The first figure
is its interquartile mean over all runs on the public seeds, with a 95 % interval. Agents are ranked
by it, for on these seeds all of them met the same worlds and the same noise. The second figure is
the same on hidden seeds. An agent cannot be told from the first where the paired 95 % interval of
the difference in *mean* normalised regret, on public seeds, is not above zero. That is not
corrected for looking at many pairs, and the first was picked on the same runs. It is so with
{close}.

{ranking}

Times are per step and include the way to the sandbox and back, as much as `random` takes. They are
of 12 runs drawn by lot, on a busy machine: a factor of ten says something, a third does not. What
the agents with a star are, and how they were set, is on the page about [other libraries](peers.md).

## The least regret in every world

Mean regret over that of choosing at random, public seeds; in the last column, how many other agents
cannot be told from the first there (paired 95 % interval of the difference, as above).

{best}

## What hidden seeds say

{hidden_words}

## What not to read into it

- {settings}
  Runs have {steps} steps. With other widths some rivals come much closer ([the zoo](zoo.md),
  "Controls").
- The worlds are ours and need no data. On measurements the order may be another one:
  [what we found](findings.md).
- `auto-gp-ucb` was developed on other seeds of some of these worlds.

Your agent could be in the next edition: [how to hand one in](howto/leaderboard.md).

{ids}
"""
OPEN = "still open: agents may follow, and the salt of the hidden seeds is secret"
CLOSED = (
    "closed: its log begins with the hash of the salt that hidden seeds are made from and ends\n"
    "with the salt itself, so everybody can see that they are of it"
)
NO_HIDDEN = "Fewer than two agents were tried on hidden seeds."
HIDDEN_WORDS = """Each of the {tried} agents had hidden seeds of its own. Its normalised regret
there differs from that on the public seeds by {mean:+.3f} on average, from {low:+.3f}
(`{lowest}`) to {high:+.3f} (`{highest}`). An agent that lived off the public seeds would have far
more regret on hidden ones, which the judge tests for (a little knowledge would not show); by that
it has refused {refused}. {first} has the least regret on hidden seeds, {regret:.3f}, and is
{same}."""


def text_of(study: Study) -> str:
    """The page."""
    rows, tried = study.rows, len(study.tried)
    own = sum(row.own for row in rows)
    return TEXT.format(
        name=study.edition.name,
        head=study.edition.log.head,
        command=COMMAND,
        agents=len(rows),
        worlds=len(study.protocol.envs),
        seeds=len(study.protocol.seeds),
        steps=study.protocol.horizon,
        own=own,
        others=len(rows) - own,
        tried="all" if tried == len(rows) else tried,
        hidden=study.hidden_seeds,
        sandbox=_sandbox(study.sandboxes),
        state=OPEN if study.edition.closed is None else CLOSED,
        close=", ".join(row.name for row in rows[1:] if row.close) or "nobody here",
        ranking=_ranking(rows),
        best=_best(study),
        hidden_words=_hidden_words(study),
        settings=_settings(study.with_settings),
        ids=_ids(study),
    )


def _ids(study: Study) -> str:
    rows = [[row.name, f"`{study.accepted[row.label].manifest.id}`"] for row in study.rows]
    return folded("Ids of the submissions", markdown_table(["agent", "id"], rows, texts=2))


def _ranking(rows: list[Row]) -> str:
    heads = ["agent", "rank", "public seeds [95 %]", "hidden seeds [95 %]", "ms a step"]
    return markdown_table(heads, [_cells(row, i) for i, row in enumerate(rows, 1)])


def _best(study: Study) -> str:
    heads = ["world", "least", "second", "third", "not told from the least"]
    names = {row.label: row.name for row in study.rows}
    return markdown_table(heads, [_leaders(of, names) for of in study.leaders()], texts=4)


def _cells(row: Row, rank: int) -> list[str]:
    hidden = "" if row.hidden is None else shown(row.hidden, 3)
    time = "" if row.ms_per_step is None else f"{row.ms_per_step:.2f}"
    return [row.name, str(rank), shown(row.public, 3), hidden, time]


def _leaders(found: Leaders, names: dict[str, str]) -> list[str]:
    cells = [f"{names[agent]} {regret:.2f}" for agent, regret in found.best]
    cells += [""] * (3 - len(cells))
    return [found.world.removeprefix(WORLD), *cells, str(found.close)]


def _sandbox(found: set[str]) -> str:
    """Where agents were run, as the log says."""
    if found and "" not in found:
        return f"It ran them in a sandbox ({', '.join(sorted(found))})."
    return "Not all of them were run in a sandbox."


def _settings(given: list[str]) -> str:
    if not given:
        return "All agents have their defaults."
    return f"All agents have their defaults but {', '.join(f'`{name}`' for name in given)}."


def _hidden_words(study: Study) -> str:
    """Whether agents do on hidden seeds what they do on public ones."""
    tried = {row: row.hidden.estimate for row in study.rows if row.hidden is not None}
    if len(tried) < 2:
        return NO_HIDDEN
    gaps = {row.label: hidden - row.public.estimate for row, hidden in tried.items()}
    lowest, highest = (pick(gaps, key=gaps.__getitem__) for pick in (min, max))
    first = min(tried, key=tried.__getitem__)
    alike = first is study.rows[0]
    return HIDDEN_WORDS.format(
        tried=len(tried),
        mean=np.mean(list(gaps.values())),
        low=gaps[lowest],
        lowest=lowest,
        high=gaps[highest],
        highest=highest,
        refused=study.caught or "nobody",
        first=first.name,
        regret=tried[first],
        same="the first on the public seeds, too" if alike else "not the first on public ones",
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
    if options.docs is not None and study.stale:
        # A stamp would say that the code of today made these figures.
        raise SystemExit(f"no page is written of entries {EARLIER}: {', '.join(study.stale)}")
    text = text_of(study)
    print(text)
    if options.docs is not None:
        agents = (one.manifest.agent for one in study.accepted.values())
        worlds = (entry.spec.env_id for entry in study.protocol.envs)
        stamp = make_stamp(COMMAND, study=STUDY, agents=filter(is_built_in, agents), worlds=worlds)
        numbers = {row.label: asdict(row) for row in study.rows}
        write_page(options.docs, "edition", text, numbers, [stamp])
