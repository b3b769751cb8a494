"""Backtests of agents on windows of a user's table, in units of the reward."""
