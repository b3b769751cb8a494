"""Process of the agent in a sandbox, without access to the world, the seed or the regret.

The process reads requests from the worker, calls the agent, and answers each request with one line
of JSON.
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
    """Create the agent and answer requests from the worker until the pipe is closed."""
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # text that the agent prints must not mix with answers
        os.dup2(nowhere, standard)

    def answer(*parts: Any) -> None:
        answers.write(json.dumps(parts, default=lambda odd: repr(odd)[:200]).encode() + b"\n")
        answers.flush()

    answers.write(b"started\n")  # later errors count as failures of the agent
    answers.flush()
    try:
        # Pickle is safe only in this direction, since the worker is trusted.
        spec, problem, rng, learned, memory_mb, code = pickle.load(questions)
        set_limits(memory_mb)
        define(spec.name, code)
        player = LocalAgent(spec, problem, rng, learned)
        answer("action", None, "")
        for line in questions:
            arrived, values, token = json.loads(line)
            action = player.act(arrived, None if values is None else np.array(values))
            answer("action", action.tolist() if isinstance(action, np.ndarray) else action, token)
    except BaseException as error:  # agents can raise any error, including SystemExit
        memory = isinstance(error, MemoryError)
        answer("error", "the agent exceeded its memory limit" if memory else reason_of(error))
    finally:
        os._exit(0)


def set_limits(memory_mb: float) -> None:
    """Set resource limits that an unprivileged process cannot raise again."""
    import resource  # available, since sandboxes require Linux

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
