"""Submissions, how they are verified, and the leaderboard that they make."""

from evaluation.leaderboard.bundle import BundleError, Manifest

__all__ = ["BundleError", "Manifest"]
