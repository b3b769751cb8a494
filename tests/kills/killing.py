"""Killing commands."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO

from tests.kills.scenarios import COMMAND, Scenario, as_text, environment, fresh

MAX_KILLS_IN_A_ROW = 4
"""Of the same piece of work; then it is let to its end."""


def kill_often(scenario: Scenario, kills: int, seed: int) -> int:
    """Kill a command at random moments until it was killed so often; how often it was.

    Raises:
        AssertionError: If something was lost, counted twice, or cannot be read.
    """
    rng, done = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as place:
        template, whole = Path(place) / "template", Path(place) / "whole"
        scenario.prepare(template)
        fresh(template, whole)
        start = time.monotonic()
        _to_the_end(scenario, whole)
        seconds, expected = time.monotonic() - start, as_text(scenario.outcome(whole))
        number = 0
        while done < kills:
            number += 1
            folder = fresh(template, Path(place) / f"work-{number}")
            done += _work(scenario, folder, seconds, min(kills - done, MAX_KILLS_IN_A_ROW), rng)
            _to_the_end(scenario, folder)
            found = as_text(scenario.outcome(folder))
            said = f"seed {seed}, round {number}: {found[:2000]} is not {expected[:2000]}"
            assert found == expected, said
    return done


def _work(scenario: Scenario, folder: Path, seconds: float, kills: int, rng: random.Random) -> int:
    """Start and kill the command a few times; how often it was killed before its end."""
    before = scenario.state(folder)
    for count in range(kills):
        process = _start(scenario, folder)
        try:
            process.wait(rng.uniform(0.0, seconds))
        except subprocess.TimeoutExpired:
            # The command alone, or everything at once as in a power cut.
            everything = rng.random() < 0.5
            (os.killpg if everything else os.kill)(process.pid, signal.SIGKILL)
            process.wait()
        else:
            return count
        after = scenario.state(folder)
        assert before <= after, f"{before - after} was lost"
        before = after
    return kills


def _to_the_end(scenario: Scenario, folder: Path) -> None:
    with tempfile.TemporaryFile() as errors:
        process = _start(scenario, folder, errors)
        process.wait(300)
        errors.seek(0)
        said = errors.read().decode()
    there_already = "already exists" in said  # a submission that was whole before
    assert process.returncode == 0 or there_already, said[-1500:]


def _start(
    scenario: Scenario, folder: Path, errors: IO[bytes] | int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *scenario.words],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=errors,
        start_new_session=True,
    )
