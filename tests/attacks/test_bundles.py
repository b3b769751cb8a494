"""Bundles that lie, steal, or harm whoever opens them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluation.leaderboard.bundle import MANIFEST, STEPS, BundleError
from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.verify import CannotCheckError, verify
from evaluation.page import render
from tests.test_evaluation.submissions import (
    PROTOCOL,
    TOML,
    change_steps,
    claim,
    edit,
    edit_run,
    passes,
    refusal,
    submitted,
    write_table,
)

from .catalogue import NOT_STOPPED, attack
from .test_exhaustion import COMMAND


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> Path:
    return submitted(tmp_path_factory.mktemp("honest") / "bundle")


@pytest.fixture
def bundle(honest: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(honest, tmp_path / "bundle"))


@attack(
    stopped_by="replayed", how="regret is computed from the worlds, and must be the claimed one"
)
def test_claimed_regret(bundle: Path) -> None:
    """Claim less regret than the actions have."""
    edit_run(bundle, 0, regret=0.0)
    assert refusal(bundle)[0] == "replayed"


@attack(stopped_by="re-run", how="the agent itself does not choose these actions")
def test_chosen_with_hindsight(bundle: Path, sandboxed) -> None:
    """Write down the actions that were best, with the regrets that these really have."""
    worst = pq.read_table(bundle / STEPS).to_pydict()
    arms = [row for row, arm in enumerate(worst["arm"]) if arm is not None]
    for row in arms[:12]:
        change_steps(bundle, "arm", row, 0)
    claim(bundle)
    found = verify(bundle, PROTOCOL, through="re-run", sample=100, workers=2)
    assert [verdict.passed for verdict in found] == [True, True, False]


@pytest.fixture
def edition(honest: Path, tmp_path: Path) -> Edition:
    (tmp_path / "small.toml").write_text(TOML)
    made = Edition.open(tmp_path / "e1", str(tmp_path / "small.toml"))
    made.add(honest)
    return made


@attack(
    stopped_by="log",
    how="submissions are compared by what was chosen, whatever file, label or compression it is in",
)
def test_copied_steps(bundle: Path, edition: Edition) -> None:
    """Hand in somebody else's steps under one's own name, with something small changed."""
    edit(bundle, authors=["Mallory"], label="mine", created="2030-01-01T00:00:00+00:00")
    edit_run(bundle, 0, seconds=0.123456)
    write_table(bundle, pq.read_table(bundle / STEPS))  # other bytes, same steps
    with pytest.raises(BundleError, match="its actions are those of"):
        edition.add(bundle)


@attack(
    stopped_by=NOT_STOPPED,
    how="only equal actions are refused; re-run asks for the code that chooses the changed ones",
)
def test_nearly_copied_steps(bundle: Path, edition: Edition) -> None:
    """Hand in somebody else's steps with one action changed."""
    row = next(i for i, arm in enumerate(pq.read_table(bundle / STEPS)["arm"]) if arm.is_valid)
    before = pq.read_table(bundle / STEPS)["arm"][row].as_py()
    change_steps(bundle, "arm", row, 0 if before else 1)
    claim(bundle)
    edit(bundle, authors=["Mallory"], label="mine")
    assert edition.add(bundle).label == "mine"


@attack(
    stopped_by="well-formed",
    how="no process of ours imports from the current folder or from a submission's",
)
def test_module_beside_the_bundle(bundle: Path) -> None:
    """Lay a numpy.py beside the bundle, so that checking it runs one's code."""
    for name in ("numpy", "pyarrow", "struct", "sitecustomize", "usercustomize"):
        (bundle.parent / f"{name}.py").write_text("open('PWNED', 'w')\n")
    subprocess.run(
        [*COMMAND, "verify", bundle.name, "--protocol", "smoke"],
        cwd=bundle.parent,
        capture_output=True,
        timeout=300,
    )
    assert not (bundle.parent / "PWNED").exists()
    assert passes(bundle)


