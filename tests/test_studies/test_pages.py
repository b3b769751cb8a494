"""Pages of studies: their data are there, their cells run, and a study can be run."""

import re
from pathlib import Path

import pandas as pd
import pytest
from matplotlib import pyplot as plt

import evaluation
from studies import gains, run
from studies.ratios import normalised_table, ratio_table

FOLDER = Path(__file__).parents[2] / "studies"
CELLS = re.compile(
    r"^```\{code-cell\} python\n(?::tags:[^\n]*\n)?(.*?)^```|\{eval\}`([^`]+)`", re.M | re.S
)
PAGES = sorted(FOLDER.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_executes_from_its_data(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every expression in a sentence gives a short text."""
    monkeypatch.chdir(FOLDER)
    plt.switch_backend("Agg")
    names: dict[str, object] = {"display": str}
    values = []
    for cell, expression in CELLS.findall(page.read_text(encoding="utf-8")):
        if expression:
            values.append(str(eval(expression, names)))
        else:
            exec(compile(cell, page.name, "exec"), names)
    assert all(value and "nan" not in value and len(value) < 60 for value in values)
    plt.close("all")


@pytest.mark.parametrize("path", sorted((FOLDER / "data").glob("*.parquet")), ids=lambda p: p.stem)
def test_data_name_commit_and_date(path: Path) -> None:
    attrs = pd.read_parquet(path).attrs
    facts = attrs or dict(evaluation.load(path).provenance)
    assert re.fullmatch(r"[0-9a-f]{40}( with changes)?", str(facts["commit"]))
    assert re.fullmatch(r"2\d{3}-\d\d-\d\d", str(facts["date"]))


def test_run_study_writes_totals_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = tmp_path / "tiny-part.toml"
    protocol.write_text(
        'envs = ["PeriodicGP-SyntheticDiscrete-v0"]\nagents = ["random", "fixed"]\n'
        'seeds = "0:5"\nhorizon = 30\n'
    )
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    folders = {"stores": tmp_path / "stores", "data": tmp_path / "data"}
    for _ in range(2):
        (path,) = run.run_study("tiny", seeds="0:2", workers=0, **folders)
    results = evaluation.load(path)
    assert (path.name, results.provenance["seeds"]) == ("tiny-part.parquet", "2 from 0")
    table = ratio_table(results, "PeriodicGP-SyntheticDiscrete-v0", "random")
    assert set(table.index) == {"random", "fixed"}
    assert normalised_table(results).loc["uniform-random"].tolist() == [1.0]
    with pytest.raises(ValueError, match="nothing"):
        run.parts("nothing")


def test_every_page_with_runs_has_protocols() -> None:
    pages = [page for page in PAGES if "evaluation.load" in page.read_text(encoding="utf-8")]
    assert all(run.parts(page.stem) for page in pages)


def test_lemmas_hold_on_random_designs() -> None:
    for seed in range(20):
        error, ratio = gains.random_design(seed)
        assert error < 1e-8
        assert ratio <= 1.0 + 1e-8
        assert gains.small_set(seed) <= 1.0 + 1e-8
    assert gains.remark_ratio() == pytest.approx(1.0)


def test_bounds_equal_recorded_ones() -> None:
    assert gains.theorem_1(0.1, is_finite=True)[-1] == pytest.approx(1959.96, abs=0.01)
    assert (gains.movement(10.0), gains.rank(6, 6.0)) == (pytest.approx(0.0996, abs=1e-4), 6)
