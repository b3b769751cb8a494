"""The leaderboard's page in the site: made once, and a failure is said."""

from pathlib import Path

import pytest

from site_pages import board  # isort: skip


def test_a_page_that_was_kept_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "hash_of", lambda *_: "same")
    monkeypatch.setattr(board.subprocess, "Popen", lambda *_, **__: pytest.fail("made again"))
    kept = tmp_path / "leaderboard-same.html"
    kept.write_text('<header class="top"><h1>the page</h1></header>')
    (tmp_path / board.PLOTLY).write_text("the library")
    page = board.Board(tmp_path)
    page.start()
    assert page.finish(tmp_path) == ""
    text = (tmp_path / board.PAGE).read_text()
    assert text.endswith("<h1>the page</h1></header>")
    assert '<a href="index.html">' in text
    assert f'<a href="{board.HOW_TO}">How to hand in an agent</a>' in text
    assert (board.ROOT / "docs" / board.HOW_TO).with_suffix(".md").is_file()
    kept.write_text("another page")
    assert "for the link to the site" in page.finish(tmp_path)


def test_why_there_is_no_page_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "LEADERBOARD", tmp_path)
    page = board.Board(tmp_path / "cache")
    page.start()
    assert "no edition in" in page.finish(tmp_path)
    assert not (tmp_path / board.PAGE).exists()


def test_another_log_is_another_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "LEADERBOARD", tmp_path)
    log = tmp_path / "log.jsonl"
    log.write_text("one line")
    before = board.Board(tmp_path)._kept
    assert board.Board(tmp_path)._kept == before
    log.write_text("two lines")
    assert board.Board(tmp_path)._kept != before
