"""Submissions: what is accepted, and how everything else is refused, with its own reason."""

import io
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluation.keys import agent_source
from evaluation.leaderboard import trial
from evaluation.leaderboard.bundle import MANIFEST, STEPS, BundleError, read_manifest
from evaluation.leaderboard.forms import run_forms
from evaluation.leaderboard.lines import Verdict
from evaluation.leaderboard.steps import read_steps
from evaluation.leaderboard.submit import code_hash, submit
from evaluation.leaderboard.verdicts import CannotCheckError
from evaluation.leaderboard.verify import verify
from tests.test_evaluation.submissions import (
    AGENTS,
    DIGEST,
    PROTOCOL,
    change_steps,
    copied,
    edit,
    edit_run,
    entry,
    refusal,
    runs_of,
    submitted,
    write_table,
)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory) -> Path:
    return submitted(tmp_path_factory.mktemp("bundles") / "random")


@pytest.fixture
def bundle(pristine: Path, tmp_path: Path) -> Path:
    return copied(pristine, tmp_path / "bundle")


def test_an_honest_bundle_passes(pristine: Path) -> None:
    found = verify(pristine, PROTOCOL, through="re-run", sample=3, workers=1)
    assert [verdict.tier for verdict in found.verdicts if verdict.passed] == [
        "well-formed",
        "replayed",
        "re-run",
    ]
    claimed = [run.regret for run in found.manifest.runs]
    assert [regret.sum() for regret in found.regrets] == pytest.approx(claimed)


def test_the_manifest_says_what_it_must(pristine: Path) -> None:
    manifest = read_manifest(pristine)
    assert manifest.challenge == PROTOCOL.challenge
    assert manifest.authors == ("A. Author",)
    assert manifest.source_sha256 == agent_source("random")
    assert manifest.machine["packages"]["numpy"] == np.__version__
    assert set(runs_of(pristine)[0]) == {"env", "seed", "regret", "seconds"}
    assert manifest.agent_seconds == pytest.approx(sum(r["seconds"] for r in runs_of(pristine)))


def test_a_bundle_holds_what_cannot_be_recomputed(pristine: Path) -> None:
    """And every number in the smallest type that holds it: arms in one byte, points in four."""
    table = pq.read_table(pristine / STEPS)
    assert {field.name: str(field.type) for field in table.schema} == {
        "arm": "uint8",
        "x_0": "float",
    }
    assert b"\n" not in (pristine / MANIFEST).read_bytes().rstrip()
    assert b": " not in (pristine / MANIFEST).read_bytes().replace(b"://", b"")


def test_the_challenge_does_not_depend_on_who_takes_part() -> None:
    other = replace(PROTOCOL, agents=(entry("gp-ucb"),))
    assert other.hash != PROTOCOL.hash
    assert other.challenge == PROTOCOL.challenge
    assert PROTOCOL.restricted(seeds=[0]).challenge != PROTOCOL.challenge


def nested(depth: int) -> list:
    return [nested(depth - 1)] if depth else []


MANIFESTS = [
    ({"format": 1}, r"manifest\.json is of format 1, and this version .* reads format 2"),
    ({"format": 3}, "is of format 3"),
    ({"label": "two\nlines"}, "printable"),
    ({"label": "x" * 101}, "1 to 100"),
    ({"label": 3}, r"Expected `str`, got `int` - at `\$.label`"),
    ({"authors": []}, "1 to 20 names"),
    ({"authors": ["x"] * 21}, "1 to 20 names"),
    ({"link": "javascript:alert(1)"}, "http:// or https://"),
    ({"link": "file:///etc/passwd"}, "http:// or https://"),
    ({"track": "magic"}, "track must be"),
    ({"agent": "auto-gp-ucb", "settings": {"prior": "madrid"}}, 'its track is "pretrained"'),
    ({"challenge": "zz"}, "SHA-256"),
    ({"challenge": DIGEST}, "another protocol"),
    ({"steps_sha256": DIGEST}, "not the file that"),
    ({"source_sha256": "../../etc/passwd"}, "SHA-256"),
    ({"source_sha256": None}, r"Expected `str`, got `null` - at `\$.source_sha256`"),
    ({"training_steps": -1}, r"Expected `int` >= 0 - at `\$.training_steps`"),
    ({"training_steps": 10**400}, r"<= 9223372036854775807 - at `\$.training_steps`"),
    ({"runs": "all"}, r"Expected `array`, got `str` - at `\$.runs`"),
    ({"runs": [{"env": "x"}]}, r"missing required field `seed` - at `\$.runs\[0\]`"),
    ({"runs": []}, "not all runs"),
    ({"surprise": 1}, "unknown field `surprise`"),
    ({"cells": []}, "unknown field `cells`"),
    ({"x" * 2_000_000: 1}, "unknown field `x{50,300}$"),
    ({"training_steps": 640}, 'for the track "pretrained"'),
    ({"label": " "}, "printable"),
    ({"label": "random\u3164"}, "printable"),
    ({"label": "\u202eevil"}, "printable"),
    ({"settings": {"a": "\ud800"}}, "cannot be shown"),
    ({"machine": {"python": "\x1b[2J"}}, "cannot be shown"),
    ({"settings": {"a": "x" * 30_000}}, "longer than 20,000"),
    ({"settings": []}, r"Expected `object`, got `array` - at `\$.settings`"),
    ({"settings": {"a": nested(25)}}, "settings must be plain data .* 20 tables deep"),
    ({"\ud800": 1}, "surrogates not allowed"),
]


