"""Executor for Dask, with an existing cluster or a local cluster.

Each run is one Dask task. A Dask worker passes the run to a separate process, which enforces the
same limits as without Dask. If a worker is lost, Dask moves its runs to other workers. A run fails
if its workers are lost repeatedly.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import threading
from concurrent.futures import CancelledError, Future
from typing import Any

from evaluation.errors import UserError
from evaluation.record import Record
from evaluation.runs import Run
from evaluation.workers import Processes, SweepStoppedError, clean_start

CONNECT_SECONDS = 20.0
"""Timeout of the first connection to a scheduler."""
AGAIN = "run the same command again: finished runs are kept"


class DaskUnavailableError(UserError):
    """Raised if Dask is not installed, or if its scheduler does not answer."""


class Dask:
    """Executor that submits runs as tasks to a Dask cluster.

    Args:
        address: ``tcp://host:port`` of a scheduler, or "local" for a cluster on this machine.
        workers: Number of workers of a local cluster.
    """

    capacity = 1000

    def __init__(self, address: str, workers: int = 2) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise DaskUnavailableError(
                "missing-package", 'Dask is not installed: run pip install -e ".[dask]"'
            ) from error
        self._address, self._cluster = address, None
        self._closed, self._handing_over = False, threading.Lock()
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            if address == "local":
                with clean_start():
                    self._cluster = LocalCluster(
                        n_workers=workers,
                        threads_per_worker=1,
                        dashboard_address=":0",
                        silence_logs=logging.CRITICAL,
                    )
            place = self._cluster or address
            self._client = Client(place, set_as_default=False, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            raise DaskUnavailableError(
                "no-scheduler", f"no Dask scheduler answers at {address!r}: {error}"
            ) from error

    def submit(self, run: Run) -> Future[Record]:
        """Submit a run to the cluster."""
        future: Future[Record] = Future()
        task = self._client.submit(run_in_worker, run, pure=False)
        task.add_done_callback(lambda done: self._hand_over(done, run, future))
        return future

    def close(self) -> None:
        """Close the connection, and shut down a local cluster."""
        with self._handing_over:
            self._closed = True
        with contextlib.suppress(Exception):
            self._client.close(timeout=2.0)
            if self._cluster is not None:
                self._cluster.close(timeout=5.0)

    def _hand_over(self, task: Any, run: Run, future: Future[Record]) -> None:
        """Pass the result of a task to the future of its run, unless the client is closed.

        Reading a result from a closed client would block.
        """
        with self._handing_over:
            if not self._closed:
                self._answer(task, run, future)

    def _answer(self, task: Any, run: Run, future: Future[Record]) -> None:
        from distributed.scheduler import KilledWorker

        try:
            future.set_result(task.result())
        except KilledWorker:
            future.set_result(
                Record(run.key, "the Dask workers of the run died repeatedly", sources=run.sources)
            )
        except (CancelledError, asyncio.CancelledError, OSError):
            lost = SweepStoppedError(
                "cluster-lost",
                f"the connection to the Dask cluster at {self._address!r} was lost; {AGAIN}",
            )
            future.set_exception(lost)
        except BaseException as error:  # an unresolved future would block the driver
            future.set_exception(
                SweepStoppedError(
                    "unusable-workers",
                    f"the workers of the Dask cluster at {self._address!r} cannot execute runs "
                    f"({type(error).__name__}: {error}): check that this version of periodic-gp "
                    f"is installed on the workers, and {AGAIN}",
                )
            )


_pools: list[Processes] = []
_starting = threading.Lock()


def run_in_worker(run: Run) -> Record:
    """Execute a run in a subprocess of a Dask worker."""
    from distributed import get_worker

    with _starting:
        if not _pools:
            # Dask starts its workers as daemons, which cannot have child processes.
            multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
            _pools.append(Processes(get_worker().state.nthreads))
    return _pools[0].submit(run).result()
