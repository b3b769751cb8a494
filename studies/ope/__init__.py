"""Off-policy evaluation where the truth is known: bias, error and coverage on simulated logs.

    python -m studies.ope [--logs 200] [--quick] [--docs docs] [--workers 2]

Worlds of this suite are drawn, policies log decisions in them, and other policies are judged by
these logs alone. With ``--docs`` the page is written, DOCS/logs.md, with its numbers in logs.json.
"""
