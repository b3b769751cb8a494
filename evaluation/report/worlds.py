"""What a page shows of the worlds: a sentence and a picture of each."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

from evaluation.protocol.entries import canonical_json
from evaluation.protocol.protocol import Protocol
from evaluation.protocol.world_spec import WorldSpec
from evaluation.results import Results
from periodic_envs.rendering import world_figure


class Pictures:
    """Worlds as sentences and pictures, each made once."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, str | None]] = {}

    def of(self, results: Results, task: str) -> tuple[str, str | None]:
        """The first sentence of the world's documentation, and a picture of its landscape.

        The picture shows the world of the first seed as agents are judged in it, as a data address;
        it is None where the world cannot be drawn.
        """
        stored = results.sweep.protocol
        entry = next(entry for entry in stored["envs"] if entry["group"] == task)
        seed = int(stored["seeds"][0])
        name = canonical_json([entry, stored["horizon"], seed])
        if name not in self._made:
            self._made[name] = _drawn(stored, entry, seed)
        return self._made[name]


def judged_world(stored: Mapping[str, Any], entry: Mapping[str, Any]) -> WorldSpec:
    """The world of a stored protocol's entry with the arguments with which agents are judged."""
    protocol = Protocol.from_dict({**stored, "envs": [entry], "agents": ["random"]})
    (env,) = protocol.envs
    return WorldSpec(env.spec.env_id, protocol.arguments(env))


def _drawn(
    stored: Mapping[str, Any], entry: Mapping[str, Any], seed: int
) -> tuple[str, str | None]:
    try:
        env = judged_world(stored, entry).make()
        about = (type(env.setup.world).__doc__ or "").strip().partition("\n")[0]
        env.reset(seed=seed)
        assert env.episode is not None
        figure = world_figure(f"{entry['label']}, seed {seed}", env.setup, env.episode)
        file = io.BytesIO()
        figure.savefig(file, dpi=72)
    except Exception:  # a picture is no reason to have no page: the world may be elsewhere
        return "", None
    return about, "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
