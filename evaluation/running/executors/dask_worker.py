"""What is done in a Dask worker: batches, each begun once, in a pool of clean processes.

A scheduler hands the tasks of a lost worker to another one, and so it does with results that were
lost before they were fetched. A run that is started again would meet a world that it has seen
before. Whether a scheduler does so is a setting of it, which is not ours to change in a cluster of
others. Therefore the driver leaves a token for every batch with the scheduler, and a worker takes
it away before it begins: whoever comes second finds none.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from collections.abc import Sequence

from evaluation.own_worlds import WorldModule, know
from evaluation.record import Record
from evaluation.running.executors.base import BatchLostError, ClusterLostError, SweepStoppedError
from evaluation.running.executors.pool import Pool
from evaluation.runs import Run

TOKEN_SECONDS = 5.0
"""How long a scheduler may take to hand a token over."""

Loss = BatchLostError | ClusterLostError | SweepStoppedError

_pools: list[Pool] = []
_starting = threading.Lock()


def run_in_worker(
    runs: list[Run], token: str, modules: Sequence[WorldModule] = ()
) -> list[Record] | Loss:
    """In a thread of a Dask worker. A loss is an answer: raised, it would fill Dask's log."""
    if not _is_first(token):
        return ClusterLostError("its first worker was lost")
    know(modules)
    try:
        return _pool().submit(runs).result()
    except (BatchLostError, SweepStoppedError) as lost:
        return lost


def _is_first(token: str) -> bool:
    from distributed import Queue

    tokens = Queue(token)
    try:
        tokens.get(timeout=TOKEN_SECONDS)
    except (TimeoutError, asyncio.TimeoutError, OSError):
        return False
    finally:
        tokens.close()
    return True


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


def close_pool() -> None:
    """End the processes of this Dask worker."""
    with _starting:
        while _pools:
            _pools.pop().close()
