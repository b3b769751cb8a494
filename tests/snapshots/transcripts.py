"""Run the commands of a transcript and normalise their output."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.console import call
from tests.snapshots.files import PREPARE

FOLDER = Path(__file__).parent
PROMPT = "$ "
CHANGING = (
    (r"\d+([.,]\d+)* (µs|ms|s|seconds|minutes)\b", "# seconds"),
    (r"(?m)^.*about # seconds left.*\n", ""),
    (r"(?m)(?<=  )(\d+) +\d+\.\d{3}(?=  |$)", r"\1     #.###"),
    (r"\b[0-9a-f]{12,64}\b", "HASH"),
    (r"\b\d+-[0-9a-f]{6}\b", "ID"),
    (r"\b[\d,]+ bytes\b", "# bytes"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", "TIME"),
    (r" line \d+\)", " line #)"),
)
"""Parts of the output that differ between runs, with their replacements."""
BOXES = re.compile(r"[\u2500-\u257f]+")


def names() -> list[str]:
    """Return the names of all transcripts."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def path_of(name: str) -> Path:
    """Return the file of a transcript."""
    return FOLDER / f"{name}.txt"


def commands_in(text: str) -> list[str]:
    """Return the lines of a transcript that are commands or comments."""
    return [line for line in text.splitlines() if line.startswith((PROMPT, "#"))]


def replay(text: str, folder: Path) -> Iterator[str]:
    """Run the commands of a transcript in a folder and yield the lines of the new one."""
    for line in commands_in(text):
        yield line
        if line.startswith(PROMPT):
            yield from output_of(line.removeprefix(PROMPT), folder)
            yield ""


def output_of(command: str, folder: Path) -> Iterator[str]:
    """Run a command and yield its output, its errors and its exit code if that is not 0."""
    program, *words = shlex.split(command)
    if program == "prepare":
        for name in words:
            PREPARE[name](folder)
        return
    assert program == "periodic-gp", command
    result = call(*words, cwd=folder)
    yield from normalised(result.stdout, folder)
    yield from normalised(result.stderr, folder)
    if result.returncode:
        yield f"[exit code {result.returncode}]"


def normalised(output: str, folder: Path) -> Iterator[str]:
    """Yield the lines of an output without boxes and without parts that differ between runs."""
    text = output.replace(str(folder), "FOLDER")
    for pattern, name in CHANGING:
        text = re.sub(pattern, name, text)
    for line in text.splitlines():
        words = BOXES.sub(" ", line).strip() if BOXES.search(line) else line.rstrip()
        if words:
            yield f"  {words}"
