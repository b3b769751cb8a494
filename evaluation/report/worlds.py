"""What a page shows of the worlds: a sentence and a picture of each."""

from __future__ import annotations

import base64
import io
from typing import Any

from evaluation.protocol.world_spec import WorldSpec
from evaluation.results import Results
from periodic_envs.rendering import world_figure


class Pictures:
    """Worlds as sentences and pictures, each made once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str | None]] = {}

    def about(self, results: Results, task: str) -> str:
        """The first sentence of the world's documentation."""
        return self._look(results, task)[0]

    def of(self, results: Results, task: str) -> str | None:
        """Its landscape on the first seed as a data address; None where it cannot be drawn."""
        return self._look(results, task)[1]

    def _look(self, results: Results, task: str) -> tuple[str, str | None]:
        entries = results.sweep.protocol["envs"]
        entry = next(entry for entry in entries if entry["group"] == task)
        name = str((entry["id"], sorted(entry["arguments"].items())))
        if name not in self._known:
            self._known[name] = _drawn(entry, int(results.sweep.protocol["seeds"][0]))
        return self._known[name]


def _drawn(entry: dict[str, Any], seed: int) -> tuple[str, str | None]:
    try:
        env = WorldSpec(entry["id"], entry["arguments"]).make()
        about = (type(env.setup.world).__doc__ or "").strip().partition("\n")[0]
        env.reset(seed=seed)
        assert env.episode is not None
        figure = world_figure(f"{entry['label']}, seed {seed}", env.setup, env.episode)
        file = io.BytesIO()
        figure.savefig(file, dpi=72)
    except Exception:  # a picture is no reason to have no page: the world may be elsewhere
        return "", None
    return about, "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
