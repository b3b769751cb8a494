"""Some of the agents and tasks of a sweep, for a picture that shows no others."""

from __future__ import annotations

from collections.abc import Collection

from evaluation.names import as_list, check_known
from evaluation.results import Results


class Selection(Results):
    """The runs of some agents in some tasks.

    Args:
        results: All runs.
        agents: Labels of the agents that are kept; None for all.
        tasks: Names of the tasks that are kept; None for all.

    Raises:
        ValueError: One sentence, if there is no such agent or task.
    """

    def __init__(
        self,
        results: Results,
        *,
        agents: Collection[str] | None = None,
        tasks: Collection[str] | None = None,
    ) -> None:
        super().__init__(results.source)
        every = [agent for track in results.tracks for agent in results.agents(track)]
        self._chosen = _known("agents", "agent", agents, every)
        kept = _known("envs", "environment", tasks, results.tasks)
        self.tasks = {name: envs for name, envs in results.tasks.items() if name in kept}

    def agents(self, track: str = "online") -> list[str]:
        """Labels of the chosen agents of a track, in the protocol's order."""
        return [agent for agent in super().agents(track) if agent in self._chosen]

    @property
    def tracks(self) -> list[str]:
        """Tracks that have chosen agents."""
        return [track for track in super().tracks if self.agents(track)]


def _known(
    argument: str, what: str, chosen: Collection[str] | None, every: Collection[str]
) -> Collection[str]:
    """What was chosen, if there is all of it."""
    if chosen is None:
        return every
    names = as_list(argument, chosen)
    if not names:
        raise ValueError(f"{argument} must not be empty: leave it out to have all")
    for name in names:
        check_known(what, name, every)
    return names
