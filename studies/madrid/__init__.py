"""What was learned from Madrid's measurements: a prior, a simulator, and how close that is."""

__all__: list[str] = []
