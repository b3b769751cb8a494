"""Copied steps: compared by what was chosen, however the file was changed."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluation.leaderboard.bundle import STEPS
from evaluation.leaderboard.copies import digest_of
from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.forms import run_forms
from evaluation.leaderboard.lines import Verdict
from evaluation.leaderboard.secret import Secret
from evaluation.leaderboard.steps import read_steps
from evaluation.leaderboard.verify import verify
from tests.test_evaluation.submissions import (
    PROTOCOL,
    change_steps,
    claim,
    copied,
    edit,
    edit_run,
    runs_of,
    submitted,
    write_table,
)


@pytest.fixture(scope="module")
def edition(tmp_path_factory) -> tuple[Edition, Path]:
    """An edition with one submission, and its bundle."""
    folder = tmp_path_factory.mktemp("leaderboard")
    bundle = submitted(folder / "random")
    secret = Secret.create(folder / "secret.json")
    made = Edition.open(folder / "s1", PROTOCOL, secret)
    assert made.record(verify(bundle, PROTOCOL), secret)
    return made, bundle


@pytest.fixture
def thief(edition: tuple[Edition, Path], tmp_path: Path) -> Path:
    bundle = copied(edition[1], tmp_path / "thief")
    edit(bundle, authors=["Impostor"], label="mine")
    return bundle


def last(edition: tuple[Edition, Path], bundle: Path) -> Verdict:
    return verify(bundle, PROTOCOL, remark=edition[0].remark_on).verdicts[-1]


def slower(bundle: Path) -> None:
    edit_run(bundle, 0, seconds=runs_of(bundle)[0]["seconds"] + 1e-6)


def packed_again(bundle: Path) -> None:
    write_table(bundle, pq.read_table(bundle / STEPS))


def longer_numbers(bundle: Path) -> None:
    table = pq.read_table(bundle / STEPS)
    write_table(bundle, table.set_column(1, "x_0", table["x_0"].cast(pa.float64())))


def nudged(bundle: Path) -> None:
    table = pq.read_table(bundle / STEPS)
    points = table["x_0"].to_numpy(zero_copy_only=False)
    moved = pa.array(np.clip(points + 1e-5, -1, 1), pa.float64(), from_pandas=True)
    write_table(bundle, table.set_column(1, "x_0", moved))
    claim(bundle)


@pytest.mark.parametrize("change", [lambda _: 0, slower, packed_again, longer_numbers, nudged])
def test_somebody_elses_steps_are_refused(edition, thief: Path, change) -> None:
    change(thief)
    verdict = last(edition, thief)
    assert not verdict.passed
    assert verdict.tier == "replayed"
    assert "its steps are those of 'random' by A. Author (submission " in verdict.words


def test_ones_own_steps_are_there_already_or_named(edition, thief: Path) -> None:
    """Two settings of an agent can come to the same actions."""
    edit(thief, authors=["A. Author"], label="random", created="2031-01-01")
    assert "it is there already" in last(edition, thief).words
    edit(thief, label="random, again")
    verdict = last(edition, thief)
    assert verdict.passed
    assert "; 100 % of them are those of 'random' by A. Author" in verdict.words
    assert last(edition, edition[1]).words == "the submitted actions have the claimed regrets"


def test_nearly_the_same_steps_are_named(edition, thief: Path) -> None:
    change_steps(thief, "arm", 3, 7)
    claim(thief)
    verdict = last(edition, thief)
    assert verdict.passed
    assert "; 98.95 % of them are those of 'random' by A. Author" in verdict.words
    for row in range(40):
        change_steps(thief, "arm", row, 7)
    claim(thief)
    assert last(edition, thief).words == "the submitted actions have the claimed regrets"


def test_the_door_looks_for_itself(edition, thief: Path, tmp_path: Path) -> None:
    """Whatever a judge has compared before."""
    made = Edition(Path(shutil.copytree(edition[0].folder, tmp_path / "s1")))
    secret = Secret.load(edition[0].folder.parent / "secret.json")
    found = verify(thief, PROTOCOL)
    assert not made.record(found, secret)
    assert "its steps are those of 'random'" in found.verdicts[-1].words
    change_steps(thief, "arm", 3, 7)
    claim(thief)
    found = verify(thief, PROTOCOL)
    assert made.record(found, secret)
    assert "98.95 % of them are those of" in found.verdicts[-1].words
    assert [v.words for v in made.accepted()[-1].verdicts[0].verdicts] == [
        verdict.words for verdict in found.verdicts
    ]


def test_a_digest_is_of_what_was_chosen(thief: Path) -> None:
    def digest() -> str:
        data = (thief / STEPS).read_bytes()
        return digest_of(PROTOCOL.challenge, read_steps(data, run_forms(PROTOCOL), trusted=True))

    before = digest()
    packed_again(thief)
    longer_numbers(thief)
    assert digest() == before
    change_steps(thief, "arm", 3, 7)
    assert digest() != before
    assert digest_of("x", []) != digest_of("y", [])
