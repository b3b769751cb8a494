"""A Dask cluster: an existing one by its address, or one on this machine.

Everything that talks to the cluster is done by one thread, as coroutines, each with an end: a
scheduler that is gone, or silent because the network is cut, holds up nobody. Nothing of it runs
in the main thread, which can always be interrupted.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
import uuid
from collections.abc import Awaitable, Coroutine, Sequence
from concurrent.futures import Future
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from evaluation.errors import UserError
from evaluation.own_worlds import WorldModule
from evaluation.record import Record
from evaluation.running.executors.base import ClusterLostError, SweepStoppedError
from evaluation.running.executors.dask_watch import Watch
from evaluation.running.executors.dask_worker import close_pool, run_in_worker
from evaluation.running.executors.starting import clean_start
from evaluation.runs import Run

CONNECT_SECONDS = 20.0
"""How long a scheduler may take to answer at first, and a cluster of our own to start."""
RETRY_SECONDS = 1.0
"""How long to wait with a batch that could not be handed out."""
CLOSE_SECONDS = 5.0
"""How long a cluster may take to let us go, and one of our own to end."""
LOGGERS = ("distributed", "distributed.client")
"""Dask's, which print tracebacks where a sentence is said."""
MAX_REFERENCES = 3
"""That Dask counts to a token: of awaiting it, up to two, and of a worker that is gone."""
GO_ON = "give the same command again: finished runs are kept"

Answer = TypeVar("Answer")


class DaskUnavailableError(UserError):
    """Dask is not installed, or its scheduler does not answer."""


