"""Attacks on the judge, carried out: agents in the sandbox, and bundles that lie.

``docs/attacks.md`` lists all known attacks. Forged manifests, steps and logs are tested in
``tests/test_evaluation`` (``test_leaderboard.py``, ``test_editions.py``), the walls of the sandbox
in ``test_sandbox.py`` there.
"""
