"""How much every agent depends on its settings.

    python -m studies.sensitivity [--docs docs] [--seeds 2000:2010] [--quick]

Every number among an agent's settings is a third of its default and three times as large, one at a
time, in five worlds; where a rule chooses it, of what the rule gives in the world at hand. The
seeds are others than those of all rankings, so that settings may be chosen by this page without
spoiling them. Verdicts are corrected for how many values are tried. With ``--docs`` the page
DOCS/sensitivity.md is written, which is only printed else. Interrupted, the same command goes on
where it was.
"""
