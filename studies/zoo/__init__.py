"""All agents in all worlds, and what the paper says about them: ``periodic-gp zoo``."""
