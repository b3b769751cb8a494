"""The agents, one per file."""
