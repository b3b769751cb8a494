"""Running a run in a child process, and watching over it.

Whatever an agent changes in its process (classes, signals, threads, memory) is gone with the child.
A child that outlives its time is killed, and whatever it has started with it. It answers in bytes
of plain numbers, never in pickles: an agent could have written those. A child that dies has failed:
it is never started again, since an agent that was told a second time what it has seen would know
the answers.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from evaluation.provenance import machine
from evaluation.record import MAX_BYTES, Record
from evaluation.running.isolation import NONE
from evaluation.running.process import (
    close_files,
    end_children,
    end_with_parent,
    is_alive,
    limit_memory_for_good,
)
from evaluation.running.zygote import zygote_file, zygote_pid
from evaluation.runs import Run

GRACE_SECONDS = 2.0
"""After its time a run may still say so itself; then it is killed."""
MAX_PRINTED_BYTES = 10_000
"""Of what an agent prints in one run, as much is shown."""
MAX_PRINTED_BY_AGENT = 100_000
"""The same for all runs of an agent in one worker."""
SECONDS_BETWEEN_LOOKS = 1.0
"""How often a worker sees whether its driver is still there."""
_HEAD = struct.Struct("<Q?")
"""Before what a child says: how long it is, and whether it is the reason of a failure."""


_driver: int | None = None


def work_for(driver: int) -> None:
    """To be called by a worker: it ends, with all that it has started, when its driver does."""
    global _driver
    _driver = driver


def over_time(run: Run) -> str:
    """The reason of a run that took too long."""
    return f"took more than {run.limits.seconds:g} seconds"


def supervised(run: Run, execute: Callable[[Run], Record]) -> Record:
    """Run one run in a child process: what the child says, or why it said nothing."""
    sys.stdout.flush()
    sys.stderr.flush()
    start = time.perf_counter()
    said, theirs = os.pipe()
    printed, screen = os.pipe()
    child = os.fork()
    if child == 0:
        _be_child(run, execute, theirs, screen)
    os.close(theirs)
    os.close(screen)
    shown = _Screen(run.agent)
    data = _listen(said, printed, run.limits.seconds + GRACE_SECONDS, shown)
    status = _end(child, at_once=data is None)
    shown.drain(printed)
    os.close(said)
    os.close(printed)
    if data is None:
        return Record(run.key, over_time(run), sources=run.sources)
    head, body = data[: _HEAD.size], data[_HEAD.size :]
    if len(head) < _HEAD.size or _HEAD.unpack(head)[0] != len(body):  # nothing, or half an answer
        code = os.waitstatus_to_exitcode(status)
        return Record(run.key, f"its process died (exit code {code})", sources=run.sources)
    reason, packed = (body.decode("utf-8", "replace"), b"") if head[-1] else (None, body)
    # The clock and the machine are the worker's own: the child could say anything.
    seconds = time.perf_counter() - start
    return Record(run.key, reason, packed, seconds, machine(), run.sources)


def _be_child(run: Run, execute: Callable[[Run], Record], answer: int, screen: int) -> None:
    """Answer and end, without a way back into the worker's code."""
    try:
        end_with_parent()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for standard in (1, 2):  # what an agent prints is no output of the harness
            os.dup2(screen, standard)
        alone = run.isolation == NONE
        close_files({answer} | (set() if alone else zygote_file()))
        if alone:
            limit_memory_for_good(run.limits.memory_mb)
        record = execute(run)
        failed = record.reason is not None
        body = str(record.reason).encode("utf-8", "replace") if failed else record.packed
        with os.fdopen(answer, "wb") as file:
            file.write(_HEAD.pack(len(body), failed) + body)
    finally:
        os._exit(0)


def _end(child: int, *, at_once: bool) -> int:
    """Wait for a child that has closed its pipe, kill it if it goes on, and all it has started."""
    end = time.monotonic() + (0.0 if at_once else GRACE_SECONDS)
    done, status = os.waitpid(child, os.WNOHANG)
    while not done and time.monotonic() < end:
        time.sleep(0.001)
        done, status = os.waitpid(child, os.WNOHANG)
    if not done:
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    end_children(but=zygote_pid())
    return status


def _listen(said: int, printed: int, seconds: float, screen: _Screen) -> bytes | None:
    """What a child says, whole or until it hangs up; None if not in time, or if it is too much.

    Processes that an agent has started hold the pipe open, too: they are not waited for.
    """
    data = bytearray()
    end, open_pipes = time.monotonic() + seconds, {said, printed}
    while len(data) <= MAX_BYTES:
        left = max(end - time.monotonic(), 0.0)
        ready, _, _ = select.select(list(open_pipes), [], [], min(left, SECONDS_BETWEEN_LOOKS))
        if not ready and left <= SECONDS_BETWEEN_LOOKS:
            return None
        if not ready and _driver is not None and not is_alive(_driver):
            end_children()
            os._exit(0)
        for pipe in ready:
            part = os.read(pipe, 2**20)
            if pipe == printed:
                screen.show(part)
                open_pipes -= set() if part else {printed}
                continue
            data += part
            if not part or _is_whole(data):
                return bytes(data)
    return None


def _is_whole(data: bytearray) -> bool:
    head = bytes(data[: _HEAD.size])
    return len(head) == _HEAD.size and len(data) >= _HEAD.size + int(_HEAD.unpack(head)[0])


_printed_by: Counter[str] = Counter()


@dataclass
class _Screen:
    """What an agent prints, up to a bound."""

    agent: str
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = min(MAX_PRINTED_BYTES, MAX_PRINTED_BY_AGENT - _printed_by[self.agent])

    def show(self, part: bytes) -> None:
        """Pass it on to the screen as long as it is not too much."""
        if not part or self.left <= 0:
            return
        shown = part[: self.left]
        self.left -= len(shown)
        _printed_by[self.agent] += len(shown)
        if not self.left:
            shown += f"\n[what else {self.agent} prints in this run is not shown]\n".encode()
        sys.stderr.buffer.write(shown)
        sys.stderr.flush()

    def drain(self, pipe: int) -> None:
        """Show what is still in the pipe."""
        os.set_blocking(pipe, False)
        try:
            while part := os.read(pipe, 2**20):
                self.show(part)
        except BlockingIOError:  # somebody holds the other end: nothing more is waited for
            pass
