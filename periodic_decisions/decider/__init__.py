"""Decisions in production: any agent, in names, times and units of the reward, from one file."""
