"""Editions: what they keep, what they show, and how changes after the verdict are found."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from evaluation.leaderboard.bundle import STEPS
from evaluation.leaderboard.content import boards, edition_content
from evaluation.leaderboard.edition import EDITION, LOG, Edition, EditionError
from evaluation.leaderboard.lines import HiddenRuns, Verdict
from evaluation.leaderboard.log import LogError
from evaluation.leaderboard.secret import Secret, SecretError
from evaluation.leaderboard.verify import verify
from evaluation.protocol import Protocol
from evaluation.report.page import render
from tests.test_evaluation.submissions import (
    DIGEST,
    PROTOCOL,
    ROOT,
    WORLDS,
    append,
    edit,
    submitted,
)

MAX_SHIPPED_BYTES = 4 * 10**6


@pytest.fixture(scope="module")
def pristine(tmp_path_factory) -> Path:
    return submitted(tmp_path_factory.mktemp("bundles") / "random")


@pytest.fixture
def secret(tmp_path: Path) -> Secret:
    return Secret.create(tmp_path / "secret.json")


@pytest.fixture(scope="module")
def finished(tmp_path_factory, pristine: Path) -> tuple[Path, Secret]:
    """An edition with an agent that was run again, and two strange ones that were only replayed."""
    folder = tmp_path_factory.mktemp("leaderboard") / "s1"
    secret = Secret.create(folder.parent / "secret.json")
    edition = Edition.open(folder, PROTOCOL, secret)
    edition.record(verify(pristine, PROTOCOL, through="re-run", sample=2, workers=1), secret)
    for agent, label in (("fixed", "<script>alert(1)</script>"), ("gp-ucb", "best-fixed")):
        out = submitted(folder.parent / agent, agent, authors=["B"])
        edit(out, label=label)  # whatever an author writes by hand
        edition.record(verify(out, PROTOCOL), secret)
    return folder, secret


@pytest.fixture
def edition(finished: tuple[Path, Secret], tmp_path: Path) -> Edition:
    return Edition(Path(shutil.copytree(finished[0], tmp_path / "s1")))


def test_verified_and_self_reported_are_never_mixed(edition: Edition) -> None:
    found = {board.id: list(board.about) for board in boards(edition)}
    assert found == {
        "verified-online": ["random"],
        "self-reported-online": ["<script>alert(1)</script>", "best-fixed (2)"],
    }
    for board in boards(edition):
        assert set(board.results.overall()["agent"]) == set(board.about)


def test_the_page_shows_what_was_replayed(edition: Edition) -> None:
    content = edition_content(edition)
    row = content["boards"][0]["rows"][0]
    manifest = next(a.manifest for a in edition.accepted() if a.manifest.label == "random")
    mine = [run.regret for run in manifest.runs if run.env == WORLDS[1]]
    assert row["envs"][1]["regret"][0] == pytest.approx(np.mean(mine), rel=1e-4)
    assert row["tier"] == "re-run"
    page = render(content)
    assert "<script>alert" not in page
    json.dumps(content, allow_nan=False)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (
            lambda s: edit(one(s), authors=["Somebody else"]),
            "the manifest of submission .* changed",
        ),
        (lambda s: append(one(s) / STEPS), "steps.parquet of submission .* was changed"),
        (lambda s: (one(s) / "other").mkdir(), "does not hold its two files"),
        (lambda s: (one(s) / STEPS).unlink(), "does not hold its two files"),
        (lambda s: (s.folder / LOG).unlink(), "does not end where|does not begin"),
    ],
)
def test_changes_after_the_verdict_are_found(edition: Edition, spoil, reason: str) -> None:
    assert len(edition.accepted()) == 3
    spoil(edition)
    with pytest.raises(LogError, match=reason):
        edition.accepted()


def test_an_edition_keeps_its_word(edition: Edition) -> None:
    about = json.loads((edition.folder / EDITION).read_text())
    (edition.folder / EDITION).write_text(json.dumps({**about, "salt_sha256": DIGEST}))
    with pytest.raises(LogError, match=r"edition\.json was changed"):
        Edition(edition.folder).accepted()
    for change, reason in (
        ({"format": 1}, "is of format 1, and this version of periodic-gp reads format 2"),
        ({"protocol": None}, "Expected `object`, got `null`"),
    ):
        (edition.folder / EDITION).write_text(json.dumps({**about, **change}))
        with pytest.raises(EditionError, match=reason):
            Edition(edition.folder)


def test_a_folder_that_the_log_does_not_know_is_named_and_not_shown(edition: Edition) -> None:
    (one(edition).parent / "other").mkdir()
    assert edition.strays() == ["other"]
    assert sum(len(board.about) for board in boards(edition)) == 3


def test_times_are_measured_by_the_maintainers(edition: Edition) -> None:
    """What an author says of an agent's time counts only where nobody has run it."""
    row = edition_content(edition)["boards"][0]["rows"][0]
    measured = next(a.ms_per_step for a in edition.accepted() if a.manifest.label == "random")
    assert row["ms_per_step"] == pytest.approx(measured, rel=1e-4)


def one(edition: Edition) -> Path:
    return sorted(edition.folder.glob("submissions/*"))[0]


def test_who_is_caught_later_is_named_and_not_ranked(tmp_path: Path, finished) -> None:
    edition, secret = Edition(Path(shutil.copytree(finished[0], tmp_path / "s1"))), finished[1]
    bundle = next(a.folder for a in edition.accepted() if a.manifest.label == "random")
    found = verify(bundle, PROTOCOL)
    edition.begin_trial(found.manifest.id, found.digest, "agent", secret)
    found.verdicts.append(Verdict("hidden-seed", False, "it knows the public seeds"))
    found.hidden = HiddenRuns(1, (), {})
    edition.record(found, secret)
    assert all("random" not in board.about for board in boards(edition))
    edition.record(verify(bundle, PROTOCOL), secret)  # a lower tier does not wash it clean
    assert all("random" not in board.about for board in boards(edition))
    assert any("Refused: random" in note for note in edition_content(edition)["notes"])


def test_editions_that_cannot_be_used(tmp_path: Path, secret: Secret, edition: Edition) -> None:
    with pytest.raises(EditionError, match="cannot read the edition in"):
        Edition(tmp_path)
    with pytest.raises(EditionError, match="letters, digits"):
        Edition.open(tmp_path / "an edition!", PROTOCOL, secret)
    with pytest.raises(SecretError, match="does not belong"):
        edition.check_secret(secret)
    other = {**edition.about["protocol"], "horizon": 13}
    edition.about["protocol"] = other
    with pytest.raises(EditionError, match="another version of the worlds"):
        edition.protocol()


SHIPPED = sorted((ROOT / "leaderboard").glob("*/edition.json"))


@pytest.mark.parametrize("file", SHIPPED, ids=lambda path: path.parent.name)
def test_the_published_editions_are_intact(file: Path) -> None:
    edition = Edition(file.parent)
    accepted = edition.accepted()
    assert not edition.strays()
    assert len(accepted) > 0
    assert all(one.manifest.challenge == edition.challenge for one in accepted)


@pytest.mark.parametrize("file", SHIPPED[-1:], ids=lambda path: path.parent.name)
def test_what_is_submitted_by_default_fits_the_newest_edition(file: Path) -> None:
    assert Protocol.load("edition").challenge == Edition(file.parent).challenge


@pytest.mark.parametrize("file", SHIPPED, ids=lambda path: path.parent.name)
def test_a_published_edition_is_small(file: Path) -> None:
    files = [path for path in file.parent.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MAX_SHIPPED_BYTES
