"""Commands print what their transcripts hold."""

from pathlib import Path

import pytest

from tests.snapshots.transcripts import names, path_of, replay


@pytest.mark.parametrize("name", names())
def test_command_prints_its_transcript(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERIODIC_GP_DATA", str(tmp_path / "data"))
    expected = path_of(name).read_text(encoding="utf-8")
    assert "\n".join(replay(expected, tmp_path)).rstrip() + "\n" == expected
