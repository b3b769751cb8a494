"""Agents on one's own data: windows of a table, judged in units of the reward."""
