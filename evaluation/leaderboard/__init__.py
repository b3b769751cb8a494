"""Submissions, their verification, and editions of the leaderboard."""