@pytest.mark.parametrize(
    "bomb",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"protocol": "' + b"x" * 5_000_000 + b'"}',
        b'{"settings": ' + b'{"a": ' * 5_000 + b"1" + b"}" * 5_000 + b"}",
        b'{"format": 1e400}',
        b'{"format": 3, "format": 3}',
        b'\xff\xfe{"format": 3}',
        b'{"agent_seconds": NaN}',
    ],
    ids=["deep", "long", "nested", "endless", "twice", "bytes", "nan"],
)
@attack(stopped_by="well-formed", how="sizes, depth, kinds and finiteness are bounded before use")
def test_manifest_bomb(bundle: Path, bomb: bytes) -> None:
    """A manifest that is too deep, too long, ambiguous or not finite."""
    (bundle / MANIFEST).write_bytes(bomb)
    assert refusal(bundle)[0] == "well-formed"


@attack(
    stopped_by="well-formed",
    how="read by a process of its own with little memory, no more rows than the protocol has",
)
def test_table_bomb(bundle: Path) -> None:
    """Steps that unpack to gigabytes."""
    layout = pq.read_table(bundle / STEPS).schema
    rows = 20_000_000
    columns = [pa.array(np.zeros(rows, dtype="u1"), field.type, safe=False) for field in layout]
    write_table(bundle, pa.table(columns, layout))
    assert refusal(bundle)[0] == "well-formed"


@pytest.mark.parametrize("name", [MANIFEST, STEPS])
@attack(stopped_by="well-formed", how="plain files only: no links, pipes or devices")
def test_links_and_pipes(bundle: Path, name: str) -> None:
    """A link to the judge's own files, or a pipe that never ends, in the place of a file."""
    (bundle / name).unlink()
    (bundle / name).symlink_to("/etc/passwd")
    assert refusal(bundle)[0] == "well-formed"
    (bundle / name).unlink()
    os.mkfifo(bundle / name)
    assert refusal(bundle)[0] == "well-formed"


@pytest.mark.parametrize("agent", ["os:system", "../../evil.py:Agent", "evil:Agent", "agents:load"])
@attack(
    stopped_by="re-run",
    how="nothing in a bundle says what is run: the judge names the code, whose hash must fit",
)
def test_a_name_that_is_a_place(bundle: Path, agent: str) -> None:
    """Name a module or a path as the agent, so that it is imported."""
    edit(bundle, agent=agent, source_sha256="0" * 64)
    with pytest.raises(CannotCheckError, match="is needed to run it"):
        verify(bundle, PROTOCOL, through="re-run", workers=1)


@attack(stopped_by="page", how="names are text, never markup; pages allow no other script")
def test_markup_in_names() -> None:
    """A name that is a script."""
    label = "<script>alert(1)</script>"
    content = {"title": label, "subtitle": "", "facts": [], "notes": [label], "boards": []}
    assert "<script>alert" not in render({**content, "progress": None})


@pytest.mark.parametrize("label", ["gp-ucb\u202e", " gp-ucb", "gp-ucb\u200b", "\u3164", "a" * 101])
@attack(stopped_by="well-formed", how="letters that cannot be seen, and blanks around a name")
def test_invisible_names(bundle: Path, label: str) -> None:
    """A name that looks like somebody else's."""
    edit(bundle, label=label)
    assert refusal(bundle)[0] == "well-formed"


@attack(
    stopped_by=NOT_STOPPED,
    how="a Cyrillic letter looks like a Latin one; the page shows authors and the submission's id",
)
def test_lookalike_names(bundle: Path) -> None:
    """A name of other letters that look the same."""
    edit(bundle, label="gp-uсb")
    assert passes(bundle)


@attack(
    stopped_by=NOT_STOPPED,
    how="nobody sees what was tried at home; hidden seeds then show the luck of public ones, and "
    "every batch that judged a submission is in the log",
)
def test_best_of_many(bundle: Path) -> None:
    """Run many agents at home, and hand in the luckiest."""
    assert passes(bundle)
    assert "tries" not in json.loads((bundle / MANIFEST).read_text())
