"""An interrupted sweep that is started again gives the table of an uninterrupted one."""

import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

import evaluation
from tests.contract.conftest import call, command, environment, wait_until
from tests.contract.sweeps import agent, write_protocol
from tests.platforms import module_needs_posix

module_needs_posix()
SEEDS = 8


class Sweep:
    """A sweep of slow agents in a folder, run by the command line.

    ``where`` are its options: local processes or a cluster.
    """

    def __init__(self, folder: Path, *where: str) -> None:
        self.folder, self.log, self.store = folder, folder / "log", folder / "s.sqlite"
        self.slow = agent("Good", pause=0.05, log=self.log)
        protocol = write_protocol(
            folder / "sweep.toml", [self.slow, "random"], seeds=f"0:{SEEDS}", horizon=20
        )
        self.words = ("run", protocol.name, "--store", self.store.name, *where)

    def made(self) -> int:
        """Return the number of agents made so far."""
        return len(self.log.read_text().split()) if self.log.exists() else 0

    def finished(self) -> int:
        """Return the number of finished runs of the slow agent."""
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


def check_resumed(sweep: Sweep, how: int) -> None:
    """Interrupt a sweep, complete it, and compare it with an uninterrupted one."""
    assert sweep.interrupt(how) != 0
    sweep.settle()
    finished, made = sweep.finished(), sweep.made()
    assert finished < SEEDS
    call(sweep.folder, *sweep.words)
    assert sweep.made() - made == SEEDS - finished
    resumed = evaluation.load(sweep.store)
    whole = evaluation.run(sweep.folder / "sweep.toml", workers=0)
    assert not resumed.failures
    pd.testing.assert_frame_equal(resumed.steps, whole.steps)
    for ours, theirs in ((resumed.table(), whole.table()), (resumed.overall(), whole.overall())):
        timeless = [name for name in ours if "seconds" not in name and "ms" not in name]
        pd.testing.assert_frame_equal(ours[timeless], theirs[timeless])


NIGHTLY = [pytest.param(how, marks=pytest.mark.nightly) for how in (signal.SIGINT, signal.SIGTERM)]


@pytest.mark.parametrize("how", [signal.SIGKILL, *NIGHTLY])
def test_sweep_resumes_locally(tmp_path: Path, how: int) -> None:
    check_resumed(Sweep(tmp_path, "--workers", "2"), how)


@pytest.mark.nightly
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_sweep_resumes_on_dask(tmp_path: Path, how: int) -> None:
    clusters = pytest.importorskip("tests.test_evaluation.clusters")
    (tmp_path / "cluster").mkdir()
    with clusters.cluster(tmp_path / "cluster") as cluster:
        check_resumed(Sweep(tmp_path, "--dask", cluster.address), how)
