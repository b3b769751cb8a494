"""Bundles that lie, or harm whoever opens them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluation.leaderboard.bundle import MANIFEST, STEPS
from evaluation.leaderboard.verify import CannotCheckError, verify
from evaluation.page import render
from tests.platforms import linux_only, needs_sandbox
from tests.test_evaluation.submissions import (
    PROTOCOL,
    change_steps,
    claim,
    edit,
    passes,
    refusal,
    submitted,
    write_table,
)

pytestmark = linux_only


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return submitted(tmp_path_factory.mktemp("honest") / "bundle")


@pytest.fixture
def bundle(honest: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(honest, tmp_path / "bundle"))


@needs_sandbox
def test_verify_refuses_actions_chosen_with_hindsight(bundle: Path) -> None:
    """Their regrets are the claimed ones."""
    arms = pq.read_table(bundle / STEPS)["arm"]
    for row in [row for row, arm in enumerate(arms) if arm.is_valid][:12]:
        change_steps(bundle, "arm", row, 0)
    claim(bundle)
    found = verify(bundle, PROTOCOL, through="re-run", sample=100, workers=2)
    assert [verdict.passed for verdict in found] == [True, True, False]


@pytest.mark.parametrize("agent", ["os:system", "../../evil.py:Agent", "evil:Agent", "agents:load"])
def test_verify_imports_nothing_that_a_bundle_names(bundle: Path, agent: str) -> None:
    edit(bundle, agent=agent, source_sha256="0" * 64)
    with pytest.raises(CannotCheckError, match="is needed to run it"):
        verify(bundle, PROTOCOL, through="re-run", workers=1)


def test_verify_imports_nothing_beside_a_bundle(bundle: Path) -> None:
    for name in ("numpy", "pyarrow", "struct", "sitecustomize", "usercustomize"):
        (bundle.parent / f"{name}.py").write_text("open('PWNED', 'w')\n")
    command = Path(sys.executable).with_name("periodic-gp")
    words = [str(command), "verify", bundle.name, "--protocol", "smoke"]
    subprocess.run(words, cwd=bundle.parent, capture_output=True, timeout=300, check=False)
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
def test_verify_refuses_a_manifest_bomb(bundle: Path, bomb: bytes) -> None:
    (bundle / MANIFEST).write_bytes(bomb)
    assert refusal(bundle)[0] == "well-formed"


def test_verify_refuses_a_table_bomb(bundle: Path) -> None:
    """Small steps that unpack to gigabytes."""
    layout = pq.read_table(bundle / STEPS).schema
    zeros = np.zeros(20_000_000, dtype="u1")
    columns = [pa.array(zeros, field.type, safe=False) for field in layout]
    write_table(bundle, pa.table(columns, layout))
    assert refusal(bundle)[0] == "well-formed"


@pytest.mark.parametrize("name", [MANIFEST, STEPS])
def test_verify_refuses_links_and_pipes(bundle: Path, name: str) -> None:
    (bundle / name).unlink()
    (bundle / name).symlink_to("/etc/passwd")
    assert refusal(bundle)[0] == "well-formed"
    (bundle / name).unlink()
    os.mkfifo(bundle / name)
    assert refusal(bundle)[0] == "well-formed"


@pytest.mark.parametrize("label", ["gp-ucb\u202e", " gp-ucb", "gp-ucb\u200b"])
def test_verify_refuses_invisible_letters(bundle: Path, label: str) -> None:
    edit(bundle, label=label)
    assert refusal(bundle)[0] == "well-formed"


def test_page_shows_names_as_text() -> None:
    label = "<script>alert(1)</script>"
    content = {"title": label, "subtitle": "", "facts": [], "notes": [label], "boards": []}
    assert "<script>alert" not in render({**content, "remarks": [label]})
