"""What is to be run: protocols, and the worlds and agents that they name."""

__all__: list[str] = []