class Dask:
    """Batches are tasks of a Dask cluster.

    A Dask worker hands the runs on to a pool of processes of its own, so that limits hold there as
    they do on one machine. What is lost with a worker is run by nobody else: see ``dask_worker``.

    Args:
        address: ``tcp://host:port`` of a scheduler, or "local" for a cluster on this machine.
        workers: Of a local cluster.
        modules: Of somebody's worlds, which Dask workers import before they run anything.
    """

    def __init__(self, address: str, workers: int = 2, modules: Sequence[WorldModule] = ()) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError as error:
            raise DaskUnavailableError('Dask is not installed: pip install -e ".[dask]"') from error
        self._address, self._modules = address, tuple(modules)
        self._client: Any = None
        self._cluster: Any = None
        self._loop = asyncio.new_event_loop()
        # Whatever matters is waited for; Dask leaves more behind when a scheduler is gone.
        self._loop.set_exception_handler(lambda *_: None)
        self._levels = {logger: logger.level for logger in map(logging.getLogger, LOGGERS)}
        for logger in self._levels:
            logger.setLevel(logging.CRITICAL)
        self._thread = threading.Thread(target=self._work, name="dask", daemon=True)
        self._thread.start()
        try:
            self._call(self._open(workers)).result()
        except (OSError, ValueError, TimeoutError, asyncio.TimeoutError) as error:
            self.close()
            raise DaskUnavailableError(
                f"no Dask scheduler answers at {address!r}: {error or 'it is silent'}"
            ) from error
        except BaseException:
            self.close()
            raise

    @property
    def capacity(self) -> int:
        """How many batches are worth handing out at a time; workers may come and go."""
        return max(2, 2 * self._watch.threads)

    def submit(self, runs: Sequence[Run]) -> Future[list[Record]]:
        """Run a batch somewhere in the cluster."""
        return self._call(self._run(list(runs)))

    def close(self) -> None:
        """Leave the cluster; end it if it is ours. (Others may be using the pools of another.)"""
        try:
            with contextlib.suppress(concurrent.futures.TimeoutError):
                self._call(self._leave()).result(4 * CLOSE_SECONDS)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CLOSE_SECONDS)
            for logger, level in self._levels.items():
                logger.setLevel(level)

    def _work(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def _call(self, work: Coroutine[Any, Any, Answer]) -> Future[Answer]:
        """Have something done by the thread that talks to the cluster."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _open(self, workers: int) -> None:
        from distributed import Client

        if self._address == "local":
            await self._start_own(workers)
        self._client = Client(
            self._cluster or self._address,
            asynchronous=True,
            set_as_default=False,
            timeout=CONNECT_SECONDS,
        )
        await asyncio.wait_for(self._client, CONNECT_SECONDS)
        self._watch = Watch(self._client)
        await self._watch.ask()
        self._watching = self._loop.create_task(self._watch.run())  # kept, or it would be no more

    async def _start_own(self, workers: int) -> None:
        import dask
        from distributed import LocalCluster

        settings = {"distributed.scheduler.allowed-failures": 0}  # what is lost is not run again
        with clean_start():
            resource_tracker.ensure_running()  # its start would let Ctrl-C through again
        with clean_start(), dask.config.set(settings):
            self._cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
                asynchronous=True,
            )
            await asyncio.wait_for(self._cluster, CONNECT_SECONDS + 5.0 * workers)
        for nanny in self._cluster.workers.values():
            nanny.close_gracefully()  # or it would start another worker, and not as clean as this

    async def _run(self, runs: list[Run]) -> list[Record]:
        token = uuid.uuid4().hex
        with self._watch.over(token) as lost:
            answer = self._loop.create_task(self._answer(runs, token))
            try:
                first: set[asyncio.Future[Any]] = {answer, lost, self._watch.gone}
                await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
                if answer.done():
                    return answer.result()
                if lost.done():
                    raise ClusterLostError(lost.result())
                raise SweepStoppedError(
                    f"the Dask cluster at {self._address!r} {self._watch.gone.result()}; {GO_ON}"
                )
            finally:
                answer.cancel()

    async def _answer(self, runs: list[Run], token: str) -> list[Record]:
        from distributed.scheduler import KilledWorker

        tokens = await self._leave_token(token)
        task = self._client.submit(
            run_in_worker,
            *(runs, token, self._modules),
            key=token,
            pure=False,
            retries=0,
            workers=self._watch.fit,
        )
        try:
            answer = await task
        except (KilledWorker, concurrent.futures.CancelledError) as error:
            raise ClusterLostError(f"{type(error).__name__}: {error}") from None
        except Exception as error:
            if self._client.status != "running":
                raise ClusterLostError("the scheduler was lost") from error
            raise SweepStoppedError(
                f"the workers of the Dask cluster at {self._address!r} cannot run anything "
                f"({type(error).__name__}: {error}): see that this version of periodic-gp is "
                f"installed there, and {GO_ON}"
            ) from error
        finally:
            with contextlib.suppress(Exception):  # there may be nobody to take it back
                for _ in range(MAX_REFERENCES):
                    tokens.close()
        if isinstance(answer, Exception):
            raise answer
        return list(answer)

    async def _leave_token(self, token: str) -> Any:
        """Allow one start of a batch. Nothing is begun before: it may be tried again."""
        from distributed import Queue

        while True:
            try:
                tokens = await Queue(token, client=self._client)
                await tokens.put(True)
                return tokens
            except OSError:
                await asyncio.sleep(RETRY_SECONDS)

    async def _leave(self) -> None:
        """Go without waiting for anybody who does not answer."""
        client, cluster = self._client, self._cluster
        if client is not None:
            if cluster is not None:
                await _at_most(CLOSE_SECONDS / 2, client.run(close_pool))
            await _at_most(CLOSE_SECONDS, client.close())
        if cluster is not None:
            await _at_most(2 * CLOSE_SECONDS, cluster.close())
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.wait(rest, timeout=CLOSE_SECONDS) if rest else None


async def _at_most(seconds: float, work: Awaitable[Any]) -> None:
    """Wait for something that may fail or never end: somebody who is gone says no goodbye."""
    with contextlib.suppress(Exception):
        await asyncio.wait_for(work, seconds)
