"""The parts of ``auto-gp-ucb``: what it takes for granted about rewards, arms and time: little."""

__all__: list[str] = []
