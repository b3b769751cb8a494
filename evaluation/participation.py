"""Who takes part in which tasks: rankings over a part of them, and what tables leave unsaid."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import pandas as pd

from evaluation.results import Results
from evaluation.specs import ProtocolError
from evaluation.store import StoredRun
from evaluation.summary import ResultsTable, overall

MAX_SHOWN_FAILURES = 10


def tasks_of(results: Results, track: str) -> dict[str, tuple[str, ...]]:
    """For each agent of a track the tasks that it takes part in."""
    found = {}
    for entry in results.sweep.protocol["agents"]:
        if entry["track"] == track:
            envs = set(entry["envs"])
            part = [task for task, worlds in results.tasks.items() if not envs or envs & {*worlds}]
            found[entry["label"]] = tuple(part)
    return found


class Part(Results):
    """The runs of some tasks, of the agents that take part in all of these.

    Args:
        results: The runs of all tasks.
        tasks: Names of those that count.
    """

    def __init__(self, results: Results, tasks: tuple[str, ...]) -> None:
        super().__init__(results.source)
        self._whole = results
        self.tasks = {task: results.tasks[task] for task in tasks}

    def agents(self, track: str = "online") -> list[str]:
        """Labels of the agents of a track that take part in all of its tasks."""
        part = tasks_of(self._whole, track)
        return [agent for agent in super().agents(track) if set(self.tasks) <= set(part[agent])]

    @cached_property
    def totals(self) -> pd.DataFrame:
        """One row per run of its tasks."""
        frame = super().totals
        return frame[frame["task"].isin(list(self.tasks))]


def parts(results: Results, track: str) -> Iterator[Part]:
    """For agents that do not take part in all tasks, the tasks that they take part in."""
    whole = tuple(results.tasks)
    for tasks in dict.fromkeys(tasks_of(results, track).values()):
        if tasks and tasks != whole:
            yield Part(results, tasks)


def part_title(part: Part, track: str) -> str:
    """Which tasks these are."""
    here = tuple(part.tasks)
    own = [agent for agent, tasks in tasks_of(part._whole, track).items() if tasks == here]
    named = ", ".join(own[:3]) + (f" and {len(own) - 3} more" if len(own) > 3 else "")
    return f"{len(here)} of {len(part._whole.tasks)} tasks, in which {named} can take part"


def rankings(
    results: Results, *, baseline: str | None = None, track: str = "online"
) -> Iterator[ResultsTable]:
    """The table over all tasks, then one for every part of them that some agents are limited to.

    Where there are fewer than two tasks, or nobody has finished, there is nothing to rank.
    """
    for part in (results, *parts(results, track)):
        found = overall(part, baseline=baseline, track=track)
        if len(results.tasks) < 2 or found.empty:
            continue
        if isinstance(part, Part):
            found.attrs["title"] = f"{part_title(part, track)} ({track})"
        yield found


def remarks(
    results: Results, *, more: str = "see .failures", again: str = "retry_failed=True"
) -> Iterator[str]:
    """What the tables do not say: who is left out where, what is unfinished, what has failed.

    Args:
        results: The runs of a sweep.
        more: Where to find failures beyond the first ten.
        again: How failed runs are run again.
    """
    yield from left_out(results)
    unfinished = results.size - len(results.runs) - len(results.trainings)
    if unfinished:
        yield f"{unfinished:,} of {results.size:,} runs are not finished yet."
    alike: dict[tuple[str, str | None], list[StoredRun]] = {}
    for failed in results.failures:
        alike.setdefault((failed.agent, failed.reason), []).append(failed)
    for (agent, reason), runs in list(alike.items())[:MAX_SHOWN_FAILURES]:
        where = f"{runs[0].env}, seed {runs[0].seed}"
        often = "" if len(runs) == 1 else f"{len(runs):,} runs, the first of them in "
        yield f"Failed: {agent} in {often}{where}: {reason}"
    others = sum(map(len, list(alike.values())[MAX_SHOWN_FAILURES:]))
    if others:
        yield f"... and {others:,} more failures ({more})"
    if alike:
        yield f"They are run again when their code has changed, or if asked for ({again})."


def left_out(results: Results) -> Iterator[str]:
    """Who is not run or ranked in all tasks, and why."""
    for track in results.tracks:
        yield from _left_out(results, track)


def _left_out(results: Results, track: str) -> Iterator[str]:
    ranked = set(results.scores(track).agents)
    for agent, tasks in tasks_of(results, track).items():
        out = [task for task in results.tasks if task not in tasks]
        if out:
            apart = "; it is ranked apart" if tasks and len(results.tasks) > 1 else ""
            why = f" ({only})" if (only := _taken_only(results, agent)) else ""
            yield f"Left out: {agent}{why} in {', '.join(out)}{apart}."
        elif ranked and agent not in ranked and len(results.tasks) > 1:
            missing = [t for t in tasks if agent not in results.regrets(t, track)]
            if missing:
                where = ", ".join(missing)
                yield f"Not ranked over all tasks: {agent} has not finished any run in {where}."


def left_out_as(results: Results) -> dict[str, str]:
    """Of the agents that some tasks do without by their own word: "arms only" or "boxes only"."""
    found = {}
    for track in results.tracks:
        for agent, tasks in tasks_of(results, track).items():
            if len(tasks) < len(results.tasks) and (only := _taken_only(results, agent)):
                found[agent] = only
    return found


def _taken_only(results: Results, agent: str) -> str | None:
    """What an agent takes, as far as its code is still here and says so."""
    from evaluation.kinds import taken_by

    entry = next(e for e in results.sweep.protocol["agents"] if e["label"] == agent)
    try:
        takes = taken_by(entry["name"])
    except ProtocolError:
        return None
    return None if takes is None else f"{'boxes' if takes == 'box' else takes} only"
