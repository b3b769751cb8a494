"""Submissions: honest ones pass, and each forgery is refused with its reason."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from evaluation.leaderboard.bundle import (
    MANIFEST,
    STEPS,
    BundleError,
    LeaderboardError,
    read_manifest,
)
from evaluation.leaderboard.submission import code_hash, submit, verify
from evaluation.specs import ProtocolError
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
    with pytest.raises(BundleError, match=r"failed in .*not yet.*\.bundle\.runs keeps"):
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
    ({"format": 3}, r"value 3 - at `\$.format`"),
    ({"label": "two\nlines"}, "printable"),
    ({"label": "x" * 101}, r"length <= 100 - at `\$.label`"),
    ({"label": ""}, r"length >= 1 - at `\$.label`"),
    ({"label": " x"}, "printable"),
    *(({"label": f"random{letter}"}, "printable") for letter in "\u202e\u200b\u3164"),
    ({"label": 3}, r"Expected `str`, got `int` - at `\$.label`"),
    ({"authors": ["x"] * 21}, r"length <= 20 - at `\$.authors`"),
    ({"link": "file:///etc/passwd"}, r"https.* - at `\$.link`"),
    ({"track": "magic"}, "matching regex"),
    ({"challenge": DIGEST}, "another protocol"),
    ({"steps_sha256": DIGEST}, "does not match its SHA-256"),
    ({"source_sha256": "../../etc/passwd"}, "matching regex"),
    ({"training_steps": -1}, r"Expected `int` >= 0 - at `\$.training_steps`"),
    ({"training_steps": 640}, 'require the track "pretrained"'),
    ({"runs": [{"env": "x"}]}, r"missing required field `seed` - at `\$.runs\[0\]`"),
    ({"runs": []}, "not exactly the runs"),
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
        ({"regret": 1e308}, "is claimed to be 1e+308"),
        ({"regret": None}, "got `null`"),
        ({"seconds": 2e9}, "Expected `float` <= 1000000000.0"),
    ],
)
def test_verify_refuses_a_forged_run(bundle: Path, change: dict, reason: str) -> None:
    edit_run(bundle, 0, **change)
    assert reason in refusal(bundle)[1]


def test_verify_refuses_a_pretrained_agent_in_the_track_online(bundle: Path) -> None:
    edit(bundle, agent="auto-gp-ucb", settings={"prior": "madrid"})
    with pytest.raises(ProtocolError, match='its track must be "pretrained"'):
        verify(bundle, PROTOCOL)


def test_verify_refuses_missing_and_repeated_runs(bundle: Path) -> None:
    runs = runs_of(bundle)
    for forged in ([*runs[:-1], runs[0]], runs[:-1], runs[::-1]):
        edit(bundle, runs=forged)
        assert "not exactly the runs of the protocol" in refusal(bundle)[1]


ARMS, BOX = PROTOCOL.envs[0].label, PROTOCOL.envs[1].label
NOT_AN_ARM, NOT_A_POINT = "action must be a whole number in [0, 49]", "with entries in [-1, 1]"
CHANGED = "an action or the regret was changed"


@pytest.mark.parametrize(
    ("run", "step", "value", "reason"),
    [
        ("0", 0, 50, f"step 0 of {ARMS}, seed 0: {NOT_AN_ARM}"),
        ("0", 4, 255, f"step 4 of {ARMS}, seed 0: {NOT_AN_ARM}"),
        ("3", 2, 3.0, f"step 2 of {BOX}, seed 1: action must be"),
        ("1", 2, -1.000001, NOT_A_POINT),
        ("1", 2, float("nan"), NOT_A_POINT),
        ("1", 2, float("-inf"), NOT_A_POINT),
        ("1", 2, 0.123, CHANGED),
        ("0", 3, 7, CHANGED),
    ],
)
def test_verify_refuses_forged_steps(
    bundle: Path, run: str, step: int, value: float, reason: str
) -> None:
    change_step(bundle, run, step, value)
    tier, words = refusal(bundle)
    assert tier == "replayed"
    assert reason in words


EACH = "must have one array for each of the 12 runs"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"0": None}, EACH),
        ({"12": np.zeros(12, "u1")}, EACH),
        ({"0": None, "00": np.zeros(12, "u1")}, EACH),
        ({"0": np.zeros(12, "i8")}, f"{ARMS}, seed 0 must be uint8 of shape (12,), got int64"),
        ({"0": np.zeros(12)}, "got float64 of shape (12,)"),
        ({"0": np.zeros(13, "u1")}, "got uint8 of shape (13,)"),
        ({"1": np.zeros((12, 1), "f4")}, f"{BOX}, seed 0 must be float64 of shape (12, 1)"),
        ({"1": np.zeros((12, 2))}, "got float64 of shape (12, 2)"),
        ({"1": np.zeros(12)}, "got float64 of shape (12,)"),
        ({"1": np.zeros((0, 1))}, "got float64 of shape (0, 1)"),
        ({"0": np.zeros(100_000, "u1")}, "unpacks to more than"),
    ],
)
def test_verify_refuses_arrays_of_another_form(bundle: Path, change: dict, reason: str) -> None:
    arrays = {**arrays_of(bundle), **change}
    write_steps(bundle, {name: own for name, own in arrays.items() if own is not None})
    tier, words = refusal(bundle)
    assert tier == "well-formed"
    assert reason in words


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_verify_refuses_truncated_steps(bundle: Path, share: float) -> None:
    whole = (bundle / STEPS).read_bytes()
    write_steps(bundle, whole[: int(share * len(whole))])
    assert "the record is damaged" in refusal(bundle)[1]


def test_verify_needs_the_submitted_code(tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text((ROOT / "examples" / "custom_agent.py").read_text())
    bundle = submitted(tmp_path / "bundle", f"{own}:EpsilonGreedy", "mine")
    assert str(tmp_path) not in (bundle / MANIFEST).read_text()

    def rerun(*agents: str) -> bool:
        return passes(bundle, rerun=2, isolation="none", agents=agents)

    with pytest.raises(LeaderboardError, match=r"--agent\s+file\.py:EpsilonGreedy"):
        rerun()
    assert rerun(f"{own}:EpsilonGreedy")
    own.write_text(own.read_text() + "\n\nother = 1\n")
    with pytest.raises(LeaderboardError, match=r"requires its submitted code, unchanged"):
        rerun(f"{own}:EpsilonGreedy")
