"""Agents whose mean reward is linear in features."""
