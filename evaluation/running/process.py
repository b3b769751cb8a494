"""What processes do to themselves and to their children: limits, closed files, no orphans."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import signal
import sys
import threading
import traceback
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import FrameType

if sys.platform != "win32":
    import resource

ROOT = Path(__file__).resolve().parents[2]
"""The folder of our packages."""
ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "VECLIB")
}
"""For the environment of processes: two that share cores must not fight over them, and sums of many
terms depend on the number of threads."""
MAX_FILE_BYTES = 2**26
"""Of any file that an isolated agent writes."""
MAX_OPEN_FILES = 256


def own_python(code: str, *, folders: Sequence[str] = ()) -> list[str]:
    """The command of a process of ours, which imports nothing from the current folder.

    ``python -m`` and ``python -c`` look there first, and a stranger's ``numpy.py`` may be there.

    Args:
        code: What it does; ``sys`` is imported.
        folders: To import from as well, after all others.
    """
    path = f"import sys; sys.path += {[str(ROOT), *folders]!r}; "
    return [sys.executable, "-I", "-B", "-c", path + code]


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


def end_children(but: Collection[int] = ()) -> None:
    """Kill all children, adopted ones included, but for these."""
    me = os.getpid()
    while True:
        try:
            with open(f"/proc/{me}/task/{me}/children") as file:
                children = {int(child) for child in file.read().split()} - set(but)
        except OSError:  # not on this system: the agent itself is waited for
            children = set()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        if not children:
            return
        for child in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def end_with_parent() -> None:
    """Let this process be killed when its parent ends (Linux)."""
    _prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class OverTimeError(BaseException):
    """The run's time is over. Not an Exception, so that an agent does not catch it by accident."""


@contextlib.contextmanager
def limited(seconds: float, memory_mb: float) -> Iterator[None]:
    """Limit the code inside, in this process; memory is counted from what is used now."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield  # the pool's own limit must do
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = _address_space(memory_mb)
    if most is not None:
        hard = before[1]
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    alarm = signal.signal(signal.SIGALRM, _over_time)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, alarm)
        resource.setrlimit(resource.RLIMIT_AS, before)


def limit_for_good(cpu_seconds: float, memory_mb: float) -> None:
    """Limit the whole process of an isolated agent, never to be raised again.

    The judge's clock is the stricter one.
    """
    limit_memory_for_good(memory_mb)
    if math.isfinite(cpu_seconds):
        _lower(resource.RLIMIT_CPU, math.ceil(cpu_seconds) + 5)
    _lower(resource.RLIMIT_FSIZE, MAX_FILE_BYTES)
    _lower(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    _lower(resource.RLIMIT_CORE, 0)


def limit_memory_for_good(memory_mb: float) -> None:
    """Limit what this process takes beyond what it has now, never to be raised again."""
    most = _address_space(memory_mb) if math.isfinite(memory_mb) else None
    if most is not None:
        _lower(resource.RLIMIT_AS, most)
        _give_up_limits()


def _give_up_limits() -> None:
    """Even root cannot raise a limit without the capability for it (Linux)."""
    resources, version = 24, 0x20080522  # CAP_SYS_RESOURCE, _LINUX_CAPABILITY_VERSION_3
    with contextlib.suppress(Exception):  # not on this system
        libc = ctypes.CDLL(None)
        libc.prctl(24, resources, 0, 0, 0)  # PR_CAPBSET_DROP: a new program has it neither
        header, data = (ctypes.c_uint32 * 2)(version, 0), (ctypes.c_uint32 * 6)()
        if libc.capget(header, data) == 0:
            for place in range(3):  # effective, permitted, inheritable
                data[place] &= ~(1 << resources)
            libc.capset(header, data)


def _lower(what: int, most: int) -> None:
    hard = resource.getrlimit(what)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def _over_time(signum: int, frame: FrameType | None) -> None:
    raise OverTimeError


def _address_space(more_mb: float) -> int | None:
    """Bytes of address space in use and so many more, None where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None
    return used + int(more_mb * 2**20)


def worded(error: BaseException) -> str:
    """An error and where it came from: the author of the agent needs it."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({os.path.basename(at.filename)}, line {at.lineno})" for at in last)
    return f"{type(error).__name__}: {error}{place}"
