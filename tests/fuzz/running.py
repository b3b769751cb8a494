"""Running many cases within limits, and naming those that fail."""

from __future__ import annotations

import contextlib
import random
import resource
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tests.fuzz.targets import Target, seed_of

MAX_SECONDS = 20
MAX_MEMORY_BYTES = 2**30
"""That a case may take beyond what the process has."""


class TooSlowError(BaseException):
    """A case that takes too long. Not an Exception, lest a reader take it for damage."""


@dataclass
class Outcome:
    """What came of the cases of a target.

    Attributes:
        name: Of the target.
        read: Files that were read all the same.
        refused: Files that were refused in a sentence.
        failures: Cases that ended otherwise, by where: how often, and the first of them.
    """

    name: str
    read: int = 0
    refused: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)


def fuzz(target: Target, cases: Iterable[int]) -> Outcome:
    """Run some cases of a target in this process."""
    outcome = Outcome(type(target).__name__)
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(place)
        target.prepare(folder)
        with _little_memory():
            for case in cases:
                _attempt(target, folder, case, outcome)
    return outcome


def _attempt(target: Target, folder: Path, case: int, outcome: Outcome) -> None:
    try:
        with _in_time():
            target.attempt(folder, random.Random(seed_of(target, case)))
        outcome.read += 1
    except target.refuses as error:
        text = str(error)
        if text and "\n" not in text.strip() and len(text) < 2000:
            outcome.refused += 1
        else:
            _failed(outcome, f"no sentence: {text[:60]!r}", case)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        at = traceback.extract_tb(error.__traceback__)[-1]
        _failed(outcome, f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}", case)


def _failed(outcome: Outcome, what: str, case: int) -> None:
    outcome.failures[what] += 1
    outcome.first.setdefault(what, f"--case {outcome.name} {case}")


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    def stop(signum: int, frame: FrameType | None) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(MAX_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _little_memory() -> Iterator[None]:
    """A reader that asks for gigabytes is told that there are none."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_MEMORY_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
