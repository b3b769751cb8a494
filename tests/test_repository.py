"""What the repository says about itself is true: versions, bounds, workflows, what is published."""

import os
import re
import subprocess
import sys
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from tests import distributions, lowest

ROOT = Path(__file__).parents[1]
PROJECT = lowest.tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_one_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == PROJECT["project"]["version"]
    assert [author["name"] for author in cited["authors"]] == [
        author["name"] for author in PROJECT["project"]["authors"]
    ]


def test_every_dependency_has_a_lower_bound() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    found = [lowest.lowest(r) for r in lowest.required(PROJECT["project"], extras)]
    assert "gymnasium==1.1" in found
    assert any(line.startswith("torch==") for line in found)
    assert not any(line.startswith("periodic-gp") for line in found)


def test_extras_name_each_other() -> None:
    project = {"name": "x", "dependencies": ["a>=1"]}
    project["optional-dependencies"] = {"all": ["x[one,all]", "c>=3"], "one": ["b>=2"]}
    found = {lowest.lowest(requirement) for requirement in lowest.required(project, ["all"])}
    assert found == {"a==1", "b==2", "c==3"}


@pytest.mark.parametrize("text", ["numpy", "numpy<2", "numpy>1"])
def test_a_dependency_without_a_lower_bound_is_refused(text: str) -> None:
    with pytest.raises(SystemExit, match=f"{text} in pyproject.toml has no lower bound"):
        lowest.lowest(Requirement(text))


def steps_of(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job.get("steps", ())]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_pinned_and_know_no_secret(path: Path) -> None:
    """And no job may do more than it says."""
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert "secrets." not in text
    assert "permissions" in workflow
    for step in steps_of(workflow):
        name, _, version = step.get("uses", "actions/x@v1").partition("@")
        pinned = r"v\d+" if name.startswith("actions/") else r"[0-9a-f]{40}"
        assert re.fullmatch(pinned, version), step


def test_only_publishing_and_attesting_have_an_identity() -> None:
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    jobs = release["jobs"]
    identified = {name for name in jobs if "id-token" in jobs[name].get("permissions", {})}
    assert identified == {"attest", "publish"}
    assert release["permissions"] == {}


def test_all_promised_versions_of_python_are_tested() -> None:
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    tested = set(tests["jobs"]["tests"]["strategy"]["matrix"]["python"])
    found = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert tested == set(found)
    assert min(tested, key=lambda v: int(v[2:])) == PROJECT["project"]["requires-python"][2:]


def metadata(**change: str) -> Message:
    given = {"Name": "x", "Version": "1", "Summary": "s", "License-Expression": "MIT"}
    message = Message()
    for key, value in {**given, "Requires-Python": ">=3.10", **change}.items():
        message[key] = value
    return message


def test_a_bad_wheel_would_be_seen() -> None:
    wanted = {"agents/base.py", "agents/py.typed"}
    whole = {*wanted, "x-1.dist-info/METADATA", "x-1.dist-info/licenses/LICENSE"}
    assert distributions.faults_of_wheel(whole, metadata(), wanted) == []
    less = distributions.faults_of_wheel(whole - {"agents/py.typed"}, metadata(), wanted)
    assert less == ["the wheel has no agents/py.typed"]
    more = distributions.faults_of_wheel({*whole, "tests/x.py"}, metadata(), wanted)
    assert more == ["the wheel installs 'tests'"]
    bare = distributions.faults_of_wheel(whole, metadata(Summary=""), wanted)
    assert bare == ["the wheel's metadata have no Summary"]


def test_a_bad_sdist_would_be_seen() -> None:
    files = {"pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "tests/conftest.py"}
    assert distributions.faults_of_sdist({*files, "agents/a.py"}, {"agents/a.py"}) == []
    assert distributions.faults_of_sdist(files, {"agents/a.py"}) == ["the sdist has no agents/a.py"]
    assert distributions.faults_of_sdist({*files, "out/x"}, set()) == ["the sdist has out/x"]


def test_packages_are_typed_and_have_their_data() -> None:
    needed = distributions.needed()
    assert {f"{package}/py.typed" for package in distributions.PACKAGES} <= needed
    assert "evaluation/protocols/smoke.toml" in needed


def test_the_paper_cites_what_is_in_the_bibliography() -> None:
    text = (ROOT / "paper.md").read_text(encoding="utf-8")
    keys = set(re.findall(r"@\w+\{([^,]+),", (ROOT / "references.bib").read_text(encoding="utf-8")))
    cited = set(re.findall(r"@(\w+\d{4}\w*)", text))
    assert cited
    assert cited <= keys
    for page in re.findall(r"`(docs/[\w-]+\.md)`", text):
        assert (ROOT / page).is_file(), page


@pytest.mark.skipif(sys.platform == "win32", reason="CI's script is one of bash")
def test_a_fork_is_told_what_it_skips(tmp_path: Path) -> None:
    """Without the measurements; where they belong, CI stops."""
    script = tmp_path / "fork" / ".ci" / "run"
    script.parent.mkdir(parents=True)
    script.write_bytes((ROOT / ".ci" / "run").read_bytes())
    variables = {key: value for key, value in os.environ.items() if "REQUIRE" not in key}

    def plan(**more: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", str(script), "--plan"]
        env = {**variables, **more}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=env)

    alone = plan()
    assert alone.returncode == 0, alone.stderr
    assert "Skipped: what needs the measurements in ../shared/data/madrid" in alone.stdout
    insisting = plan(PERIODIC_GP_REQUIRE_MADRID="1")
    assert insisting.returncode == 1
    assert "CI needs the measurements in ../shared/data/madrid" in insisting.stderr
    (tmp_path / "shared").mkdir()
    assert plan().returncode == 1
    (tmp_path / "shared" / "data" / "madrid").mkdir(parents=True)
    assert "measurements" not in plan().stdout