@pytest.mark.parametrize(("change", "reason"), MANIFESTS)
def test_manifests_that_are_refused(bundle: Path, change: dict, reason: str) -> None:
    edit(bundle, **change)
    tier, words = refusal(bundle)
    assert tier == "well-formed"
    assert re.search(reason, words), words


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "Expected `object`, got `array`"),
        ('{"format": NaN}', "NaN is not a finite number"),
        ("9" * 10_000, "not JSON"),
        ('{"settings": {"a": 1e999}}', "not a finite number"),
        ("{}", "is of format 1"),
        ('{"format": 2}', "missing required field `protocol`"),
        ('{"label": "a", "label": "b"}', "'label' stands twice"),
        (" " * (5 * 2**20), "larger than"),
    ],
)
def test_what_is_no_manifest(bundle: Path, text: str, reason: str) -> None:
    (bundle / MANIFEST).write_text(text)
    assert reason in refusal(bundle)[1]


def test_runs_that_are_forged(bundle: Path) -> None:
    runs = runs_of(bundle)
    edit(bundle, runs=[*runs[:-1], runs[0]])
    assert "more than once" in refusal(bundle)[1]
    edit(bundle, runs=runs[:-1])
    assert "not all runs of the protocol" in refusal(bundle)[1]
    edit(bundle, runs=runs[::-1])
    assert "not all runs of the protocol" in refusal(bundle)[1]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seed": True}, "Expected `int`, got `bool` - at `$.runs[0].seed`"),
        ({"regret": -1.0}, "Expected `float` >= 0.0 - at `$.runs[0].regret`"),
        ({"regret": 10**400}, "<= 9223372036854775807 - at `$.runs[0].regret`"),
        ({"regret": 2**63 - 1}, "is claimed as 9.22337204e+18"),
        ({"regret": 1e308}, "is claimed as 1e+308"),
        ({"regret": None}, "got `null` - at `$.runs[0].regret`"),
        ({"seconds": "long"}, "got `str` - at `$.runs[0].seconds`"),
        ({"seconds": -0.1}, "Expected `float` >= 0.0 - at `$.runs[0].seconds`"),
        ({"seconds": 1e9}, "took longer than the protocol's limit of 600 seconds"),
    ],
)
def test_numbers_of_a_run_that_are_none(bundle: Path, change: dict, reason: str) -> None:
    edit_run(bundle, 0, **change)
    assert reason in refusal(bundle)[1]


def test_a_regret_beyond_all_numbers_is_refused(bundle: Path) -> None:
    text = (bundle / MANIFEST).read_text()
    (bundle / MANIFEST).write_text(re.sub(r'"regret":[^,]*', '"regret":1e400', text, count=1))
    assert refusal(bundle) == (
        "well-formed",
        "manifest.json is not JSON: 1e400 is not a finite number",
    )


def test_folders_that_are_no_bundles(bundle: Path, tmp_path: Path) -> None:
    assert "no folder" in refusal(tmp_path / "nowhere")[1]
    (bundle / "..evil.py").write_text("import os")
    assert "does not belong there: '..evil.py'" in refusal(bundle)[1]
    (bundle / "..evil.py").unlink()
    (tmp_path / "elsewhere.json").write_bytes((bundle / MANIFEST).read_bytes())
    (bundle / MANIFEST).unlink()
    (bundle / MANIFEST).symlink_to(tmp_path / "elsewhere.json")
    assert "plain file" in refusal(bundle)[1]
    (bundle / MANIFEST).unlink()
    (bundle / MANIFEST).mkdir()
    assert "plain file" in refusal(bundle)[1]


ARM, POINT = "is not an arm from 0 to 49", "is not a point of [-1, 1]^1"


