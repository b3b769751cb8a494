"""Our agents beside other people's code: what is installed agrees, and what is not is said."""

from pathlib import Path

import numpy as np
import pytest

from evaluation.studies.agreement import arms, changes, models, others, page
from evaluation.studies.agreement.arms import Other, share_equal
from evaluation.studies.agreement.others import NotThereError, library
from evaluation.studies.stale import findings


def test_a_share_of_equal_choices_is_one_for_the_same_and_low_for_another() -> None:
    """The zoo's own UCB1 in the other's place, then one that looks the other way."""
    twin = arms.make_agent("ucb1:scale=0.5", arms.problem(), np.random.default_rng(0))
    assert share_equal("ucb1:scale=0.5", Other("twin", twin.act, twin.update)) == 1.0
    worst = Other("least", lambda seen: 0, lambda seen, arm, reward: None)
    assert share_equal("ucb1:scale=0.5", worst) < 0.6


def test_scikit_learn_and_the_printed_recursion_agree() -> None:
    """Both are there wherever the tests are."""
    for ours, theirs in zip(models.our_belief(), models.scikit_learn(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
    assert float(models.russac().found.split()[3]) < 1e-9


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotThereError, match="nowhere_at_all: No module named"):
        library("nowhere_at_all.part")

    def missing() -> arms.Agreement:
        library("nowhere_at_all")
        raise AssertionError

    found, why = page.agreements([missing, models.russac, missing])
    assert [row.agent for row in found] == ["d-linucb"]
    assert why == ["nowhere_at_all: No module named 'nowhere_at_all'"]


def test_the_page_is_written_and_fresh_without_other_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def absent(module: str) -> object:
        raise NotThereError(f"{module.partition('.')[0]}: not here")

    for part in (arms, changes, models):
        monkeypatch.setattr(part, "library", absent)
    monkeypatch.setattr(changes, "STEPS", 20)
    page.main(["--docs", str(tmp_path), "--runs", "1"])
    written = (tmp_path / "agreement.md").read_text()
    assert "Not installed, and left out: river: not here.\n" in written
    assert "Not measured: SMPyBandits: not here." in written
    assert "| `d-linucb` | Russac et al. 2019" in written
    (found,) = findings(tmp_path)
    assert (found.state, found.command) == ("fresh", page.COMMAND)


def test_less_forced_exploration_has_less_regret() -> None:
    """Over three runs of 2,000 steps each, whose regrets are 130 and 230 on average."""
    usual, tenth = (
        np.mean([changes.regret(changes.ours(text), seed) for seed in range(3)])
        for text in ("", ",exploration=0.1")
    )
    assert tenth < 0.8 * usual


def test_global_generators_are_put_back() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    with others.seeded(3):
        np.random.random(5)  # noqa: NPY002
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize("row", range(len(arms.ROWS) - 1))
def test_what_is_installed_agrees(row: int) -> None:
    """The last row is the one that differs: SMPyBandits' discounted UCB."""
    try:
        found = arms.ROWS[row]()
    except NotThereError as error:
        pytest.skip(str(error))
    assert float(found.found.partition("%")[0]) > 99.0, found
