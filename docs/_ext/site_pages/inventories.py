"""Names of other projects, to link to: their inventories are fetched where that is asked for."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

PROJECTS = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "pandas": "https://pandas.pydata.org/docs",
    "gymnasium": "https://gymnasium.farama.org",
}
_EMPTY = """# Sphinx inventory version 2
# Project: nothing
# Version: 0
# The remainder of this file is compressed using zlib.
"""


def mapping(
    folder: Path, projects: Mapping[str, str] = PROJECTS
) -> dict[str, tuple[str, tuple[str | None, ...]]]:
    """A value of ``intersphinx_mapping`` that needs no network.

    What cannot be fetched is taken for an empty inventory, which this writes: types of that project
    have no links then, and Sphinx issues a note instead of a warning.

    Args:
        folder: Where the empty inventory goes.
        projects: Addresses by name.
    """
    empty = folder / "empty.inv"
    folder.mkdir(parents=True, exist_ok=True)
    empty.write_bytes(_EMPTY.encode() + zlib.compress(b""))
    return {name: (address, (None, str(empty))) for name, address in projects.items()}
