"""Limits of time and memory of a run, their enforcement, and the reasons of failures."""

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
    """Resources that one run may use.

    Attributes:
        seconds: Time for one agent in one world, all steps together.
        memory_mb: Memory that the agent may take on top of what the harness has.
        training_seconds: Time for training before that.
    """

    seconds: Amount = 600.0
    memory_mb: Amount = 4096
    training_seconds: Amount = 3600.0


def reason_of(error: BaseException) -> str:
    """Return an error with the place that it came from, for the author of the agent."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({os.path.basename(at.filename)}, line {at.lineno})" for at in last)
    return f"{type(error).__name__}: {error}{place}"


class OverTimeError(BaseException):
    """The time of a run is over. Not an Exception, so that agents do not catch it by accident."""


@contextlib.contextmanager
def limited(seconds: float, memory_mb: float) -> Iterator[None]:
    """Limit the time of the code inside, and the memory that it takes beyond what is used now."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield  # the driver of this process sees to the time
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
    """Return the address space in use and so many MB more, None where the system hides it."""
    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None
    return used + int(more_mb * 2**20)
