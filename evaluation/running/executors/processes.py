"""How worker processes are started.

Python's own ways of starting a clean process import the user's main script again in it. That fails
for a script read from standard input, and runs a script without ``if __name__ == "__main__"`` a
second time. Workers need nothing of it: here it is left out.
"""

from __future__ import annotations

import multiprocessing
import threading
from multiprocessing import context, spawn
from typing import Any

_HAS_SERVER = "forkserver" in multiprocessing.get_all_start_methods()
_Base: Any = context.ForkServerProcess if _HAS_SERVER else context.SpawnProcess
_prepare = spawn.get_preparation_data
_starting = threading.Lock()


class WorkerProcess(_Base):  # type: ignore[misc]
    """A process that does not import the main script."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with _starting:
            spawn.get_preparation_data = _without_main
            try:
                return _Base._Popen(process_obj)
            finally:
                spawn.get_preparation_data = _prepare


def _without_main(name: str) -> dict[str, Any]:
    main = ("init_main_from_name", "init_main_from_path")
    return {key: value for key, value in _prepare(name).items() if key not in main}


def process_context() -> Any:
    """A multiprocessing context for workers.

    Where there is a fork server, it imports what workers need once, and they start quickly.
    """
    made: Any = context.ForkServerContext() if _HAS_SERVER else context.SpawnContext()
    made.Process = WorkerProcess
    if _HAS_SERVER:
        made.set_forkserver_preload(["evaluation.running.executors.preload"])
    return made
