"""Backtests of agents on windows of a user's table, with results in the units of the table."""
