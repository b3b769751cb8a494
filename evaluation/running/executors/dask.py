"""A Dask cluster: an existing one by its address, or one on this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from evaluation.running.executors.base import BatchLostError, ClusterLostError
from evaluation.running.executors.pool import Pool
from evaluation.running.record import Record
from evaluation.running.run import Run

CONNECT_SECONDS = 20.0
"""How long a scheduler may take to answer."""


class DaskUnavailableError(Exception):
    """Dask is not installed, or its scheduler does not answer."""


class Dask:
    """Batches are tasks of a Dask cluster.

    A Dask worker hands the runs on to a pool of processes of its own, so that limits hold there as
    they do on one machine. A worker that dies is Dask's to replace: its tasks run elsewhere.

    Args:
        address: "tcp://host:port" of a scheduler, or "local" for a cluster on this machine.
        workers: Of a local cluster.
    """

    def __init__(self, address: str, workers: int = 2) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise DaskUnavailableError('Dask is not installed: pip install -e ".[dask]"') from error
        try:
            own = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
            self._cluster = LocalCluster(**own) if address == "local" else None
            self._client: Any = Client(self._cluster or address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            raise DaskUnavailableError(
                f"no Dask scheduler answers at {address!r}: {error}"
            ) from error
        threads = sum(self._client.nthreads().values())
        self.capacity = max(2, 2 * threads)

    def submit(self, runs: Sequence[Run]) -> Future[list[Record]]:
        """Run a batch somewhere in the cluster."""
        future: Future[list[Record]] = Future()
        task = self._client.submit(_run_in_worker, list(runs), pure=False)
        task.add_done_callback(lambda done: _hand_over(done, future))
        return future

    def close(self) -> None:
        """Leave the cluster; end it if it is ours. (Others may be using the pools of another.)"""
        if self._cluster is not None:
            with contextlib.suppress(Exception):  # workers may be gone by now
                self._client.run(_close_pool)
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def _hand_over(done: Any, future: Future[list[Record]]) -> None:
    if done.status == "finished":
        answer = done.result()
    else:
        error = done.exception() if done.status == "error" else done.status
        answer = ClusterLostError(f"lost in the cluster: {error}")
    if isinstance(answer, BatchLostError | ClusterLostError):
        future.set_exception(answer)
    else:
        future.set_result(answer)


def _run_in_worker(runs: list[Run]) -> list[Record] | BatchLostError:
    """In a thread of a Dask worker. A loss is an answer: raised, it would fill Dask's log."""
    try:
        return _pool().submit(runs).result()
    except BatchLostError as lost:
        return lost


_pools: list[Pool] = []
_starting = threading.Lock()


def _pool() -> Pool:
    """The pool of this Dask worker."""
    with _starting:
        if not _pools:
            from distributed import get_worker

            # Dask starts its workers as daemons, which may have no children. These children end
            # with the worker anyway: their pipe to it breaks.
            multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
            _pools.append(Pool(get_worker().state.nthreads))
        return _pools[0]


def _close_pool() -> None:
    with _starting:
        while _pools:
            _pools.pop().close()
