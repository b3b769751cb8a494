"""Kill 500 times (or as often as the first argument says), two scenarios at a time."""

import sys
from concurrent.futures import ThreadPoolExecutor

from tests.kills.killing import kill_often
from tests.kills.scenarios import SCENARIOS

ROUNDS = 5
"""Seeds for each scenario."""


def main() -> None:
    """Print how often each command was killed, and stop at the first loss."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    share = -(-kills // (len(SCENARIOS) * ROUNDS))
    work = [(scenario, seed) for seed in range(ROUNDS) for scenario in SCENARIOS]
    with ThreadPoolExecutor(2) as pool:
        counts = []
        for count in pool.map(lambda one: kill_often(one[0], share, one[1]), work):
            counts.append(count)
            print(f"{sum(counts)} kills", file=sys.stderr, flush=True)
    for scenario in SCENARIOS:
        total = sum(count for (s, _), count in zip(work, counts, strict=True) if s is scenario)
        print(f"{scenario.words[0]} {scenario.words[1]}: killed {total} times, nothing lost")


if __name__ == "__main__":
    main()
