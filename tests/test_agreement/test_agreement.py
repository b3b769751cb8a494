"""Our agents beside other people's code: what is installed agrees, and what is not is said."""

import os
from collections.abc import Callable

import numpy as np
import pytest

from tests.test_agreement import arms, forgetting, models, others
from tests.test_agreement.arms import Other, share_equal
from tests.test_agreement.others import NotThereError


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


def test_global_generators_are_put_back() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    with others.seeded(3):
        np.random.random(5)  # noqa: NPY002
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def agreed(row: Callable[[], arms.Agreement]) -> arms.Agreement:
    """What was found; what is not installed is skipped, unless it is insisted on."""
    try:
        return row()
    except NotThereError as error:
        library = str(error).partition(":")[0]
        if library.lower() in os.environ.get("PERIODIC_GP_REQUIRE_PEERS", "").split(","):
            pytest.fail(f"{error}, and PERIODIC_GP_REQUIRE_PEERS names it")
        pytest.skip(str(error))


@pytest.mark.parametrize("row", range(len(arms.ROWS) - 1))
def test_what_is_installed_agrees(row: int) -> None:
    """The last row is the one that differs: SMPyBandits' discounted UCB."""
    found = agreed(arms.ROWS[row])
    assert float(found.found.partition("%")[0]) > 99.0, found


def test_skips_become_failures_where_a_library_is_insisted_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent() -> arms.Agreement:
        raise NotThereError("river: not here")

    monkeypatch.setenv("PERIODIC_GP_REQUIRE_PEERS", "mabwiser")
    with pytest.raises(pytest.skip.Exception, match="river: not here"):
        agreed(absent)
    monkeypatch.setenv("PERIODIC_GP_REQUIRE_PEERS", "mabwiser,river")
    with pytest.raises(pytest.fail.Exception, match="PERIODIC_GP_REQUIRE_PEERS names it"):
        agreed(absent)


# --- w-dbo -------------------------------------------------------------------------------------


def test_our_relevance_is_the_definitions() -> None:
    """Observations of different moments, the case that the agent meets."""
    case = forgetting.cases(together=False)[0]
    found = [forgetting.defined_relevance(case, i) for i in (0, 14)]
    np.testing.assert_allclose(forgetting.our_relevance(case)[[0, 14]], found, rtol=1e-6)


def test_the_size_of_a_disagreement_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "CASES", 3)
    monkeypatch.setattr(forgetting, "version_of", lambda package: "2.2.1")
    for factor, words in ((1.3, "30.0% of ours at most, 30.0% in the median"), (1.0, "0e+00 of")):
        monkeypatch.setattr(
            forgetting, "their_relevance", lambda case, f=factor: f * forgetting.our_relevance(case)
        )
        found = forgetting.relevance(together=False)
        assert words in found.found
        assert found.found.endswith("the same one is dropped first in 100% of sets")
        assert found.note.endswith("from theirs by 30.0%") == (factor > 1.0)
    monkeypatch.setattr(forgetting, "their_relevance", lambda case: -forgetting.our_relevance(case))
    assert "dropped first in 0% of sets" in forgetting.relevance(together=True).found


def test_the_authors_relevance_is_ours_at_one_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours is the definition's at all of them; theirs is up to twice of it."""
    monkeypatch.setattr(forgetting, "CASES", 5)
    one, several = (agreed(row) for row in forgetting.ROWS[:2])
    assert float(one.found.split()[3]) < 1e-6
    assert float(several.found.split()[3].rstrip("%")) > 10.0


@pytest.mark.filterwarnings("ignore")  # of torch, when GPyTorch is imported
def test_the_belief_that_w_dbo_searches_by_is_the_authors() -> None:
    found = agreed(forgetting.ROWS[2]).found.split()
    assert max(float(found[3]), float(found[-1])) < 1e-6
