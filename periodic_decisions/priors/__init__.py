"""Priors for ``auto-gp-ucb:prior=FILE``, learned from measurements: ``periodic-gp learn-prior``."""

__all__: list[str] = []
