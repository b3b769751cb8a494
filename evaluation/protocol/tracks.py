"""Names that protocols, runs and results share."""

TRACKS = ("online", "pretrained")
"""Tracks of agents: rankings never mix them."""
REFERENCE_ROWS = ("oracle", "best-per-phase", "best-fixed", "uniform-random")
"""Rows of every table that are computed, not run."""
REFERENCES = "references"
"""Agent and track of the run that computes them."""
CHANGES = "changes"
"""Column of that run, in worlds that change: the time of the first step after each change."""
TRAINING = "training"
"""Track of the runs that train agents of the track "pretrained"."""
TRAINING_SEED = 2**31
"""Seeds from here on are for training: nobody is judged in those worlds."""
