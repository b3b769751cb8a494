"""Seasons of a table, their worth, and the schedule that they give."""
