"""Parts of the agent ``auto-gp-ucb``, which makes few assumptions about rewards, arms and time."""

__all__: list[str] = []
