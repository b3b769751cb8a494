"""Seasons of a table, the gain from knowing them, and schedules that follow them."""
