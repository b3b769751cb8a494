"""Versions and bounds agree wherever the repository names them."""

import re
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tests import lowest

ROOT = Path(__file__).parents[1]
PROJECT = lowest.tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_citation_has_the_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == PROJECT["version"]
    assert [author["name"] for author in cited["authors"]] == [
        author["name"] for author in PROJECT["authors"]
    ]


def test_dependencies_have_lower_bounds() -> None:
    extras = PROJECT["optional-dependencies"]
    constraints = [lowest.lowest(one) for one in lowest.required(PROJECT, extras)]
    assert "gymnasium==1.1" in constraints
    assert any(line.startswith("torch==") for line in constraints)
    assert not any(line.startswith("periodic-gp") for line in constraints)


@pytest.mark.parametrize("text", ["numpy", "numpy<2", "numpy>1"])
def test_lowest_reports_a_missing_bound(text: str) -> None:
    with pytest.raises(SystemExit):
        lowest.lowest(Requirement(text))


def test_workflow_tests_the_promised_versions_of_python() -> None:
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    tested = set(tests["jobs"]["tests"]["strategy"]["matrix"]["python"])
    assert tested == set(re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"])))
    assert min(tested, key=lambda v: int(v[2:])) == PROJECT["requires-python"][2:]
