"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from periodic_envs.files import whole_file, write_atomically, write_figure


def test_the_new_bytes_replace_the_old_ones(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["numbers"]


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_an_error_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["numbers"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_the_mode_is_that_of_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "numbers", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "numbers").stat().st_mode & 0o777 == 0o640


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_atomically(tmp_path / "nowhere" / "numbers", b"")


def test_what_is_written_in_pieces_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with whole_file(path) as part:
        part.write_text("half")
        assert path.read_text() == "old"
    assert path.read_text() == "half"
    assert os.listdir(tmp_path) == ["table.csv"]


class Figure:
    """Draws a part, and is interrupted."""

    def savefig(self, file: Any, *, format: str, dpi: int = 100) -> None:
        assert (format, dpi) == ("png", 80)
        file.write(b"part of a picture")
        raise KeyboardInterrupt


def test_a_picture_that_is_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "x.PNG"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_figure(Figure(), path, dpi=80)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x.PNG"]
