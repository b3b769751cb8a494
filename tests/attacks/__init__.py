"""Attacks on the judge: agents in the sandbox, and forged bundles.

``docs/attacks.md`` lists all known attacks. Forged manifests, steps and logs are tested in
``tests/test_evaluation`` (``test_leaderboard.py``, ``test_editions.py``), the walls of the sandbox
in ``test_sandbox.py`` there.
"""
