"""The side of a sandbox that has the agent: no world, no seed, no regret.

It reads what the worker sends, asks the agent, and answers one line of JSON.
"""

from __future__ import annotations

import json
import os
import pickle
from typing import Any

import numpy as np

from evaluation.limits import address_space, reason_of
from evaluation.notebook import define
from evaluation.play import LocalAgent

MAX_FILE_BYTES = 2**26
MAX_OPEN_FILES, MAX_PROCESSES = 256, 4096


def main() -> None:
    """Make the agent that the worker names, and answer its questions until it hangs up."""
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # what an agent prints could pass for the harness's words
        os.dup2(nowhere, standard)

    def answer(*parts: Any) -> None:
        answers.write(json.dumps(parts, default=lambda odd: repr(odd)[:200]).encode() + b"\n")
        answers.flush()

    answers.write(b"started\n")  # whatever goes wrong from now on is the agent's
    answers.flush()
    try:
        # The worker's own words may be pickled; the agent's may not.
        spec, problem, rng, learned, memory_mb, code = pickle.load(questions)
        set_limits(memory_mb)
        define(spec.name, code)
        player = LocalAgent(spec, problem, rng, learned)
        answer("action", None, "")
        for line in questions:
            arrived, values, token = json.loads(line)
            action = player.act(arrived, None if values is None else np.array(values))
            answer("action", action.tolist() if isinstance(action, np.ndarray) else action, token)
    except BaseException as error:  # an agent can fail in any way, sys.exit() included
        memory = isinstance(error, MemoryError)
        answer("error", "the agent took more memory than it may" if memory else reason_of(error))
    finally:
        os._exit(0)


def set_limits(memory_mb: float) -> None:
    """Limit this process for good: without privileges it cannot raise the limits again."""
    import resource  # a sandbox is a Linux system

    limits = {
        resource.RLIMIT_FSIZE: MAX_FILE_BYTES,
        resource.RLIMIT_NOFILE: MAX_OPEN_FILES,
        resource.RLIMIT_NPROC: MAX_PROCESSES,
        resource.RLIMIT_CORE: 0,
    }
    most = address_space(memory_mb)
    if most is not None:
        limits[resource.RLIMIT_AS] = most
    for limit, value in limits.items():
        hard = resource.getrlimit(limit)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (value, value))
