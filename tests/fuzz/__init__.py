"""Damaged and hostile files: nothing but data or a clear sentence comes of them.

``make fuzz`` reads a hundred thousand, the test suite a thousand. ``python -m tests.fuzz COUNT``
says of every failure which case it was; ``python -m tests.fuzz --case TARGET SEED`` runs it again.
"""
