"""Forged bundles, and bundles that attack their reader."""

import os
import shutil
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path

import pytest

from evaluation.leaderboard.bundle import MANIFEST, STEPS, LeaderboardError
from evaluation.leaderboard.submission import verify
from tests.errors import raises
from tests.platforms import linux_only, needs_sandbox
from tests.test_evaluation.submissions import (
    PROTOCOL,
    arrays_of,
    claim,
    edit,
    passes,
    refusal,
    submitted,
    write_steps,
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
    arrays = arrays_of(bundle)
    arrays["0"][:] = 0
    write_steps(bundle, arrays)
    claim(bundle)
    verdicts = verify(bundle, PROTOCOL, rerun=100, workers=2)
    assert [verdict.passed for verdict in verdicts] == [True, True, False]


@pytest.mark.parametrize("agent", ["os:system", "../../evil.py:Agent", "evil:Agent", "agents:load"])
def test_verify_imports_nothing_that_a_bundle_names(bundle: Path, agent: str) -> None:
    edit(bundle, agent=agent, source_sha256="0" * 64)
    with raises(LeaderboardError, "unknown-code"):
        verify(bundle, PROTOCOL, rerun=1, isolation="none")


def test_verify_imports_nothing_beside_a_bundle(bundle: Path) -> None:
    for name in ("numpy", "safetensors", "struct", "sitecustomize", "usercustomize"):
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
        b'{"format": 4, "format": 4}',
        b'\xff\xfe{"format": 4}',
        b'{"agent_seconds": NaN}',
    ],
    ids=["deep", "long", "nested", "endless", "twice", "bytes", "nan"],
)
def test_verify_refuses_a_manifest_bomb(bundle: Path, bomb: bytes) -> None:
    (bundle / MANIFEST).write_bytes(bomb)
    assert refusal(bundle)[0] == "well-formed"


def lying(header: bytes, length: int | None = None) -> bytes:
    """Return packed steps with this header, which may claim another length."""
    size = len(header) if length is None else length
    return zlib.compress(size.to_bytes(8, "little") + header + bytes(100))


ENTRY = b'{"0":{"dtype":"%s","shape":[%d],"data_offsets":[0,100]}}'


@pytest.mark.parametrize(
    "bomb",
    [
        zlib.compress(bytes(2**28)),
        lying(ENTRY % (b"U8", 2**62)),
        lying(ENTRY % (b"BF16", 50)),
        lying(ENTRY % (b"O", 100)),
        lying(ENTRY % (b"U8", 100), length=2**63),
        lying(b"[" * 5000),
        lying(b'{"__metadata__":{"0":{}}}'),
    ],
    ids=["zeros", "shape", "type", "object", "header", "deep", "metadata"],
)
def test_verify_refuses_a_steps_bomb(bundle: Path, bomb: bytes) -> None:
    write_steps(bundle, bomb)
    tracemalloc.start()
    tier, _ = refusal(bundle)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert tier == "well-formed"
    assert peak < 2**24


@pytest.mark.parametrize("name", [MANIFEST, STEPS])
def test_verify_refuses_links_and_pipes(bundle: Path, name: str) -> None:
    (bundle / name).unlink()
    (bundle / name).symlink_to("/etc/passwd")
    assert refusal(bundle)[0] == "well-formed"
    (bundle / name).unlink()
    os.mkfifo(bundle / name)
    assert refusal(bundle)[0] == "well-formed"
