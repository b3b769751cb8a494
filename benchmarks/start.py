"""Time to import the packages and to list environments and agents, compared with Gymnasium.

    python benchmarks/start.py [--repeats 5]

The script prints medians of the processor time of whole processes, which run in turns. Python's
compiled files already exist.
"""

import argparse
import resource
import subprocess
import sys
from statistics import median

from rich.console import Console

GYMNASIUM = "import gymnasium"
IMPORTS = (GYMNASIUM, "import periodic_envs", "import agents", "import evaluation")
MAKE = "import gymnasium as gym, periodic_envs; gym.make({!r}).reset(seed=0)"
FIRST = MAKE.format("PeriodicGP-SyntheticDiscrete-v0")
READ = MAKE.format("PeriodicGP-Flights-v0")
AGAIN = f"{READ}\nfor _ in range(100): gym.make('PeriodicGP-Flights-v0').reset(seed=0)"
COMMANDS = ("--version", "--help", "envs", "agents", "protocols")
console = Console(soft_wrap=True)


def seconds(*words: str) -> float:
    """Return the processor time of a Python process, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Run all processes in turns, and print their times."""
    parser = argparse.ArgumentParser(description="Time of imports and of short commands.")
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    tried = {code: ("-c", code) for code in IMPORTS}
    tried["make and reset an environment"] = ("-c", FIRST)
    tried["make and reset Flights, read its table"] = ("-c", READ)
    tried["make and reset Flights 101 times"] = ("-c", AGAIN)
    program = "from periodic_decisions.cli import main; main()"
    tried |= {f"periodic-gp {word}": ("-c", program, word) for word in COMMANDS}
    taken: dict[str, list[float]] = {name: [] for name in tried}
    for _ in range(repeats + 1):
        for name, words in tried.items():
            taken[name].append(seconds(*words))
    # The first round only warms up caches.
    middle = {name: median(found[1:]) for name, found in taken.items()}
    for name, found in middle.items():
        ratio = found / middle[GYMNASIUM]
        console.print(f"{name:<44}{found:5.2f} s{ratio:6.1f} x gymnasium", highlight=False)


if __name__ == "__main__":
    main()
