"""Anybody's own table: CSV, Parquet or DataFrame, long or wide, on a regular grid."""

from periodic_envs.data.tables.series import Series, read_series

__all__ = ["Series", "read_series"]
