"""Attackers who can write into the folder of an edition, and its maintainers."""

import json
import shutil
from pathlib import Path

import pytest

from evaluation.leaderboard.bundle import LeaderboardError
from evaluation.leaderboard.edition import LOG, Abandoned, Edition, EditionError
from evaluation.leaderboard.judge import HiddenSeeds, batches, check, judge
from tests.test_evaluation.submissions import TOML, submitted

from .catalogue import NOT_STOPPED, attack


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("editions")
    (folder / "small.toml").write_text(TOML)
    edition = Edition.open(folder / "e1", str(folder / "small.toml"))
    edition.add(submitted(folder / "bundle"))
    judge(edition, isolation="none", sample=1, workers=2)
    return edition.folder


@pytest.fixture
def edition(made: Path, tmp_path: Path) -> Edition:
    return Edition(Path(shutil.copytree(made, tmp_path / "e1")))


def lines(edition: Edition) -> list[bytes]:
    return (edition.folder / LOG).read_bytes().splitlines(keepends=True)


def write(edition: Edition, log: list[bytes]) -> Edition:
    (edition.folder / LOG).write_bytes(b"".join(log))
    return Edition(edition.folder)


@attack(
    stopped_by="log",
    how="every line holds the hash of the line before, and `check` compares verdicts with regrets "
    "and the head with the published one",
)
def test_changed_line(edition: Edition) -> None:
    """Write a better verdict into the log."""
    head, log = edition.head, lines(edition)
    with pytest.raises(EditionError, match="does not hold the hash"):
        write(edition, [log[0], log[1].replace(b'"time":"2', b'"time": "2'), *log[2:]])
    changed = write(edition, [*log[:-1], log[-1].replace(b'"passed":true', b'"passed":false')])
    with pytest.raises(EditionError, match="is not that of its regrets"):
        check(changed)
    changed = write(edition, [*log[:-1], log[-1].replace(b'ms_per_step":{', b'ms_per_step": {')])
    with pytest.raises(EditionError, match="published head"):
        check(changed, head=head)


@attack(stopped_by="log", how="`check` compares the log with the published head")
def test_cut_log(edition: Edition) -> None:
    """Cut a refusal off the end of the log."""
    cut = write(edition, lines(edition)[:2])
    with pytest.raises(EditionError, match="published head"):
        check(cut, head=edition.head)


@attack(
    stopped_by=NOT_STOPPED,
    how="an older log is as good a log as a newer one: compare the head with the published one",
)
def test_older_state(edition: Edition) -> None:
    """Put the log back to an older state where nobody knows the newer head."""
    before = edition.heads[1]
    older = write(edition, lines(edition)[:2])
    assert len(check(older, head=before)) == 1


@attack(stopped_by="log", how="the log knows the hashes of all files of a submission")
def test_changed_steps(edition: Edition) -> None:
    """Change the steps of a submission after it was accepted."""
    (folder,) = (edition.folder / "submissions").iterdir()
    with (folder / "steps.parquet").open("ab") as file:
        file.write(b" ")
    with pytest.raises(LeaderboardError, match="does not have the SHA-256"):
        edition.entries()


@attack(
    stopped_by="log", how="rows come from the log alone; `check` names folders it does not know"
)
def test_foreign_folder(edition: Edition) -> None:
    """Lay a submission of one's own among the accepted ones."""
    (edition.folder / "submissions" / ("f" * 64)).mkdir()
    assert edition.strays() == ["f" * 64]
    assert len(edition.entries()) == 1


@attack(
    stopped_by="log",
    how="hidden seeds are derived from the nonce, the batch and the head of the log, by everybody",
)
def test_other_seeds(edition: Edition) -> None:
    """As a maintainer, publish other hidden seeds than those of the nonce."""
    log = lines(edition)
    line = json.loads(log[-1])
    line["seeds"][0] = "1"
    changed = write(edition, [*log[:-1], json.dumps(line).encode() + b"\n"])
    with pytest.raises(EditionError, match="its seeds are not"):
        check(changed)


@attack(
    stopped_by="log",
    how="a batch is recorded before its nonce is drawn: another try is another line, and so is its "
    "end without a verdict",
)
def test_judge_again(edition: Edition, monkeypatch) -> None:
    """As a maintainer, stop judging a batch and judge it again on other seeds."""
    from evaluation.leaderboard import judge as judging

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(judging, "execute", stopped)
    name = edition.entries()[0].id
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            judge(edition, [name], isolation="none")
    edition.append(Abandoned(reason="no luck"))
    kinds = [type(line).__name__ for line in Edition(edition.folder).lines[-3:]]
    assert kinds == ["Recorded", "Recorded", "Abandoned"]


@attack(
    stopped_by=NOT_STOPPED,
    how="a nonce is random by the maintainers' word: they could draw nonces, and look at the "
    "regrets, before they write one into the log",
)
def test_chosen_nonce(edition: Edition) -> None:
    """As a maintainer, draw nonces until the hidden seeds suit."""
    ((_, line, seeds),) = batches(edition)
    other = HiddenSeeds("0" * 32, seeds.batch, seeds.head)
    assert line.seeds == tuple(map(str, seeds.worlds))
    assert set(other.worlds).isdisjoint(seeds.worlds)  # and as good as these
