"""Submissions: honest ones pass, and everything else is refused with its own reason."""

import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluation.leaderboard.bundle import MANIFEST, STEPS, BundleError, read_manifest
from evaluation.leaderboard.submit import code_hash, submit
from evaluation.leaderboard.verify import CannotCheckError, verify
from evaluation.specs import ProtocolError
from tests.test_evaluation.submissions import (
    PROTOCOL,
    ROOT,
    change_steps,
    edit,
    edit_run,
    entry,
    passes,
    refusal,
    runs_of,
    submitted,
    write_table,
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
    found = verify(pristine, PROTOCOL, through="re-run", isolation="none", sample=3, workers=2)
    tiers = [verdict.tier for verdict in found if verdict.passed]
    assert tiers == ["well-formed", "replayed", "re-run"]


def test_submit_writes_what_cannot_be_computed_again(pristine: Path) -> None:
    manifest = read_manifest(pristine)
    assert manifest.challenge == PROTOCOL.challenge
    assert manifest.authors == ("A. Author",)
    assert manifest.source_sha256 == code_hash("random")
    assert manifest.machine["packages"]["numpy"] == np.__version__
    assert set(runs_of(pristine)[0]) == {"env", "seed", "regret", "seconds"}
    assert pq.read_table(pristine / STEPS).column_names == ["arm", "x_0"]


def test_submit_resumes_after_a_failure(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    (tmp_path / "failing.py").write_text(FAILING.format(flag=str(flag)))
    agent = entry(f"{tmp_path}/failing.py:Failing", "failing")
    box = PROTOCOL.restricted(envs=[PROTOCOL.envs[1].label])
    with pytest.raises(BundleError, match=r"failed in .*not yet.*\.bundle\.sqlite keeps"):
        submit(agent, box, tmp_path / "bundle", authors=["A"], isolation="none", workers=1)
    flag.touch()
    submit(agent, box, tmp_path / "bundle", authors=["A"], isolation="none", workers=1)
    assert passes(tmp_path / "bundle", box)
    assert {path.name for path in tmp_path.glob("*")} >= {"bundle", "failing.py", "flag"}
    assert not list(tmp_path.glob(".bundle*"))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"label": "two\nlines"}, BundleError),
        ({"authors": []}, BundleError),
        ({"link": "javascript:alert(1)"}, BundleError),
        ({"track": "online", "name": "auto-gp-ucb:prior=madrid"}, ProtocolError),
    ],
)
def test_submit_refuses_before_it_runs(tmp_path: Path, change: dict, error: type) -> None:
    agent = entry(change.pop("name", "random"), change.pop("label", None))
    agent = type(agent)(agent.label, agent.spec, change.pop("track", agent.track))
    with pytest.raises(error):
        submit(agent, PROTOCOL, tmp_path / "bundle", **{"authors": ["A"], **change})
    assert not list(tmp_path.iterdir())


MANIFESTS = [
    ({"format": 2}, "format 2, but this version reads 3"),
    ({"label": "two\nlines"}, "printable"),
    ({"label": "x" * 101}, "1 to 100"),
    ({"label": "random\u3164"}, "printable"),
    ({"label": 3}, r"Expected `str`, got `int` - at `\$.label`"),
    ({"authors": ["x"] * 21}, "1 to 20 names"),
    ({"link": "file:///etc/passwd"}, "http:// or https://"),
    ({"track": "magic"}, "matching regex"),
    ({"challenge": DIGEST}, "another protocol"),
    ({"steps_sha256": DIGEST}, "does not have the SHA-256"),
    ({"source_sha256": "../../etc/passwd"}, "matching regex"),
    ({"training_steps": -1}, r"Expected `int` >= 0 - at `\$.training_steps`"),
    ({"training_steps": 640}, 'for the track "pretrained"'),
    ({"runs": [{"env": "x"}]}, r"missing required field `seed` - at `\$.runs\[0\]`"),
    ({"runs": []}, "not all runs"),
    ({"x" * 2_000_000: 1}, "unknown field `x{50,300}$"),
    ({"\x1b[2J": 1}, r"unknown field ` \[2J`"),
    ({"settings": {"a": "\ud800"}}, "truncated|surrogate|escape"),
    ({"machine": {"python": "\x1b[2J"}}, "printable"),
    ({"settings": {"a": "x" * 30_000}}, "at most 20,000"),
]


