"""Agents' processes where there is no sandbox: forked from one that knew no world.

Each worker forks a *zygote* before it is given anything to run. For every isolated run the zygote
forks an agent's process, which so knows neither the world nor the seed. It keeps an agent from the
harness's objects, not from the machine: it runs under the same user.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Sequence
from importlib import import_module

from agents.registry import find_class, is_built_in
from evaluation.keys import scipy_of
from evaluation.running.agent_process import say_nothing, serve
from evaluation.running.process import adopt_orphans, close_files, end_children

_line: socket.socket | None = None
"""To this worker's zygote, where there is one."""
_pid: int | None = None


def preload_of(name: str) -> Sequence[str]:
    """Modules worth importing once for all processes of an agent: SciPy's that its code names.

    The code of others is read and never imported: it is run by agents' processes only.
    """
    try:
        own = getattr(find_class(name), "preload", ()) if is_built_in(name) else ()
        return (*own, *scipy_of(name))
    except Exception:  # the agent's process will say what is missing
        return ()


def open_zygote() -> None:
    """To be called by a worker before it is given any run."""
    global _line, _pid
    if not (hasattr(socket, "send_fds") and hasattr(os, "fork")):
        return
    _line, theirs = socket.socketpair()
    _pid = os.fork()
    if _pid == 0:
        _line.close()
        _fork_agents(theirs)
    theirs.close()


def new_agent(preload: Sequence[str]) -> socket.socket:
    """A line to a new agent's process; the one before it is ended."""
    if _line is None:
        raise RuntimeError("isolated agents need worker processes on a system that can fork")
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(_line, [json.dumps(list(preload)).encode()], [theirs.fileno()])
    return ours


def zygote_file() -> set[int]:
    """The line to the zygote, where there is one."""
    return set() if _line is None else {_line.fileno()}


def zygote_pid() -> set[int]:
    """The zygote's process, where there is one."""
    return set() if _pid is None else {_pid}


def _fork_agents(control: socket.socket) -> None:
    """Fork one agent's process after the other, until the worker ends."""
    try:
        say_nothing()
        close_files({control.fileno()})
        adopt_orphans()
        while True:
            wish, lines, _, _ = socket.recv_fds(control, 4096, 1)
            end_children()
            if not wish:
                return
            for module in json.loads(wish):
                with contextlib.suppress(Exception):  # the agent's process will say so
                    import_module(module)
            if os.fork() == 0:
                control.close()
                serve(socket.socket(fileno=lines[0]), from_source=True)
            os.close(lines[0])
    finally:
        os._exit(0)
