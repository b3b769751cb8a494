"""The lower bounds of pyproject.toml as constraints for pip: ``python tests/lowest.py EXTRA ...``.

Run before the project is installed, so it needs nothing but ``packaging`` (and ``tomli`` before
Python 3.11).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def required(project: dict[str, Any], extras: Iterable[str]) -> Iterator[Requirement]:
    """Yield what is installed with these extras, and with the extras that they include."""
    waiting, seen = [*extras], set[str]()
    texts = [*project["dependencies"]]
    while waiting:
        extra = waiting.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for text in project["optional-dependencies"][extra]:
            if Requirement(text).name == project["name"]:
                waiting += Requirement(text).extras
            else:
                texts.append(text)
    for requirement in map(Requirement, texts):
        if requirement.marker is None or requirement.marker.evaluate():
            yield requirement


def lowest(requirement: Requirement) -> str:
    """Return the constraint that holds a package at its lowest promised version."""
    bounds = [bound.version for bound in requirement.specifier if bound.operator in (">=", "==")]
    if len(bounds) != 1:
        raise SystemExit(
            f"{requirement} in pyproject.toml has no lower bound: write {requirement.name}>=..."
        )
    return f"{requirement.name}=={bounds[0]}"


def main() -> None:
    """Print one line for every package."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    print(*sorted(map(lowest, required(project, sys.argv[1:]))), sep="\n")


if __name__ == "__main__":
    main()
