"""Readers of users' tables: CSV, Parquet or DataFrame, long or wide, with regular times."""

from periodic_decisions.tables.series import Series, read_series

__all__ = ["Series", "read_series"]
