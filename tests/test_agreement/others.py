"""Other people's code: imported if it is there, and made to run with today's SciPy."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

SMPYBANDITS = "SMPyBandits"


class NotThereError(Exception):
    """An implementation that cannot be imported: a few words that say why."""


def library(module: str) -> Any:
    """A module of somebody else's, without what it prints."""
    if module.startswith(SMPYBANDITS):
        _give_back_btdtri()
    try:
        with quiet():
            return import_module(module)
    except ImportError as error:
        raise NotThereError(f"{module.partition('.')[0]}: {error}") from error


def _give_back_btdtri() -> None:
    """SciPy 1.14 renamed a function that SMPyBandits 0.9.7 imports."""
    special: Any = import_module("scipy.special")
    if not hasattr(special, "btdtri"):
        special.btdtri = special.betaincinv


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing is printed: SMPyBandits says much while it is imported and made."""
    nowhere = io.StringIO()
    with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        yield


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """The global generators that SMPyBandits draws from, put back afterwards."""
    before, state = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(state)  # noqa: NPY002
