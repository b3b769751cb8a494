"""Every cheat that we know of, as an agent, a bundle or a log, and what becomes of it.

``python -m tests.attacks`` writes the table of ``docs/attacks.md`` from these tests.
"""
