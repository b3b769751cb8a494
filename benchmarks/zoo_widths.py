"""How widely should agents explore whose widths were proved for the worst case?

    python benchmarks/zoo_widths.py [--workers 1] [--seeds 1000:1010]

A search for the controls of docs/zoo.md. Each agent has its width times 1, 1/2, 1/4, ..., 1/256
in all worlds of the protocol ``standard``, on seeds that no page is made from. The factor with the
least regret, as a mean share of that of choosing at random over all worlds, is the one that
``evaluation/studies/zoo/controls.py`` has. Interrupted, the same command goes on where it was.
"""

import argparse
from collections.abc import Callable

import evaluation
from evaluation.studies.zoo.bench import Bench

FACTORS = tuple(2.0**-power for power in range(9))
WIDTHS: dict[str, Callable[[float], str]] = {
    "ucb1": lambda factor: f"ucb1:xi={2.0 * factor**2:.4g}",  # the width grows with sqrt(xi)
    "d-ucb": lambda factor: f"d-ucb:xi={0.6 * factor**2:.4g}",
    "fourier-linucb": lambda factor: f"fourier-linucb:width={factor:.4g}",
}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--seeds", default="1000:1010")
    parser.add_argument("--store", default="zoo_widths.sqlite")
    options = parser.parse_args()
    agents = [write(factor) for write in WIDTHS.values() for factor in FACTORS]
    results = evaluation.run(
        "standard",
        agents=agents,
        seeds=options.seeds,
        store=options.store,
        workers=options.workers,
    )
    bench = Bench.of(results)
    means = bench.pooled(list(bench.shares)).regret.mean()
    for write in WIDTHS.values():
        tried = [write(factor) for factor in FACTORS]
        best = min(tried, key=lambda agent: float(means[agent]))
        for agent in tried:
            print(f"{means[agent]:.3f}  {agent}{'  <- chosen' if agent == best else ''}")


if __name__ == "__main__":
    main()
