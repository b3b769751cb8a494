"""Agents whose belief is a Gaussian process."""
