"""Damaged and hostile files: a reader returns data or reports the damage in one sentence."""
