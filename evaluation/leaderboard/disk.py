"""Files and folders that survive a power cut: there as a whole, or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from periodic_envs.files import settle, write_durably


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder with these files, which appears when it is complete.

    What is there under its name already is replaced, unless it holds these very files.
    """
    if _holds(folder, files):
        return
    part = part_of(folder)
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for name, data in files.items():
        write_durably(part / name, data)
    shutil.rmtree(folder, ignore_errors=True)
    move(part, folder)


def part_of(folder: Path) -> Path:
    """Where a folder is made until it is complete."""
    return folder.with_name(f".{folder.name}.part")


def move(part: Path, folder: Path) -> None:
    """Give a complete folder its name."""
    os.replace(part, folder)
    settle(folder.parent)


def sweep(folder: Path) -> None:
    """Remove what was left half written by a process that was killed."""
    for path in folder.glob(".*.part"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _holds(folder: Path, files: Mapping[str, bytes]) -> bool:
    try:
        there = {path.name: path.read_bytes() for path in folder.iterdir()}
    except OSError:
        return False
    return there == dict(files)
