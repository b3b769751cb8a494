"""What repeats in a table, and what knowing it is worth."""

__all__: list[str] = []
