"""The settings of auto-gp-ucb that say what may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.auto.transform import TRANSFORMS


@dataclass(frozen=True)
class Options:
    """What may be switched off or settled; the settings of ``AutoGPUCB`` of the same names."""

    transform: str = "auto"
    season: bool = True
    persistence: bool = True
    shared: bool = True
    reward_level: bool = True
    expert: bool = True
    refit: bool = True

    @property
    def parts(self) -> dict[str, Any]:
        """The parts of a structure that may be there."""
        return {k: getattr(self, k) for k in ("season", "persistence", "shared")}

    def __post_init__(self) -> None:
        if self.transform not in ("auto", *TRANSFORMS):
            allowed = ", ".join(("auto", *TRANSFORMS))
            raise ValueError(f"transform must be one of {allowed}, got {self.transform!r}")
        for name in ("season", "persistence", "shared", "reward_level", "expert", "refit"):
            if getattr(self, name) not in (True, False):
                raise ValueError(f"{name} is true or false, got {getattr(self, name)!r}")
