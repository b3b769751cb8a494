"""What forked processes do to themselves and to their children."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from itertools import pairwise


def close_files(kept: set[int]) -> None:
    """Close what was inherited but for these: the worker's lines to its driver are not for agents.

    What comes through them is unpickled there.
    """
    edges = [2, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for low, high in pairwise(edges):
        os.closerange(low + 1, high)


def hide_from_others() -> None:
    """Let no other process of this user look into this one's memory and files (Linux).

    It does not keep out root: do not run strangers' agents as root.
    """
    _prctl(4, 0)  # PR_SET_DUMPABLE


def adopt_orphans() -> None:
    """Children of an agent whose parent has ended become ours, so that they can be ended."""
    _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(Exception):  # not on this system
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def end_children() -> None:
    """Kill all children, adopted ones included."""
    me = os.getpid()
    while True:
        try:
            with open(f"/proc/{me}/task/{me}/children") as file:
                children = [int(child) for child in file.read().split()]
        except OSError:  # not on this system: the agent itself is waited for
            children = []
        for child in children:
            os.kill(child, signal.SIGKILL)
        try:
            os.waitpid(-1, 0 if children else os.WNOHANG)
        except ChildProcessError:
            return
