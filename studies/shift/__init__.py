"""What a season that moves costs each family of agents, and what being told of it is worth.

    python -m studies.shift [--docs docs] [--seeds 0:20] [--quick] [--workers 2]

It runs the protocol ``shift`` (``periodic-gp run shift`` prints its tables). Ratios are of mean
regrets on common seeds, with 95 % intervals (``paired_ratio``). Recovery is held against the regret
before the first change, and against the same figures, at the same times, of the world that stands
still (``ChangeCosts``). With ``--docs`` the page DOCS/shift.md is written, which is only printed
else. It takes a few minutes on one core, and with ``--quick``, which tries four seeds, less than
one of them.
"""
