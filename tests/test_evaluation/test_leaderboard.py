"""Submissions: honest ones pass, and each forgery is refused."""

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from evaluation.errors import UserError
from evaluation.leaderboard.bundle import MANIFEST, STEPS, LeaderboardError, read_manifest
from evaluation.leaderboard.submission import code_hash, submit, verify
from evaluation.specs import ProtocolError
from tests.errors import raises
from tests.test_evaluation.submissions import (
    PROTOCOL,
    ROOT,
    arrays_of,
    change_step,
    edit,
    edit_run,
    entry,
    passes,
    refusal,
    runs_of,
    submitted,
    write_steps,
)

DIGEST = "0" * 64
FAILING = """
from pathlib import Path

class Failing:
    def __init__(self, problem, rng):
        pass

    def act(self, observation):
        if Path({flag!r}).exists():
            return [0.0]
        raise RuntimeError("not yet")

    def update(self, observation, action, reward):
        pass
"""


@pytest.fixture(scope="module")
def pristine(tmp_path_factory) -> Path:
    return submitted(tmp_path_factory.mktemp("bundles") / "random")


@pytest.fixture
def bundle(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "bundle"))


def test_verify_passes_an_honest_bundle(pristine: Path) -> None:
    verdicts = verify(pristine, PROTOCOL, rerun=3, isolation="none", workers=2)
    tiers = [verdict.tier for verdict in verdicts if verdict.passed]
    assert tiers == ["well-formed", "replayed", "re-run"]


def test_submit_writes_a_minimal_bundle(pristine: Path) -> None:
    manifest = read_manifest(pristine)
    assert (manifest.challenge, manifest.authors) == (PROTOCOL.challenge, ("A. Author",))
    assert manifest.source_sha256 == code_hash("random")
    assert manifest.machine["packages"]["numpy"] == np.__version__
    assert set(runs_of(pristine)[0]) == {"env", "seed", "regret", "seconds"}
    arrays = arrays_of(pristine)
    assert [(arrays[name].dtype, arrays[name].shape) for name in ("0", "1")] == [
        ("uint8", (12,)),
        ("float64", (12, 1)),
    ]


def test_submit_resumes_after_a_failure(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    (tmp_path / "failing.py").write_text(FAILING.format(flag=str(flag)))
    agent = entry(f"{tmp_path}/failing.py:Failing", "failing")
    box = PROTOCOL.restricted(envs=[PROTOCOL.envs[1].label])
    with raises(UserError, "failed-run"):
        submit(agent, box, tmp_path / "bundle", authors=["A"], isolation="none", workers=1)
    flag.touch()
    submit(agent, box, tmp_path / "bundle", authors=["A"], isolation="none", workers=1)
    assert passes(tmp_path / "bundle", box)
    assert {path.name for path in tmp_path.glob("*")} >= {"bundle", "failing.py", "flag"}
    assert not list(tmp_path.glob(".bundle*"))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"label": "two\nlines"}, "invalid-text"),
        ({"authors": []}, "invalid-manifest"),
        ({"link": "javascript:alert(1)"}, "invalid-manifest"),
        ({"track": "online", "name": "auto-gp-ucb:prior=madrid"}, "wrong-track"),
    ],
)
def test_submit_checks_before_it_runs(tmp_path: Path, change: dict, code: str) -> None:
    agent = entry(change.pop("name", "random"), change.pop("label", None))
    agent = type(agent)(agent.label, agent.spec, change.pop("track", agent.track))
    with raises(UserError, code):
        submit(agent, PROTOCOL, tmp_path / "bundle", **{"authors": ["A"], **change})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"format": 3}, "invalid-manifest"),
        ({"label": "two\nlines"}, "invalid-text"),
        ({"label": "x" * 101}, "invalid-manifest"),
        ({"label": ""}, "invalid-manifest"),
        ({"label": " x"}, "invalid-text"),
        *(({"label": f"random{letter}"}, "invalid-text") for letter in "\u202e\u200b\u3164"),
        ({"label": 3}, "invalid-manifest"),
        ({"authors": ["x"] * 21}, "invalid-manifest"),
        ({"link": "file:///etc/passwd"}, "invalid-manifest"),
        ({"track": "magic"}, "invalid-manifest"),
        ({"challenge": DIGEST}, "wrong-protocol"),
        ({"steps_sha256": DIGEST}, "wrong-hash"),
        ({"source_sha256": "../../etc/passwd"}, "invalid-manifest"),
        ({"training_steps": -1}, "invalid-manifest"),
        ({"training_steps": 640}, "wrong-track"),
        ({"runs": [{"env": "x"}]}, "invalid-manifest"),
        ({"runs": []}, "wrong-runs"),
        ({"x" * 2_000_000: 1}, "invalid-manifest"),
        ({"\x1b[2J": 1}, "invalid-manifest"),
        ({"settings": {"a": "\ud800"}}, "invalid-manifest"),
        ({"machine": {"python": "\x1b[2J"}}, "invalid-table"),
        ({"settings": {"a": "x" * 30_000}}, "invalid-table"),
    ],
)
def test_verify_refuses_a_forged_manifest(bundle: Path, change: dict, code: str) -> None:
    edit(bundle, **change)
    assert refusal(bundle) == ("well-formed", code)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"seed": True}, "invalid-manifest"),
        ({"regret": -1.0}, "invalid-manifest"),
        ({"regret": 1e308}, "wrong-regret"),
        ({"regret": None}, "invalid-manifest"),
        ({"seconds": 2e9}, "invalid-manifest"),
    ],
)
def test_verify_refuses_a_forged_run(bundle: Path, change: dict, code: str) -> None:
    edit_run(bundle, 0, **change)
    assert refusal(bundle)[1] == code


