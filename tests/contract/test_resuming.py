"""An interrupted sweep that is started again gives the table of an uninterrupted one."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import evaluation
from tests.contract.conftest import call, command, environment
from tests.contract.sweeps import THIRD_PARTY, agent, steps_of, write_protocol
from tests.platforms import module_needs_posix

module_needs_posix()
SEEDS = 8
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


def wait_until(ready: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, f"still waiting after {seconds:g} s"
        time.sleep(0.05)


class Sweep:
    """A sweep of slow agents in a folder, run by the command line.

    ``where`` are its options: local processes or a cluster.
    """

    def __init__(self, folder: Path, *where: str) -> None:
        self.folder, self.log, self.store = folder, folder / "log", folder / "s.sqlite"
        self.slow = agent("Good", pause=0.02, log=self.log)
        protocol = write_protocol(
            folder / "sweep.toml", [self.slow, "random"], seeds=f"0:{SEEDS}", horizon=20
        )
        self.words = ("run", protocol.name, "--store", self.store.name, *where)

    def made(self) -> int:
        """Agents that were made so far."""
        return len(self.log.read_text().split()) if self.log.exists() else 0

    def finished(self) -> int:
        """Finished runs of the slow agent in the store."""
        if not self.store.exists():
            return 0
        return sum(run.agent == self.slow for run in evaluation.load(self.store).runs)

    def interrupt(self, how: int) -> int:
        """Start the command, stop it when it is busy, and return its status."""
        process = subprocess.Popen(
            command(*self.words),
            cwd=self.folder,
            env=environment(self.folder),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_until(lambda: self.made() >= 4 or process.poll() is not None)
            process.send_signal(how)
            return process.wait(60.0)
        finally:
            process.kill()

    def settle(self) -> None:
        """Wait until no worker makes agents any more."""
        last = -1
        while self.made() != last:
            last = self.made()
            time.sleep(1.5)

    def complete(self) -> None:
        """Run the command to its end."""
        call(self.folder, *self.words)


def check_resumed(sweep: Sweep, how: int) -> None:
    """Interrupt a sweep, complete it, and compare it with an uninterrupted one."""
    assert sweep.interrupt(how) != 0
    sweep.settle()
    finished, made = sweep.finished(), sweep.made()
    assert finished < SEEDS
    sweep.complete()
    assert sweep.made() - made == SEEDS - finished
    resumed = evaluation.load(sweep.store)
    whole = evaluation.run(sweep.folder / "sweep.toml", workers=0)
    assert not resumed.failures
    pd.testing.assert_frame_equal(resumed.steps, whole.steps)
    for ours, theirs in ((resumed.table(), whole.table()), (resumed.overall(), whole.overall())):
        timeless = [name for name in ours if "seconds" not in name and "ms" not in name]
        pd.testing.assert_frame_equal(ours[timeless], theirs[timeless])


@pytest.mark.parametrize("how", SIGNALS)
def test_sweep_resumes_locally(tmp_path: Path, how: int) -> None:
    check_resumed(Sweep(tmp_path, "--workers", "2"), how)


@pytest.mark.parametrize("how", SIGNALS)
def test_sweep_resumes_on_dask(tmp_path: Path, how: int) -> None:
    clusters = pytest.importorskip("tests.test_evaluation.clusters")
    (tmp_path / "cluster").mkdir()
    with clusters.cluster(tmp_path / "cluster") as found:
        check_resumed(Sweep(tmp_path, "--dask", found.address), how)


def test_sweep_runs_changed_code_again(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    text = THIRD_PARTY.read_text()
    file.write_text(text)
    named = f"{file}:Good:log={tmp_path / 'log'}"
    protocol = write_protocol(tmp_path / "p.toml", [named, "random"])
    words = ("run", str(protocol), "--store", "s.sqlite", "--workers", "1")

    def made() -> int:
        return len((tmp_path / "log").read_text().split())

    call(tmp_path, *words)
    before = steps_of(evaluation.load(tmp_path / "s.sqlite"), named)
    call(tmp_path, *words)
    assert made() == 2
    file.write_text(text.replace("return self.step %", "return (1 + self.step) %"))
    call(tmp_path, *words)
    assert made() == 4
    after = steps_of(evaluation.load(tmp_path / "s.sqlite"), named)
    assert (after["action"] != before["action"]).all()
    file.write_text(text)
    call(tmp_path, *words)
    assert made() == 4
    pd.testing.assert_frame_equal(steps_of(evaluation.load(tmp_path / "s.sqlite"), named), before)
