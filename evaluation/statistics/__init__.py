"""Statistics of runs, as pure functions of arrays.

The order of axes is always the same: regrets have shape (runs, steps), totals have shape (runs,),
and scores have shape (runs, tasks). A run is one agent on one seed, and a task is one world or a
group of worlds. Higher scores are better: use ``score_of_regret``, which is 1 for the oracle and 0
for choosing at random.

Intervals are computed by resampling whole runs. For fewer than five runs, intervals of means are
computed from Student's t distribution. The seed of the resampling is an optional argument.
"""

from evaluation.statistics.changes import ChangeCosts, change_costs
from evaluation.statistics.intervals import (
    MIN_RUNS,
    Band,
    Interval,
    curve_band,
    if_enough,
    mean_interval,
)
from evaluation.statistics.paired import (
    PairedDifference,
    PairedMatrix,
    holm,
    paired_difference,
    paired_matrix,
    paired_ratio,
    sign_flip_test,
)
from evaluation.statistics.scores import (
    iqm,
    mean_ranks,
    middle_half,
    normalised_regret,
    performance_profile,
    probability_of_improvement,
    ranks_of,
    score_of_regret,
)

__all__ = [
    "MIN_RUNS",
    "Band",
    "ChangeCosts",
    "Interval",
    "PairedDifference",
    "PairedMatrix",
    "change_costs",
    "curve_band",
    "holm",
    "if_enough",
    "iqm",
    "mean_interval",
    "mean_ranks",
    "middle_half",
    "normalised_regret",
    "paired_difference",
    "paired_matrix",
    "paired_ratio",
    "performance_profile",
    "probability_of_improvement",
    "ranks_of",
    "score_of_regret",
    "sign_flip_test",
]
