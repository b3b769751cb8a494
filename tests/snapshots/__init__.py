"""Transcripts of commands: the wording of messages, help texts and tables.

Each file holds calls of one command, ``$ periodic-gp ...``, with their output. They run in order in
one empty folder. To update all files, or some of them:

    python -m tests.snapshots [NAME ...]

Tests of behaviour are elsewhere: they check values, fields and codes of errors.
"""
