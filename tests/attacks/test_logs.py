"""Whoever can write into the folder of an edition, but has no key."""

import json
import shutil
from pathlib import Path

import pytest

from evaluation.leaderboard.edition import EDITION, LOG, Edition
from evaluation.leaderboard.hidden import HiddenSeeds
from evaluation.leaderboard.log import Log, LogError
from evaluation.leaderboard.secret import Secret
from evaluation.leaderboard.verify import verify
from tests.test_evaluation.submissions import PROTOCOL, append, submitted

from .catalogue import NOT_STOPPED, attack


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("editions") / "e1"
    secret = Secret.create(folder.parent / "secret.json")
    edition = Edition.open(folder, PROTOCOL, secret)
    edition.record(verify(submitted(folder.parent / "bundle"), PROTOCOL), secret)
    return folder


@pytest.fixture
def edition(made: Path, tmp_path: Path) -> Edition:
    return Edition(Path(shutil.copytree(made, tmp_path / "e1")))


def lines(edition: Edition) -> list[bytes]:
    return (edition.folder / LOG).read_bytes().splitlines(keepends=True)


@attack(stopped_by="log", how="every line is signed and holds the hash of the line before")
def test_changed_line(edition: Edition) -> None:
    """Write a better verdict into the log."""
    first, last = lines(edition)
    (edition.folder / LOG).write_bytes(first + last.replace(b"replayed", b"hidden-seed"))
    with pytest.raises(LogError, match="was changed"):
        edition.accepted()


@attack(stopped_by="log", how="a signed head says how many lines there are")
def test_cut_log(edition: Edition) -> None:
    """Cut a refusal off the end of the log."""
    (edition.folder / LOG).write_bytes(lines(edition)[0])
    with pytest.raises(LogError, match=r"log\.head"):
        edition.accepted()


@attack(stopped_by="log", how="only the edition's key signs lines that are read")
def test_foreign_line(edition: Edition, tmp_path: Path) -> None:
    """Add a line that one has signed oneself."""
    stranger = Secret.create(tmp_path / "stranger.json")
    forged = Log(tmp_path / "forged.jsonl", stranger.public_key)
    forged.append({"kind": "verdict"}, stranger.key)
    with (edition.folder / LOG).open("ab") as file:
        file.write((tmp_path / "forged.jsonl").read_bytes())
    with pytest.raises(LogError, match="was changed"):
        edition.accepted()


@attack(
    stopped_by=NOT_STOPPED,
    how="older files are as well signed as newer ones: compare the head with the published one",
)
def test_older_state(made: Path, edition: Edition) -> None:
    """Put the log and its head back to an older state, both together."""
    files = [edition.folder / name for name in (LOG, "log.head")]
    before = [file.read_bytes() for file in files]
    secret = Secret.load(made.parent / "secret.json")
    edition.log.append({"kind": "verdict", "verdicts": []}, secret.key)
    newer = edition.log.head
    for file, content in zip(files, before, strict=True):
        file.write_bytes(content)
    assert len(edition.accepted()) == 1
    assert edition.log.head != newer


@attack(stopped_by="log", how="the log knows the hashes of all files of a submission")
def test_changed_steps(edition: Edition) -> None:
    """Change the steps of a submission after it was accepted."""
    (folder,) = (edition.folder / "submissions").iterdir()
    append(folder / "steps.parquet")
    with pytest.raises(LogError, match="was changed"):
        edition.accepted()


@attack(
    stopped_by="log", how="rows come from the log alone; `check` names folders it does not know"
)
def test_foreign_folder(edition: Edition) -> None:
    """Lay a submission of one's own among the accepted ones."""
    (edition.folder / "submissions" / ("f" * 64)).mkdir()
    assert edition.strays() == ["f" * 64]
    assert len(edition.accepted()) == 1


@attack(
    stopped_by="log",
    how="the hash of the salt is in the signed opening, and the salt in the closing",
)
def test_other_salt(edition: Edition) -> None:
    """As a maintainer, choose hidden seeds after the fact: another salt than the published one."""
    about = json.loads((edition.folder / EDITION).read_text())
    (edition.folder / EDITION).write_text(json.dumps({**about, "salt_sha256": "0" * 64}))
    with pytest.raises(LogError, match="was changed"):
        Edition(edition.folder).accepted()
    assert HiddenSeeds(b"a", "x", 1).worlds != HiddenSeeds(b"b", "x", 1).worlds
