"""Agents that keep statistics of every arm."""
