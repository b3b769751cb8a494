"""How far a small transformer gets that has learned to explore from draws of a prior.

    python -m evaluation.studies.in_context [--docs docs] [--store in_context.sqlite] [--workers 2]

Runs the protocol ``in-context``, rivals with widths that were chosen on other seeds, and in other
seeds of its first three worlds the widths that the agent's own was chosen from; what is in the
store is not run again. With ``--docs`` the page DOCS/in-context.md is written, which is only
printed else.
"""
