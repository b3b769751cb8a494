"""Statistics of runs: pure functions, arrays in, numbers out.

Axes: regret is (runs, steps), totals are (runs,), scores are (runs, tasks), always in this order;
a run is one seed, a task one environment. Scores are better when higher: use ``score_of_regret``,
where 1 is the oracle and 0 choosing at random.

All intervals resample whole runs, with an optional seed.
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
