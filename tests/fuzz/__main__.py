"""Fuzz all readers with so many cases, on all cores; end with 1 if any failed."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path

from tests.fuzz.running import Outcome, fuzz
from tests.fuzz.targets import TARGETS, seed_of

CHUNKS = 40
"""Pieces that the cases of a target are handed out in."""


def piece(target: int, start: int, end: int) -> Outcome:
    """Some cases of a target, in a process."""
    return fuzz(TARGETS[target], range(start, end))


def main(cases: int) -> int:
    """Print what came of them, reader by reader; how many failed."""
    failures = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for place, target in enumerate(TARGETS):
            count = round(cases * target.share)
            edges = [count * i // CHUNKS for i in range(CHUNKS + 1)]
            pieces = [(place, a, b) for a, b in pairwise(edges) if a < b]
            total = Outcome(type(target).__name__)
            for found in pool.map(piece, *zip(*pieces, strict=True)):
                total.read += found.read
                total.refused += found.refused
                total.failures += found.failures
                total.first = {**found.first, **total.first}
            failures += _say(total)
    return failures


def _say(total: Outcome) -> int:
    """Print what came of a reader's cases; how many failed."""
    failed = sum(total.failures.values())
    print(f"{total.name}: {total.read:,} read, {total.refused:,} refused, {failed:,} failed")
    for what, often in total.failures.most_common():
        print(f"    {often:,} x {what} ({total.first[what]})", flush=True)
    sys.stdout.flush()
    return failed


def again(name: str, case: int) -> None:
    """One case, with its traceback."""
    target = next(target for target in TARGETS if type(target).__name__ == name)
    with tempfile.TemporaryDirectory() as place:
        target.prepare(Path(place))
        target.attempt(Path(place), random.Random(seed_of(target, case)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        again(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(bool(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)))
