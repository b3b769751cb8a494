"""Writing a file whole or not at all."""

import os
import uuid
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that whoever reads it sees the old bytes or the new ones, never a part.

    The bytes go to a file beside it first, which is removed if anything goes wrong.
    """
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
