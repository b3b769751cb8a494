"""Agents that take part in some tasks only: rankings over these, and remarks below tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from agents.registry import is_built_in
from evaluation.entries import taken_by
from evaluation.results import Results
from evaluation.store import StoredRun
from evaluation.tables import ResultsTable, overall_table

MAX_FAILURES = 10
"""Failures that are listed, those of one kind as one."""


def tasks_of(results: Results, track: str) -> dict[str, tuple[str, ...]]:
    """Return the tasks that each agent of a track takes part in."""
    return {
        entry["label"]: tuple(
            task
            for task, worlds in results.tasks.items()
            if not entry["envs"] or {*entry["envs"]} & {*worlds}
        )
        for entry in results.entries
        if entry["track"] == track
    }


def part_of(results: Results, tasks: Collection[str]) -> Results:
    """Return the results in some tasks of the agents that take part in all of these."""
    agents = [
        agent
        for track in results.tracks
        for agent, own in tasks_of(results, track).items()
        if {*tasks} <= {*own}
    ]
    return Results(results.source, agents=agents, tasks=tasks)


def parts(results: Results, track: str) -> Iterator[tuple[str, Results]]:
    """Yield the tasks that some agents are limited to: a title, and the results in them."""
    agents, every = tasks_of(results, track), tuple(results.tasks)
    for tasks in dict.fromkeys(agents.values()):
        if tasks and tasks != every:
            own = [agent for agent, mine in agents.items() if mine == tasks]
            named = ", ".join(own[:3]) + (f" and {len(own) - 3} more" if len(own) > 3 else "")
            title = f"{len(tasks)} of {len(every)} tasks, in which {named} can take part"
            yield title, part_of(results, tasks)


def rankings(
    results: Results, *, baseline: str | None = None, track: str = "online"
) -> Iterator[ResultsTable]:
    """Yield the table over all tasks, then one for each part that some agents are limited to.

    Nothing is ranked with fewer than two tasks or without finished runs.
    """
    for title, part in [("", results), *parts(results, track)]:
        table = overall_table(part, baseline=baseline, track=track)
        if len(results.tasks) > 1 and not table.empty:
            if title:
                table.attrs["title"] = f"{title} ({track})"
            yield table


def remarks(
    results: Results, *, more: str = "see .failures", again: str = "retry_failed=True"
) -> Iterator[str]:
    """Yield remarks that tables lack: excluded agents, unfinished runs and failures.

    Args:
        results: The runs of a sweep.
        more: Where to find failures beyond the first ten.
        again: How to run failed runs again.
    """
    yield from excluded(results)
    unfinished = results.size - len(results.runs) - len(results.trainings)
    if unfinished:
        yield f"{unfinished:,} of {results.size:,} runs are not finished yet."
    alike: dict[tuple[str, str | None], list[StoredRun]] = {}
    for failed in results.failures:
        alike.setdefault((failed.agent, failed.reason), []).append(failed)
    for (agent, reason), runs in list(alike.items())[:MAX_FAILURES]:
        where = f"{runs[0].env}, seed {runs[0].seed}"
        often = "" if len(runs) == 1 else f"{len(runs):,} runs, the first of them in "
        yield f"Failed: {agent} in {often}{where}: {reason}"
    others = sum(map(len, list(alike.values())[MAX_FAILURES:]))
    if others:
        yield f"... and {others:,} more failures ({more})"
    if alike:
        yield f"They are run again when their code has changed, or if asked for ({again})."


def excluded(results: Results) -> Iterator[str]:
    """Yield a sentence for each agent that is not run or ranked in all tasks."""
    kinds = excluded_kinds(results)
    for track in results.tracks:
        ranked = results.scores(track).agents
        for agent, tasks in tasks_of(results, track).items():
            out = [task for task in results.tasks if task not in tasks]
            missing = [task for task in tasks if agent not in results.regrets(task, track)]
            if out:
                apart = "; it is ranked apart" if tasks and len(results.tasks) > 1 else ""
                why = f" ({kinds[agent]})" if agent in kinds else ""
                yield f"Left out: {agent}{why} in {', '.join(out)}{apart}."
            elif ranked and agent not in ranked and len(results.tasks) > 1 and missing:
                where = ", ".join(missing)
                yield f"Not ranked over all tasks: {agent} has not finished any run in {where}."


def excluded_kinds(results: Results) -> dict[str, str]:
    """Return "arms only" or "boxes only" for agents that some tasks leave out for that reason.

    Only this package's own agents are looked up: results may come from anywhere, and must not
    choose the code that is read.
    """
    found = {}
    for entry in results.entries:
        tasks = tasks_of(results, entry["track"])[entry["label"]]
        if len(tasks) < len(results.tasks) and is_built_in(entry["name"]):
            takes = taken_by(entry["name"])
            if takes is not None:
                found[entry["label"]] = f"{'boxes' if takes == 'box' else takes} only"
    return found
