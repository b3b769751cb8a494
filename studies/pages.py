"""Pages of studies: written as a whole, or part by part into a text by hand; always stamped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from periodic_envs.files import write_atomically
from studies.stamp import Stamp

SIMULATOR = "MadridSim"
SIMULATED = (
    f"*{SIMULATOR} is simulated: nitric oxide at Madrid's stations, from a simulator that was "
    "fitted to measurements ([how like them it is](madrid_simulator.md)).*"
)
"""What every page says that has figures of it."""


class PageError(ValueError):
    """A page that has no place for what is to be written: one sentence that says which."""


def stamped(text: str, stamps: Iterable[Stamp]) -> str:
    """A page with its stamps at the end."""
    return "\n".join([with_note(text), *(stamp.written() for stamp in stamps)])


def with_note(text: str) -> str:
    """A page that says below its title what in it is simulated, if anything is."""
    if SIMULATOR not in text:
        return text
    title, _, rest = text.partition("\n\n")
    parts = [title, SIMULATED, rest] if title.startswith("# ") else [SIMULATED, text]
    return "\n\n".join(parts)


def write_page(
    folder: Path, stem: str, text: str, numbers: object, stamps: Iterable[Stamp]
) -> Path:
    """Write a page and, beside it, its numbers as JSON; the page's path."""
    page = folder / f"{stem}.md"
    write_atomically(page, stamped(text, stamps).encode())
    write_atomically(folder / f"{stem}.json", f"{json.dumps(numbers, indent=1)}\n".encode())
    return page


def require_parts(page: Path, parts: Sequence[str]) -> None:
    """Refuse a page without a place for each part: now, not after the runs.

    Raises:
        PageError: One sentence, if there is no page or a part has no place in it.
    """
    if not page.is_file():
        raise PageError(f"there is no page {str(page)!r} to write tables into")
    text = page.read_text(encoding="utf-8")
    for part in parts:
        begin, end = _marks(part)
        if text.count(begin) != 1 or end not in text.partition(begin)[2]:
            raise PageError(f"{str(page)!r} has no place {begin} ... {end}")


def write_part(page: Path, text: str, stamp: Stamp) -> None:
    """Write a part into its place in a page, with its stamp; all else is left as it is."""
    require_parts(page, [stamp.part])
    begin, end = _marks(stamp.part)
    head, _, rest = page.read_text(encoding="utf-8").partition(begin)
    tail = rest.partition(end)[2]
    content = f"{head}{begin}\n{text}\n\n{stamp.written()}{end}{tail}"
    write_atomically(page, content.encode())


def _marks(part: str) -> tuple[str, str]:
    """What stands before a part and behind it."""
    return f"<!-- {part} -->", f"<!-- end of {part} -->"
