"""Readers of users' tables: CSV, Parquet or DataFrame, long or wide, on a regular grid."""

from periodic_decisions.tables.series import Series, read_series

__all__ = ["Series", "read_series"]
