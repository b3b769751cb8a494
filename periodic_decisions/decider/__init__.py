"""Decisions in production by any agent, with named arms, calendar times and a single file."""
