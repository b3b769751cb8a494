"""Submissions are verified tier by tier, without trusting those who made them."""

import re
import shutil
from pathlib import Path

import pytest

from tests.contract.conftest import call
from tests.contract.sweeps import THIRD_PARTY, write_protocol
from tests.platforms import linux_only

TIERS = ("well-formed", "replayed", "re-run")
pytestmark = linux_only


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a protocol, the code of an agent, and a bundle of it."""
    folder = tmp_path_factory.mktemp("submission")
    write_protocol(folder / "small.toml", ["random"], seeds="0:2", horizon=12)
    shutil.copyfile(THIRD_PARTY, folder / "mine.py")
    call(folder, "submit", "mine.py:Good", "--protocol", "small.toml", "--out", "bundle")
    return folder


def verify(
    folder: Path, through: str, bundle: str = "bundle", *words: str, passes: bool = True
) -> str:
    """The report of ``verify``."""
    options = ("--protocol", "small.toml", "--through", through, *words)
    return call(folder, "verify", bundle, *options, status=int(not passes))


def copied(folder: Path) -> Path:
    """A copy of the bundle, to be edited."""
    shutil.rmtree(folder / "copy", ignore_errors=True)
    return Path(shutil.copytree(folder / "bundle", folder / "copy"))


@pytest.mark.parametrize("tier", TIERS)
def test_verify_accepts_an_honest_bundle(folder: Path, tier: str) -> None:
    report = verify(folder, tier, "bundle", "--agent", "mine.py:Good")
    assert tier in report


def test_verify_rejects_damaged_steps(folder: Path) -> None:
    (steps,) = copied(folder).glob("*.parquet")
    content = bytearray(steps.read_bytes())
    content[len(content) // 2] ^= 1
    steps.write_bytes(content)
    assert "well-formed" in verify(folder, "well-formed", "copy", passes=False)


def test_verify_rejects_false_regrets(folder: Path) -> None:
    (manifest,) = copied(folder).glob("*.json")
    edited, count = re.subn(r'"regret": *[0-9.]+', '"regret":0.5', manifest.read_text())
    assert count == 2
    manifest.write_text(edited)
    assert "replayed" in verify(folder, "replayed", "copy", passes=False)


def test_verify_rejects_other_code(folder: Path) -> None:
    text = (folder / "mine.py").read_text()
    (folder / "other.py").write_text(text.replace("self.step %", "(1 + self.step) %"))
    verify(folder, "re-run", "bundle", "--agent", "other.py:Good", passes=False)
