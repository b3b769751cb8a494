"""Inventories of other projects, to link to their documentation."""

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
    """Return a value of ``intersphinx_mapping`` that also works without a network.

    If Sphinx cannot download the inventory of a project, it uses an empty inventory, which this
    function writes. The types of that project then have no links, and Sphinx logs a note instead of
    a warning.

    Args:
        folder: Folder for the empty inventory.
        projects: Addresses of the documentation by name of the project.
    """
    empty = folder / "empty.inv"
    folder.mkdir(parents=True, exist_ok=True)
    empty.write_bytes(_EMPTY.encode() + zlib.compress(b""))
    return {name: (address, (None, str(empty))) for name, address in projects.items()}
