"""Anybody's own table: CSV, Parquet or DataFrame, long or wide, on a regular grid."""
