"""Imported by the server that workers are forked from: what all of them need is done here once."""

from __future__ import annotations

import contextlib

from evaluation.running.process import hide_from_others
from evaluation.running.worker import prepare

hide_from_others()  # its memory is what workers begin with
with contextlib.suppress(Exception):  # a worker does it again, and its error can be read
    prepare()
