"""The page of an edition says what the edition's log says."""

import json
import re
import shutil
from pathlib import Path

import pytest

from evaluation.leaderboard.audit import rerun_edition
from evaluation.leaderboard.content import boards
from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.judge import Judge
from evaluation.leaderboard.secret import Secret
from evaluation.leaderboard.standing import Accepted
from evaluation.leaderboard.submit import submit
from studies.edition import page, study
from studies.stamp import stamps_in
from tests.test_evaluation.conftest import without_sandbox
from tests.test_evaluation.submissions import CHEAT, PROTOCOL, ROOT, entry, submitted

STRANGER = f"{ROOT / 'examples' / 'custom_agent.py'}:EpsilonGreedy"


@pytest.fixture(scope="module")
def judged_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Secret]:
    """Two agents on hidden seeds, a stranger that was only run again, and one who was caught.

    Made once: it takes half a minute.
    """
    tmp_path = tmp_path_factory.mktemp("judged")
    secret = Secret.create(tmp_path / "secret.json")
    edition = Edition.open(tmp_path / "board" / "one", PROTOCOL, secret)
    how = {"without_sandbox": True, "sample": 1, "workers": 1}
    with pytest.MonkeyPatch.context() as patch:
        without_sandbox(patch)
        for name in ("random", "gp-ucb"):
            bundle = submitted(tmp_path / name, name)
            assert Judge(edition, secret, through="hidden-seed", **how).judge(bundle)[1]
        for name, through, welcome in (
            (STRANGER, "re-run", True),
            (f"{CHEAT}:Memoriser", "hidden-seed", False),
        ):
            label = name.rpartition(":")[2]
            submit(entry(name, label), PROTOCOL, tmp_path / label, authors=["S"], workers=1)
            judge = Judge(edition, secret, through=through, agent=name, **how)
            assert judge.judge(tmp_path / label)[1] == welcome
    return edition.folder, secret


@pytest.fixture
def judged(
    judged_once: tuple[Path, Secret], tmp_path: Path, no_sandbox: None
) -> tuple[Edition, Secret]:
    """A copy of it, to be closed or changed."""
    folder, secret = judged_once
    return Edition(shutil.copytree(folder, tmp_path / "board" / folder.name)), secret


def order_of(text: str) -> list[str]:
    """The agents of the ranking."""
    return re.findall(r"^\| `([\w-]+)`(?: \*)? \| \d", text, re.MULTILINE)


def test_the_page_of_an_edition(judged: tuple[Edition, Secret], tmp_path: Path, capsys) -> None:
    edition, secret = judged
    board = ["--folder", str(edition.folder.parent)]
    page.main([*board, "--docs", str(tmp_path)])
    text = (tmp_path / "edition.md").read_text()
    assert edition.log.head in text
    for words in (
        "3 agents that learn online in 2 worlds, 4 seeds each: 2 of periodic-gp",
        "It then ran 2 of the 3 on 10 hidden seeds",
        "Not all of them were run in a sandbox",
        "still open",
        "it has refused 1. ",
        "All agents have their defaults.",
        "| `EpsilonGreedy` * |",
    ):
        assert words in text, words
    for one in edition.accepted():
        assert f"| `{one.manifest.id}` |" in text
    (stamp,) = stamps_in(text)
    assert set(stamp.code["agents"]) == {"random", "gp-ucb"}  # the stranger's code is not here

    kept = json.loads((tmp_path / "edition.json").read_text())
    said = {
        one.manifest.label: re.findall(r"normalised regret ([\d.]+) on", verdict.words)
        for one in edition.accepted()
        for line in one.verdicts
        for verdict in line.verdicts
        if verdict.tier == "hidden-seed"
    }
    assert {name: [f"{kept[name]['hidden']['estimate']:.3f}"] for name in said} == said
    assert kept["EpsilonGreedy"]["hidden"] is None
    (others,) = re.findall(r"It is so with\n(.*?)\.\n", text)
    close = {name for name, row in kept.items() if row["close"]}
    assert set(re.findall(r"`([\w-]+)`", others)) == close - {order_of(text)[0]}
    assert order_of(text) == sorted(kept, key=lambda name: kept[name]["public"]["estimate"])

    edition.close(secret)
    page.main(board)
    assert "The edition is closed: its log begins" in capsys.readouterr().out


def test_who_leads_in_every_world(judged: tuple[Edition, Secret]) -> None:
    edition, _ = judged
    assert rerun_edition(edition, 0, workers=1).strangers == ["EpsilonGreedy"]
    (board,) = [board for board in boards(edition) if board.id == page.BOARD]
    for found in study.Study(edition, board).leaders():
        means = board.results.regrets(found.world)[["random", "gp-ucb", "EpsilonGreedy"]].mean()
        assert [agent for agent, _ in found.best] == list(means.sort_values().index)
        assert 0 <= found.close <= 2


def test_clearly_worse_is_of_the_paired_difference() -> None:
    least = [1.0, 5.0, 9.0, 13.0, 17.0, 21.0]
    noise = [0.3, -0.1, 0.2, -0.2, 0.1, -0.3]
    assert study.clearly_worse([x + 1.0 + e for x, e in zip(least, noise, strict=True)], least)
    assert not study.clearly_worse([x + e for x, e in zip(least, noise, strict=True)], least)
    assert not study.clearly_worse([x - 1.0 + e for x, e in zip(least, noise, strict=True)], least)


def test_no_page_is_stamped_with_code_that_did_not_make_it(
    judged: tuple[Edition, Secret], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Accepted, "is_stale", property(lambda one: one.manifest.label == "gp-ucb"))
    with pytest.raises(SystemExit, match=r"made with an earlier version: gp-ucb$"):
        page.main(["--folder", str(judged[0].folder.parent), "--docs", str(tmp_path)])
    assert not (tmp_path / "edition.md").exists()


def test_an_edition_that_is_not_there_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="there is no edition in"):
        page.main(["--folder", str(tmp_path)])


def test_the_published_page_is_of_the_published_edition() -> None:
    edition = page.find_edition(ROOT / "leaderboard", None)
    text = (ROOT / "docs" / "edition.md").read_text(encoding="utf-8")
    assert f"# Edition {edition.name} " in text
    assert edition.log.head in text
    kept = json.loads((ROOT / "docs" / "edition.json").read_text(encoding="utf-8"))
    said = {
        one.manifest.label: float(words[0])
        for one in edition.accepted()
        for line in one.verdicts
        for verdict in line.verdicts
        if (words := re.findall(r"hidden seeds of each world, ([\d.]+) on", verdict.words))
    }
    online = {name: round(row["public"]["estimate"], 3) for name, row in kept.items()}
    assert online == {name: regret for name, regret in said.items() if name in online}
