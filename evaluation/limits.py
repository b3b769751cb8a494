"""Time and memory limits of runs, their enforcement, and reasons for failures."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Annotated

import msgspec
from msgspec import Meta

if sys.platform != "win32":
    import resource

Amount = Annotated[int, Meta(gt=0, le=10**7)] | Annotated[float, Meta(gt=0, le=1e7)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Resource limits of a run.

    Attributes:
        seconds: Maximum time for all steps of one agent in one world, in seconds.
        memory_mb: Maximum memory of the agent in MiB, in addition to the memory of the harness.
        training_seconds: Maximum time for the training, in seconds.
    """

    seconds: Amount = 600.0
    memory_mb: Amount = 4096
    training_seconds: Amount = 3600.0


def reason_of(error: BaseException) -> str:
    """Return the type and message of an error with the file and line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({os.path.basename(at.filename)}, line {at.lineno})" for at in last)
    return f"{type(error).__name__}: {error}{place}"


class OverTimeError(BaseException):
    """Raised if a run exceeds its time limit.

    This class is not an ``Exception``, so that agents do not catch the error by accident.
    """


@contextlib.contextmanager
def limited(seconds: float, memory_mb: float) -> Iterator[None]:
    """Limit the time (in seconds) and the additional memory (in MiB) of the enclosed code.

    On Windows and outside the main thread, no limits are set.
    """
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield  # the driver of this process enforces the time limit
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    soft = address_space(memory_mb)
    if soft is not None:
        hard = before[1]
        soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    alarm = signal.signal(signal.SIGALRM, _over_time)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, alarm)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _over_time(signum: int, frame: FrameType | None) -> None:
    raise OverTimeError


def address_space(more_mb: float) -> int | None:
    """Return the current size of the address space plus ``more_mb`` MiB, in bytes.

    The result is None if the system does not provide the size.
    """
    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None
    return used + int(more_mb * 2**20)
