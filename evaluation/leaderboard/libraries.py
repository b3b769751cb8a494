"""Libraries that an agent's code needs and that are not installed here: read, not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from evaluation.keys import find_package, own_files


def missing_libraries(name: str) -> list[str]:
    """What an agent's files import when they are loaded and nobody could import here.

    It is asked before the agent is run: what that says of itself is no excuse. An import within a
    function, or one that may fail (``try``), is not counted.

    Args:
        name: The agent, as for :class:`agents.registry.AgentSpec`.
    """
    files = [path for path in own_files(name) if path.suffix == ".py"]
    own = {path.stem for path in files} | {path.parent.name for path in files}
    needed = {top for path in files for top in _imported(path)}
    return sorted(top for top in needed - own if find_package(top) is None)


def _imported(path: Path) -> Iterator[str]:
    """The packages that a file imports as a whole, by the first parts of their names."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # said when it is run
        return
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]
