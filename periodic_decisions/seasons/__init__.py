"""Seasons of a table, their gain, and schedules that follow them."""
