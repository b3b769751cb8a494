"""Hand-written pages: commands exist, Python parses, and the most important code runs."""

import re
from pathlib import Path
from typing import Any

import pytest

from evaluation.protocol import Protocol
from tests.console import call
from tests.lowest import tomllib
from tests.test_site.conftest import ROOT

from site_pages.checks import (  # isort: skip
    PYTHON,
    code_blocks,
    shell_blocks,
    shell_commands,
    wrong_commands,
    wrong_python,
)
from site_pages.command_line import commands  # isort: skip

FOLDERS = ("", "tutorials", "howto", "explanation", "reference", "results")
PAGES = [
    ROOT / "README.md",
    *(p for f in FOLDERS for p in sorted((ROOT / "docs" / f).glob("*.md"))),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_have_correct_commands_and_python(page: Path) -> None:
    text, known = page.read_text(encoding="utf-8"), commands()
    wrong = [w for block in shell_blocks(text) for w in wrong_commands(block, known)]
    wrong += [w for block in code_blocks(text, PYTHON) if (w := wrong_python(block))]
    assert wrong == []


@pytest.mark.parametrize(
    "line", ["periodic-gp rum smoke", "periodic-gp run smoke --seed 3", "periodic-gp data chek x"]
)
def test_checks_find_wrong_commands(line: str) -> None:
    assert len(list(wrong_commands(line, commands()))) == 1


def run_blocks(page: str) -> dict[str, Any]:
    """Run the Python of a page, and return its names."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in code_blocks(text, PYTHON):
        exec(compile(block, page, "exec"), names)
    return names


def test_code_of_the_first_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_blocks("index.md")
    assert re.search(r"regret of choosing at random: \d{4} requests", capsys.readouterr().out)


def test_code_for_users_of_stable_baselines3_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("stable_baselines3")
    monkeypatch.chdir(tmp_path)
    names = run_blocks("howto/from_sb3.md")
    assert len(names["regrets"]) == 10
    assert names["results"].failures == []
    text = (ROOT / "docs" / "howto" / "from_sb3.md").read_text(encoding="utf-8")
    (command,) = (c for block in shell_blocks(text) for c in shell_commands(block))
    assert call(*command).returncode == 0


def test_formats_page_shows_a_valid_protocol() -> None:
    text = (ROOT / "docs" / "reference" / "formats.md").read_text()
    (block,) = code_blocks(text, ["toml"])
    table = tomllib.loads(block.replace("mine.py:MyAgent", "random"))
    assert len(Protocol.from_dict({"name": "page", **table}).seeds) == 10
