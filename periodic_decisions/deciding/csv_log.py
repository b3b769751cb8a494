"""The log of a decider as a CSV file, which anybody's reader of tables understands."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

from periodic_decisions.deciding.errors import DeciderError
from periodic_decisions.deciding.knowledge import Knowledge
from periodic_envs.files import write_atomically

COLUMNS = ("time", "arm", "reward", "probability", "choice_id")
"""Not "id", which readers of tables take for the arm."""


def write_log(known: Knowledge, path: Path) -> None:
    """Write the log: a line for each choice, times with their offset where there is a zone.

    Raises:
        DeciderError: If the file cannot be written.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for entry in known.journal:
        numbers = ("" if math.isnan(x) else repr(x) for x in (entry.reward, entry.probability))
        when = entry.moment.isoformat(sep=" ")
        writer.writerow((when, known.names[entry.arm], *numbers, entry.id))
    try:
        write_atomically(path, text.getvalue().encode())
    except OSError as error:
        raise DeciderError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
