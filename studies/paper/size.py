"""How much is run: everything, or a minute's worth of it."""

from __future__ import annotations

from dataclasses import dataclass

from studies.lab import Lab, StudySize


@dataclass(frozen=True)
class PaperSize(StudySize):
    """How much of the paper's studies is run.

    Attributes:
        seeds: Worlds of the main comparisons.
        side_seeds: Worlds of other readings, of wrong periods and of agents of ours.
        months: Months of 2018 whose windows are replayed.
        samplings: Samples of earlier data that settings for the paper's window are fitted to.
        settings: Random settings tried on the paper's window.
        trials: Random settings tried on every other window.
        guesses: Wrong periods that are given as a guess.
        bound_runs: Runs held against Theorem 1's bound.
        long_seeds: Worlds of the long runs that growth is read from.
        long_steps: Their length.
        designs: Random designs for Lemma 1, and a tenth of it for Theorem 2.
        gain_seasons: Seasons over which information gain is followed.
    """

    seeds: int
    side_seeds: int
    months: tuple[int, ...]
    samplings: int
    settings: int
    trials: int
    guesses: tuple[int, ...]
    bound_runs: int
    long_seeds: int
    long_steps: int
    designs: int
    gain_seasons: int


FULL = PaperSize(
    name="full",
    seeds=100,
    side_seeds=100,
    months=tuple(range(1, 13)),
    samplings=5,
    settings=120,
    trials=40,
    guesses=(6, 12, 20, 22, 26, 28),
    bound_runs=200,
    long_seeds=20,
    long_steps=2000,
    designs=1000,
    gain_seasons=512,
)
QUICK = PaperSize(
    name="quick",
    seeds=6,
    side_seeds=3,
    months=(3, 4),
    samplings=1,
    settings=12,
    trials=6,
    guesses=(22,),
    bound_runs=10,
    long_seeds=3,
    long_steps=300,
    designs=100,
    gain_seasons=64,
)

PaperLab = Lab[PaperSize]
"""Where the studies of the paper are run."""
