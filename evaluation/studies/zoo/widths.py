"""How widely should agents explore whose widths were proved for the worst case?

    python -m evaluation.studies.zoo.widths [--seeds 1000:1010] [--workers 1]

A search for the controls of docs/zoo.md. Each agent has its width times 1, 1/2, 1/4, ..., 1/256
in all worlds of the protocol ``standard``, on seeds that no page is made from. The factor with the
least regret, as a mean share of that of choosing at random over all worlds, is the one that
``evaluation/studies/zoo/controls.py`` has. Interrupted, the same command goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable

from evaluation.protocol.entries import parse_seeds
from evaluation.protocol.protocol import Protocol
from evaluation.studies.lab import study_lab, study_parser
from evaluation.studies.zoo.bench import Bench

FACTORS = tuple(2.0**-power for power in range(9))
WIDTHS: dict[str, Callable[[float], str]] = {
    "ucb1": lambda factor: f"ucb1:xi={2.0 * factor**2:.4g}",  # the width grows with sqrt(xi)
    "d-ucb": lambda factor: f"d-ucb:xi={0.6 * factor**2:.4g}",
    "fourier-linucb": lambda factor: f"fourier-linucb:width={factor:.4g}",
}


def main() -> None:
    """Run and print."""
    options = study_parser(__doc__ or "", store="zoo_widths.sqlite", seeds="1000:1010").parse_args()
    tried = [[write(factor) for factor in FACTORS] for write in WIDTHS.values()]
    agents = [agent for group in tried for agent in group]
    protocol = Protocol.load("standard").restricted(agents=agents, seeds=parse_seeds(options.seeds))
    with study_lab("zoo", options) as lab:
        bench = Bench.of(lab.sweep(protocol))
    means = bench.pooled(list(bench.shares)).regret.mean()
    for group in tried:
        best = min(group, key=lambda agent: float(means[agent]))
        for agent in group:
            print(f"{means[agent]:.3f}  {agent}{'  <- chosen' if agent == best else ''}")


if __name__ == "__main__":
    main()
