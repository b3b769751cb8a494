"""Whether a Dask cluster is still there: asked again and again, since silence says nothing.

A connection that is cut without a word looks like one on which nothing happens. Dask itself waits
for minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

PULSE_SECONDS = 3.0
"""How often the cluster is asked."""
MAX_SILENT_SECONDS = 15.0
"""How long a scheduler or a worker may be silent, or a cluster without workers."""


class Watch:
    """Tells who is gone.

    Args:
        client: Of the cluster, asynchronous.

    Attributes:
        gone: Done when the whole cluster is gone, with a few words.
        threads: How many threads the workers have.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[str] = self._loop.create_future()
        self.threads = 0
        self._lost: dict[str, asyncio.Future[str]] = {}
        self._silent: set[str] = set()
        self._workers: set[str] = set()
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._heard = self._loop.time()

    @contextlib.contextmanager
    def over(self, key: str) -> Iterator[asyncio.Future[str]]:
        """A future that is done, with a few words, when the worker of a task is gone."""
        self._lost[key] = self._loop.create_future()
        try:
            yield self._lost[key]
        finally:
            del self._lost[key]

    @property
    def fit(self) -> list[str] | None:
        """The workers that can be given something; None for all."""
        return sorted(self._workers - self._silent) if self._silent else None

    async def ask(self) -> dict[str, set[str]]:
        """Which tasks are at which worker, and whose answers have to be fetched from it."""
        client = self._client
        threads, begun, ended = await asyncio.wait_for(
            asyncio.gather(client.nthreads(), client.processing(), client.has_what()), PULSE_SECONDS
        )
        self.threads, self._workers = sum(threads.values()), set(threads)
        return {
            worker: {*begun.get(worker, ()), *ended.get(worker, ())} for worker in self._workers
        }

    async def run(self) -> None:
        """Watch until the cluster is gone."""
        staffed = None
        while not self.gone.done():
            await asyncio.sleep(PULSE_SECONDS)
            now = self._loop.time()
            try:
                tasks = await self.ask()
            except Exception:  # of whatever kind: nobody has answered
                if now - self._heard > MAX_SILENT_SECONDS:
                    self.gone.set_result("does not answer any more")
                continue
            self._heard = self._loop.time()
            for worker, keys in tasks.items():
                self._look_after(worker, self._lost.keys() & keys)
            if self._workers - self._silent:
                staffed = now
            elif staffed is not None and now - staffed > MAX_SILENT_SECONDS:
                self.gone.set_result("has no workers any more")

    def _look_after(self, worker: str, keys: set[str]) -> None:
        """A worker with tasks of ours is asked for a sign of life."""
        if worker in self._silent:
            for key in keys:
                if not self._lost[key].done():
                    self._lost[key].set_result(f"the worker at {worker} is silent")
        elif keys and worker not in self._asking:
            self._asking[worker] = self._loop.create_task(self._ask_worker(worker))

    async def _ask_worker(self, worker: str) -> None:
        begun = self._loop.time()
        try:
            asked = self._client.scheduler.broadcast(msg={"op": "identity"}, workers=[worker])
            await asyncio.wait_for(asked, MAX_SILENT_SECONDS)
        except (TimeoutError, asyncio.TimeoutError):
            if self._heard > begun:  # or it may be the scheduler, through which it was asked
                self._silent.add(worker)
        except Exception:  # it has just gone: its tasks are lost, and Dask says so itself
            pass
        finally:
            del self._asking[worker]
