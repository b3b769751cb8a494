"""Which pages were made with other code than the one that is installed: ``periodic-gp stale``.

What a page rests on and a study has kept in a file of its own is listed with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from agents.registry import online_names
from evaluation.running.process import ROOT
from studies.stamp import GONE, Stamp, StampError, code_of, stamps_in
from studies.zoo.widths import COMMAND, unfinished

PAGES = {
    "agreement.md": "python -m studies.agreement --docs docs",
    "auto-gp.md": "python -m studies.flagship",
    "beyond.md": "python -m studies.beyond --docs docs",
    "delay.md": "python -m studies.delay --docs docs",
    "logs.md": "python -m studies.ope --docs docs",
    "madrid_simulator.md": "python -m studies.madrid.compare",
    "peers.md": "python -m studies.peers --docs docs",
    "reproduction.md": "periodic-gp reproduce",
    "rl.md": "python -m studies.rl --docs docs",
    "sensitivity.md": "python -m studies.sensitivity --docs docs",
    "shift.md": "python -m studies.shift --docs docs",
    "zoo.md": "periodic-gp zoo",
}
"""The pages that studies write, with what makes them anew."""
KEPT = {"zoo.md": "studies/zoo/widths.json"}
"""Files of studies' findings, with a stamp in them, by the page that rests on each."""
MANY = 5
"""Names from so many on are counted where all have changed."""


@dataclass(frozen=True)
class Finding:
    """What is known about a page, or about a part of it.

    Attributes:
        page: Its name.
        command: What makes it anew.
        made: When it was made: the version and the commit; empty if that is not known.
        changes: What has changed since, in words; empty if nothing has.
        part: Which part of the page, empty for all of it.
    """

    page: str
    command: str
    made: str
    changes: tuple[str, ...] = ()
    part: str = ""

    @property
    def state(self) -> str:
        """One word for it."""
        return "unknown" if not self.made else "stale" if self.changes else "fresh"


def findings(folder: Path, root: Path = ROOT) -> Iterator[Finding]:
    """All pages of a folder that studies write or have stamped, part by part.

    Args:
        folder: Where the pages are.
        root: The folder of the packages that they are held against.
    """
    for path in sorted(folder.glob("*.md")):
        command = PAGES.get(path.name, "")
        try:
            stamps = stamps_in(path.read_text(encoding="utf-8"))
        except StampError as error:
            yield Finding(path.name, command, "", (str(error),))
            continue
        if command and not stamps:
            yield Finding(path.name, command, "", ("it has no stamp",))
        yield from (_finding(path.name, stamp, root) for stamp in stamps)


def kept_findings(folder: Path, root: Path = ROOT) -> Iterator[Finding]:
    """The files that pages of a folder rest on. Arguments as above."""
    for page, file in KEPT.items():
        if not (folder / page).is_file():
            continue
        try:
            stamp = msgspec.json.decode((root / file).read_bytes(), type=_Kept).stamp
        except (OSError, msgspec.MsgspecError) as error:
            why = f"its stamp cannot be read: {error}"
            yield Finding(Path(file).name, COMMAND, "", (why,))
            continue
        found = _finding(Path(file).name, stamp, root)
        yield replace(found, changes=(*found.changes, *unfinished()))


class _Kept(msgspec.Struct):
    """A file of findings, of which only the stamp is read."""

    stamp: Stamp


def _finding(page: str, stamp: Stamp, root: Path) -> Finding:
    commit = f", commit {stamp.commit[:7]}{stamp.commit[40:]}" if stamp.commit else ""
    made = f"version {stamp.version}{commit}"
    return Finding(page, stamp.command, made, tuple(changes(stamp, root)), stamp.part)


def changes(stamp: Stamp, root: Path = ROOT) -> Iterator[str]:
    """What has changed since a page was stamped, in words."""
    now = code_of(stamp.code, root)
    for kind, names in stamp.code.items():
        gone = [name for name in names if now[kind][name] == GONE]
        if gone:
            yield f"{kind} that are gone or not installed {', '.join(gone)}"
        changed = [name for name in names if now[kind][name] not in (names[name], GONE)]
        if changed:
            yield f"{kind} {_listed(changed, len(names))}"
    new = [name for name in online_names() if name not in stamp.code.get("agents", {})]
    if stamp.every_agent and new:
        yield f"agents that are new {', '.join(new)}"


def _listed(changed: Sequence[str], count: int) -> str:
    return f"all {count}" if len(changed) == count >= MANY else ", ".join(changed)
