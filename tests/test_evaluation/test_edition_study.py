"""The page of an edition says what the edition's log says."""

import json
import re
from pathlib import Path

import pytest

from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.judge import Judge
from evaluation.leaderboard.secret import Secret
from evaluation.studies import edition as study
from evaluation.studies.stamp import stamps_in
from tests.test_evaluation.submissions import PROTOCOL, ROOT, submitted


@pytest.fixture
def judged(tmp_path: Path, no_sandbox: None) -> tuple[Edition, Secret]:
    """Two agents on hidden seeds, one of which nobody has run again."""
    secret = Secret.create(tmp_path / "secret.json")
    edition = Edition.open(tmp_path / "board" / "one", PROTOCOL, secret)
    how = {"without_sandbox": True, "sample": 1, "workers": 1}
    for agent, through in (
        ("random", "hidden-seed"),
        ("gp-ucb", "hidden-seed"),
        ("ucb1", "re-run"),
    ):
        bundle = submitted(tmp_path / agent, agent)
        _, accepted = Judge(edition, secret, through=through, **how).judge(bundle)
        assert accepted
    return edition, secret


def test_the_page_of_an_edition(judged: tuple[Edition, Secret], tmp_path: Path, capsys) -> None:
    edition, secret = judged
    board = ["--folder", str(edition.folder.parent)]
    study.main([*board, "--docs", str(tmp_path)])
    page = (tmp_path / "edition.md").read_text()
    assert "still open" in page
    assert edition.log.head in page
    assert "3 agents in 2 worlds, 4 seeds each" in page
    (stamp,) = stamps_in(page)
    assert set(stamp.code["agents"]) == {"random", "gp-ucb", "ucb1"}

    kept = json.loads((tmp_path / "edition.json").read_text())
    said = {
        one.manifest.label: re.findall(r"normalised regret ([\d.]+) on", verdict.words)
        for one in edition.accepted()
        for line in one.verdicts
        for verdict in line.verdicts
        if verdict.tier == "hidden-seed"
    }
    assert {name: [f"{kept[name]['hidden']['estimate']:.3f}"] for name in said} == said
    assert kept["ucb1"]["hidden"] is None  # it was not tried there
    order = re.findall(r"^\| `([\w-]+)` \| \d", page, re.MULTILINE)
    assert order == sorted(kept, key=lambda name: kept[name]["public"]["estimate"])

    edition.close(secret)
    study.main(board)
    assert "is closed: the salt" in capsys.readouterr().out


def test_an_edition_that_is_not_there_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="there is no edition in"):
        study.main(["--folder", str(tmp_path)])


def test_the_published_page_is_of_the_published_edition() -> None:
    edition = study.find_edition(ROOT / "leaderboard", None)
    page = (ROOT / "docs" / "edition.md").read_text()
    assert f"# Edition {edition.name} " in page
    assert edition.log.head in page