def test_verify_rejects_a_pretrained_agent_in_the_track_online(bundle: Path) -> None:
    edit(bundle, agent="auto-gp-ucb", settings={"prior": "madrid"})
    with raises(ProtocolError, "wrong-track"):
        verify(bundle, PROTOCOL)


def test_verify_refuses_missing_and_repeated_runs(bundle: Path) -> None:
    runs = runs_of(bundle)
    for forged in ([*runs[:-1], runs[0]], runs[:-1], runs[::-1]):
        edit(bundle, runs=forged)
        assert refusal(bundle) == ("well-formed", "wrong-runs")


@pytest.mark.parametrize(
    ("run", "step", "value", "code"),
    [
        ("0", 0, 50, "invalid-action"),
        ("0", 4, 255, "invalid-action"),
        ("3", 2, 3.0, "invalid-action"),
        ("1", 2, -1.000001, "invalid-action"),
        ("1", 2, float("nan"), "invalid-action"),
        ("1", 2, float("-inf"), "invalid-action"),
        ("1", 2, 0.123, "wrong-regret"),
        ("0", 3, 7, "wrong-regret"),
    ],
)
def test_verify_refuses_forged_steps(
    bundle: Path, run: str, step: int, value: float, code: str
) -> None:
    change_step(bundle, run, step, value)
    assert refusal(bundle) == ("replayed", code)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"0": None}, "wrong-runs"),
        ({"12": np.zeros(12, "u1")}, "wrong-runs"),
        ({"0": None, "00": np.zeros(12, "u1")}, "wrong-runs"),
        ({"0": np.zeros(12, "i8")}, "wrong-shape"),
        ({"0": np.zeros(12)}, "wrong-shape"),
        ({"0": np.zeros(13, "u1")}, "wrong-shape"),
        ({"1": np.zeros((12, 1), "f4")}, "wrong-shape"),
        ({"1": np.zeros((12, 2))}, "wrong-shape"),
        ({"1": np.zeros(12)}, "wrong-shape"),
        ({"1": np.zeros((0, 1))}, "wrong-shape"),
        ({"0": np.zeros(100_000, "u1")}, "damaged-file"),
    ],
)
def test_verify_refuses_arrays_of_another_form(bundle: Path, change: dict, code: str) -> None:
    arrays = {**arrays_of(bundle), **change}
    write_steps(bundle, {name: own for name, own in arrays.items() if own is not None})
    assert refusal(bundle) == ("well-formed", code)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_verify_refuses_truncated_steps(bundle: Path, share: float) -> None:
    whole = (bundle / STEPS).read_bytes()
    write_steps(bundle, whole[: int(share * len(whole))])
    assert refusal(bundle) == ("well-formed", "damaged-file")


def test_verify_needs_the_submitted_code(tmp_path: Path) -> None:
    code = tmp_path / "mine.py"
    agent = f"{code}:EpsilonGreedy"
    code.write_text((ROOT / "examples" / "custom_agent.py").read_text())
    bundle = submitted(tmp_path / "bundle", agent, "mine")
    assert str(tmp_path) not in (bundle / MANIFEST).read_text()
    rerun = partial(passes, bundle, rerun=2, isolation="none")
    with raises(LeaderboardError, "unknown-code"):
        rerun()
    assert rerun(agents=[agent])
    code.write_text(code.read_text() + "\n\nother = 1\n")
    with raises(LeaderboardError, "unknown-code"):
        rerun(agents=[agent])