@pytest.mark.parametrize(("change", "reason"), MANIFESTS)
def test_verify_refuses_a_forged_manifest(bundle: Path, change: dict, reason: str) -> None:
    edit(bundle, **change)
    tier, words = refusal(bundle)
    assert tier == "well-formed"
    assert re.search(reason, words), words


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seed": True}, "got `bool`"),
        ({"regret": -1.0}, "Expected `float` >= 0.0"),
        ({"regret": 1e308}, "is claimed as 1e+308"),
        ({"regret": None}, "got `null`"),
        ({"seconds": 1e9}, "took longer than the protocol's limit of 600 seconds"),
    ],
)
def test_verify_refuses_a_forged_run(bundle: Path, change: dict, reason: str) -> None:
    edit_run(bundle, 0, **change)
    assert reason in refusal(bundle)[1]


def test_verify_refuses_a_pretrained_agent_in_the_track_online(bundle: Path) -> None:
    edit(bundle, agent="auto-gp-ucb", settings={"prior": "madrid"})
    with pytest.raises(ProtocolError, match='its track is "pretrained"'):
        verify(bundle, PROTOCOL)


def test_verify_refuses_missing_and_repeated_runs(bundle: Path) -> None:
    runs = runs_of(bundle)
    for forged in ([*runs[:-1], runs[0]], runs[:-1], runs[::-1]):
        edit(bundle, runs=forged)
        assert "not all runs of the protocol" in refusal(bundle)[1]


ARM, POINT = "is not an arm from 0 to 49", "is not a point of [-1, 1]^1"


@pytest.mark.parametrize(
    ("column", "row", "value", "tier", "reason"),
    [
        ("arm", 0, 50, "well-formed", f"at t = 0 of {PROTOCOL.envs[0].label}, seed 0 {ARM}"),
        ("arm", 0, -1, "well-formed", ARM),
        ("arm", 0, None, "well-formed", ARM),
        ("x_0", 0, 0.5, "well-formed", ARM),
        ("arm", 74, 1, "well-formed", POINT),
        ("x_0", 74, 3.0, "well-formed", "t = 2 of PeriodicGP-Synthetic-v0, seed 0"),
        ("x_0", 74, None, "well-formed", POINT),
        ("x_0", 74, float("nan"), "well-formed", "finite numbers"),
        ("x_0", 74, float("inf"), "well-formed", "finite numbers"),
        ("x_0", 74, 0.123, "replayed", "an action or the regret was changed"),
        ("arm", 3, 7, "replayed", "an action or the regret was changed"),
    ],
)
def test_verify_refuses_forged_steps(
    bundle: Path, column: str, row: int, value: object, tier: str, reason: str
) -> None:
    change_steps(bundle, column, row, value)
    found, words = refusal(bundle)
    assert found == tier
    assert reason in words


def test_verify_refuses_other_tables(bundle: Path) -> None:
    whole = (bundle / STEPS).read_bytes()
    before = pq.read_table(bundle / STEPS)
    columns = "finite numbers in arm (int32), x_0 (double)"
    for table, reason in (
        (whole[: len(whole) // 2], "cannot be read"),
        (b"PAR1" + b"\xff" * 500 + b"PAR1", "cannot be read"),
        (pa.concat_tables([before, before]), "must have 144 rows"),
        (before.drop_columns(["x_0"]), columns),
        (before.set_column(1, "x_0", pa.array([[0.0]] * 144)), columns),
    ):
        write_table(bundle, table)
        assert reason in refusal(bundle)[1]


def test_verify_needs_the_submitted_code(tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text((ROOT / "examples" / "custom_agent.py").read_text())
    bundle = submitted(tmp_path / "bundle", f"{own}:EpsilonGreedy", "mine")
    assert str(tmp_path) not in (bundle / MANIFEST).read_text()

    def rerun(*agents: str) -> bool:
        return passes(bundle, through="re-run", isolation="none", sample=2, agents=agents)

    with pytest.raises(CannotCheckError, match=r"--agent\s+file\.py:EpsilonGreedy"):
        rerun()
    assert rerun(f"{own}:EpsilonGreedy")
    own.write_text(own.read_text() + "\n\nother = 1\n")
    with pytest.raises(CannotCheckError, match="is not the code that was submitted"):
        rerun(f"{own}:EpsilonGreedy")
