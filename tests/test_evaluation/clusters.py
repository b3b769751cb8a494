"""A Dask scheduler and workers, each a process that a test may stop or kill."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.contract.conftest import wait_until

distributed = pytest.importorskip("distributed")

MAX_START_SECONDS = 60.0


@dataclass
class Cluster:
    """Processes of a cluster.

    Attributes:
        folder: The folder of its files.
        scheduler: The scheduler's process.
        workers: The workers' processes.
    """

    folder: Path
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return str(json.loads((self.folder / "scheduler.json").read_text())["address"])

    def stop(self, signal_: int) -> None:
        for process in (self.scheduler, *self.workers):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal_)


def _start(folder: Path, kind: str, *options: str) -> subprocess.Popen[bytes]:
    module = f"distributed.cli.dask_{kind}"
    command = [sys.executable, "-m", module, "--scheduler-file", str(folder / "scheduler.json")]
    log = (folder / f"{kind}-{time.monotonic_ns()}.log").open("wb")
    with log:
        return subprocess.Popen([*command, *options], stdout=log, stderr=log, cwd=folder)


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Run a cluster on the loopback interface."""
    here = ("--host", "127.0.0.1", "--no-dashboard")
    started = Cluster(folder, _start(folder, "scheduler", *here, "--port", "0"))
    try:
        wait_until((folder / "scheduler.json").exists)
        for _ in range(workers):
            started.workers.append(_start(folder, "worker", *here, "--no-nanny", "--nthreads", "1"))
        with distributed.Client(started.address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=MAX_START_SECONDS)
        yield started
    finally:
        started.stop(signal.SIGCONT)
        started.stop(signal.SIGKILL)
        for process in (started.scheduler, *started.workers):
            process.wait()
