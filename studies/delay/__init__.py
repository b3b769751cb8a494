"""What rewards that come late, or never, cost each family of agents.

    python -m studies.delay [--docs docs] [--seeds 0:20] [--quick] [--workers 2]

Every figure is a ratio of mean regrets with and without delay on common seeds, with a 95 % interval
(``paired_ratio``). With ``--docs`` the page DOCS/delay.md is written, which is only printed else.
It takes a few minutes, and with ``--quick``, which tries four seeds, less than one of them.
"""
