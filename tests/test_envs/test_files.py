"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from periodic_envs.files import whole_file, write_atomically, write_figure


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with old bytes, alone in its folder."""
    (tmp_path / "x.png").write_bytes(b"old")
    return tmp_path / "x.png"


def test_new_bytes_replace_the_old_ones_when_all_are_written(path: Path) -> None:
    with whole_file(path) as part:
        part.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert (path.read_bytes(), os.listdir(path.parent)) == (b"new", ["x.png"])


class Figure:
    """A figure whose drawing is interrupted."""

    def savefig(self, file: Any, *, format: str, dpi: int = 100) -> None:
        assert (format, dpi) == ("png", 80)
        file.write(b"part of a picture")
        raise KeyboardInterrupt


@pytest.mark.parametrize("broken", ["fsync", "replace", None])
def test_interrupted_write_keeps_the_old_file_only(
    path: Path, monkeypatch: pytest.MonkeyPatch, broken: str | None
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    if broken is not None:
        monkeypatch.setattr(os, broken, fail)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new") if broken else write_figure(Figure(), path, dpi=80)
    assert (path.read_bytes(), os.listdir(path.parent)) == (b"old", ["x.png"])


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_mode_is_that_of_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "numbers", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "numbers").stat().st_mode & 0o777 == 0o640
