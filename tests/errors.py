"""Expect an error by its code."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def raises(kind: type[Exception], code: str) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Expect an error of a type with a code."""
    with pytest.raises(kind) as caught:
        yield caught
    assert getattr(caught.value, "code", None) == code, caught.value
