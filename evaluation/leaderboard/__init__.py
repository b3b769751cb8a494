"""Submissions, their verification, and editions of the leaderboard."""

from evaluation.leaderboard.bundle import LeaderboardError, Manifest

__all__ = ["LeaderboardError", "Manifest"]