@pytest.mark.parametrize(
    ("column", "row", "value", "tier", "reason"),
    [
        ("arm", 0, 50, "well-formed", f"the action at t = 0 of {PROTOCOL.envs[0].label}"),
        ("arm", 0, 255, "well-formed", ARM),
        ("arm", 0, None, "well-formed", ARM),
        ("x_0", 0, 0.5, "well-formed", ARM),
        ("arm", 50, 1, "well-formed", POINT),
        ("x_0", 50, 3.0, "well-formed", "t = 2 of PeriodicGP-Synthetic-v0, seed 0"),
        ("x_0", 50, -1.1, "well-formed", POINT),
        ("x_0", 50, None, "well-formed", POINT),
        ("x_0", 50, float("nan"), "well-formed", "there is a NaN or an infinity"),
        ("x_0", 50, float("inf"), "well-formed", "there is a NaN or an infinity"),
        ("x_0", 50, 0.123, "replayed", "an action or the regret was changed"),
        ("arm", 3, 7, "replayed", "an action or the regret was changed"),
    ],
)
def test_steps_that_are_forged(
    bundle: Path, column: str, row: int, value: object, tier: str, reason: str
) -> None:
    change_steps(bundle, column, row, value)
    found, words = refusal(bundle)
    assert found == tier
    assert reason in words


def test_a_regret_that_is_forged(bundle: Path) -> None:
    edit_run(bundle, 0, regret=runs_of(bundle)[0]["regret"] / 2)
    tier, words = refusal(bundle)
    assert tier == "replayed"
    assert "is claimed as" in words


