"""A decider that is killed at any moment loses no choice that it has acknowledged."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from periodic_decisions import Decider
from tests.contract.conftest import ROOT
from tests.platforms import posix_only

WORKER = """
import sys
sys.path.insert(0, sys.argv[2])
from periodic_decisions import Decider

number = 0
while True:
    number += 1
    with Decider.opened(sys.argv[1]) as decider:
        choice = decider.choose("2026-11-16 09:00")
    print("choice", choice.id, flush=True)
    with Decider.opened(sys.argv[1]) as decider:
        decider.tell(choice.id, float(number))
    print("reward", choice.id, number, flush=True)
"""


def acknowledged(path: Path, rng: random.Random) -> list[list[str]]:
    """Kill a process that decides and learns; the lines that it had printed whole."""
    worker = subprocess.Popen(
        [sys.executable, "-I", "-c", WORKER, str(path), str(ROOT)],
        stdout=subprocess.PIPE,
        text=True,
    )
    first = worker.stdout.readline()
    time.sleep(rng.uniform(0.0, 0.2))
    worker.kill()
    rest, _ = worker.communicate()
    return [line.split() for line in (first + rest).rpartition("\n")[0].splitlines()]


@posix_only
@pytest.mark.parametrize("kills", [5, pytest.param(200, marks=pytest.mark.nightly)])
def test_decider_keeps_acknowledged_choices(tmp_path: Path, kills: int) -> None:
    path, rng = tmp_path / "state", random.Random(0)
    agent = "periodic-gp-ucb:time_length_scale=1"
    Decider(["billing", "sales"], step="1h", seasons=["1 day"], agent=agent).save(path)
    lines: list[list[str]] = []
    for _ in range(kills):
        lines += acknowledged(path, rng)
        choices = [line[1] for line in lines if line[0] == "choice"]
        rewards = {line[1]: float(line[2]) for line in lines if line[0] == "reward"}
        log = Decider.load(path).log.set_index("choice_id")["reward"]
        assert set(choices) <= set(log.index)
        assert {choice: log[choice] for choice in rewards} == rewards
    assert len(set(choices)) == len(choices) >= kills
