"""Gaussian-process mathematics: kernels, posteriors, action choice, fitting."""