def test_parquet_that_is_refused(bundle: Path) -> None:
    whole = (bundle / STEPS).read_bytes()
    (bundle / STEPS).write_bytes(whole[:-20])
    assert "not the file that" in refusal(bundle)[1]
    write_table(bundle, whole[:-20])
    assert "cannot be read" in refusal(bundle)[1]

    def reason(table: pa.Table | bytes) -> str:
        write_table(bundle, table)
        with pytest.raises(BundleError) as caught:
            read_steps((bundle / STEPS).read_bytes(), run_forms(PROTOCOL), trusted=True)
        return str(caught.value)

    for broken in (whole[: len(whole) // 2], b"", b"PAR1" + b"\xff" * 500 + b"PAR1"):
        assert "cannot be read" in reason(broken)
    before = pq.read_table(io.BytesIO(whole))
    assert "has 192 rows, the protocol 96 steps" in reason(pa.concat_tables([before, before]))
    for other in (
        before.drop_columns(["x_0"]),
        before.append_column("reward", pa.array(np.zeros(96))),
        before.set_column(1, "x_0", pa.array([[0.0]] * 96)),
        before.set_column(0, "arm", before["arm"].cast(pa.int64())),
    ):
        assert "must have the columns arm (uint8), x_0 (double)" in reason(other)


def test_a_file_that_unpacks_to_millions_of_rows(bundle: Path) -> None:
    rows = 4_000_000
    before = pq.read_table(bundle / STEPS)
    columns = {field.name: pa.array(np.zeros(rows), field.type) for field in before.schema}
    write_table(bundle, pa.table(columns, before.schema))
    assert (bundle / STEPS).stat().st_size < 100_000
    assert "has 4,000,000 rows" in refusal(bundle)[1]


@pytest.mark.parametrize("name", ["numpy", "struct", "pyarrow", "json", "sitecustomize"])
def test_no_module_beside_the_bundle_is_imported(
    bundle: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither from the current folder nor from where a stranger's settings point."""
    marker = bundle.parent / "imported"
    (bundle.parent / f"{name}.py").write_text(f"open({str(marker)!r}, 'w')\n")
    monkeypatch.chdir(bundle.parent)
    monkeypatch.setenv("PYTHONPATH", str(bundle.parent))
    assert verify(Path(bundle.name), PROTOCOL).passed
    assert not marker.exists()


def test_another_agent_than_the_submitted_one(bundle: Path) -> None:
    edit(bundle, agent="fixed")
    tier, words = refusal(bundle, through="re-run", sample=2)
    assert tier == "re-run"
    assert "the agent chooses" in words
    assert "was submitted" in words
    edit(bundle, agent="gp-ucb", settings={"nonsense": 1})
    assert "the agent failed in" in refusal(bundle, through="re-run", sample=1)[1]


def test_a_library_that_is_missing_here_is_no_verdict(bundle: Path) -> None:
    file = bundle.parent / "mine.py"
    file.write_text("import no_such_library\n" + AGENTS.read_text())
    edit(bundle, agent="mine.py:Good", source_sha256=code_hash(f"{file}:Good"))
    with pytest.raises(CannotCheckError, match="what is not installed here: no_such_library;"):
        verify(bundle, PROTOCOL, through="re-run", agent=f"{file}:Good", sample=1, workers=1)
    # What the agent itself says is no excuse.
    file.write_text(
        "from agents import UnknownAgentError\n"
        "try:\n    import no_such_library\nexcept ImportError:\n"
        "    raise UnknownAgentError('cannot find the agent today')\n" + AGENTS.read_text()
    )
    edit(bundle, agent="mine.py:Good", source_sha256=code_hash(f"{file}:Good"))
    again = {"through": "re-run", "agent": f"{file}:Good", "sample": 1}
    assert "the agent failed in" in refusal(bundle, **again)[1]


def test_code_is_asked_for_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No agent's code is run up to "replayed", whatever it is called."""
    file = tmp_path / "mine.py"
    file.write_text(AGENTS.read_text())
    out = tmp_path / "bundle"
    protocol = replace(PROTOCOL, seeds=(0,))
    manifest = submit(entry(f"{file}:Good", "Good"), protocol, out, authors=["Me"], workers=1)
    assert manifest.agent == "mine.py:Good"
    assert len(manifest.source_sha256) == 64
    with pytest.raises(CannotCheckError, match=r"say where the code of 'mine\.py:Good' is"):
        verify(out, protocol, through="re-run", workers=1)
    monkeypatch.setattr(trial, "names", lambda: {"mine.py:Good": "as if it were installed"})
    with pytest.raises(CannotCheckError, match=r"to run it: --agent mine\.py:Good$"):
        verify(out, protocol, through="re-run", workers=1)
    with pytest.raises(CannotCheckError, match="was submitted, not"):
        verify(out, protocol, through="re-run", agent=f"{file}:Talks", workers=1)
    with pytest.raises(CannotCheckError, match="there is no file"):
        verify(out, protocol, through="re-run", agent="nowhere.py:Good", workers=1)
    with pytest.raises(CannotCheckError, match=r"submitted with its default settings, .* leave"):
        verify(out, protocol, through="re-run", agent=f"{file}:Good:pause=1", workers=1)
    found = verify(out, protocol, through="re-run", agent=f"{file}:Good", workers=1)
    assert found.passed
    file.write_text(file.read_text() + "\n# changed\n")
    with pytest.raises(CannotCheckError, match="not the code that was submitted"):
        verify(out, protocol, through="re-run", agent=f"{file}:Good", workers=1)


def test_a_failing_agent_is_not_submitted_and_nothing_is_overwritten(tmp_path: Path) -> None:
    out, file = tmp_path / "bundle", tmp_path / "mine.py"
    failing = entry(f"{file}:Mine", "F")
    mended = AGENTS.read_text() + "\n\nclass Mine(Good):\n    "
    file.write_text(mended + "def act(self, _): raise RuntimeError('not yet')")
    with pytest.raises(BundleError, match=r"the agent failed in .*: RuntimeError: not yet"):
        submit(failing, PROTOCOL, out, authors=["Me"], workers=1)
    assert not out.exists()
    file.write_text(mended + "pass")
    submit(failing, PROTOCOL, out, authors=["Me"], workers=1)
    with pytest.raises(BundleError, match="cannot make the folder"):
        submit(entry("random"), PROTOCOL, file / "x", authors=["Me"], workers=1)
    trained = replace(entry("gp-ucb"), track="pretrained", training_steps=64)
    with pytest.raises(BundleError, match="the harness trains no submissions"):
        submit(trained, PROTOCOL, tmp_path / "t", authors=["Me"], workers=1)
    informed = replace(entry("auto-gp-ucb:prior=madrid"), track="online")
    with pytest.raises(BundleError, match='its track is "pretrained"'):
        submit(informed, PROTOCOL, tmp_path / "t", authors=["Me"], workers=1)
    shutil.rmtree(out)
    out.mkdir()
    (out / "precious").touch()
    with pytest.raises(BundleError, match="there already"):
        submit(entry("random"), PROTOCOL, out, authors=["Me"], workers=1)
    assert (out / "precious").exists()


def test_a_verdict_is_short_and_printable() -> None:
    words = Verdict("replayed", False, "\x1b[2J" + "x" * 5000).words
    assert len(words) == 1000
    assert words.isprintable()
    json.dumps(words)


def test_a_reader_that_gives_up_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow ends its process at a codec that it does not know."""
    gives_up = [sys.executable, "-c", "import os; os.abort()"]
    monkeypatch.setattr("evaluation.leaderboard.steps.own_python", lambda code: gives_up)
    with pytest.raises(BundleError, match="is no table that Arrow can read"):
        read_steps(b"PAR1", run_forms(PROTOCOL))
