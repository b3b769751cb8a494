"""Hand-written pages: their commands exist, their code is code, their examples can be read."""

import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import periodic_envs  # noqa: F401 (registers the ids)
from evaluation.protocol import Protocol
from tests.test_evaluation.test_cli import call
from tests.test_site.conftest import ROOT

from site_pages.checks import (  # isort: skip
    PYTHON,
    code_blocks,
    dead_links,
    shell_blocks,
    shell_commands,
    wrong_commands,
    wrong_python,
)
from site_pages.command_line import commands  # isort: skip

try:
    import tomllib
except ImportError:
    import tomli as tomllib

FOLDERS = ("tutorials", "howto", "explanation", "reference", "results")
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *(p for folder in FOLDERS for p in sorted((ROOT / "docs" / folder).glob("*.md"))),
]


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    return commands()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_of_pages(page: Path, known: dict[str, Any]) -> None:
    text = page.read_text(encoding="utf-8")
    wrong = [w for block in shell_blocks(text) for w in wrong_commands(block, known)]
    wrong += [w for block in code_blocks(text, PYTHON) if (w := wrong_python(block))]
    assert wrong == []


def test_wrong_code_would_be_seen(known: dict[str, Any]) -> None:
    good = (
        "$ A=1 .venv/bin/periodic-gp run smoke --seeds 0:3 \\\n  --workers 2 # quick\nls --colour"
    )
    assert list(shell_commands(good)) == [["run", "smoke", "--seeds", "0:3", "--workers", "2"]]
    assert list(wrong_commands(good, known)) == []
    assert list(wrong_commands("periodic-gp data check x.csv --period 24", known)) == []
    bad = "periodic-gp rum smoke\nperiodic-gp run smoke --seed 3\nperiodic-gp data chek x"
    words = list(wrong_commands(bad, known))
    assert len(words) == 3
    assert "run has no option --seed" in words[1]
    cells = "```{code-cell} ipython3\n%%bash\nperiodic-gp rum\n```\n"
    cells += "```{code-cell}\n!periodic-gp ru\n```\n"
    seen = [w for block in shell_blocks(cells) for w in wrong_commands(block, known)]
    assert len(seen) == 2
    assert wrong_python("%%bash\nls -l | wc\n") == ""
    assert wrong_python("%%writefile a.py\nx = 1\n") == ""
    assert wrong_python("%%writefile a.py\nx = (\n") != ""
    assert wrong_python("x = (1,\n") != ""
    assert wrong_python("---\ntags: [hide-input]\n---\n%matplotlib inline\nx = 1\n") == ""
    assert wrong_python(":tags: [hide-input]\nx = 1\n") == ""


def test_code_of_the_first_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = list(code_blocks((ROOT / "docs" / "index.md").read_text(), PYTHON))
    assert blocks
    for block in blocks:
        exec(compile(block, "index.md", "exec"), {})
    assert re.search(r"regret of choosing at random: \d{4} requests", capsys.readouterr().out)


def test_code_of_the_page_for_users_of_stable_baselines3_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("stable_baselines3")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "howto" / "from_sb3.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in code_blocks(text, PYTHON):
        exec(compile(block, "from_sb3.md", "exec"), names)
    assert len(names["regrets"]) == 10
    out = capsys.readouterr().out
    assert re.search(r"reward [\d,]+, regret [\d,]+", out)
    assert "my PPO" in out
    assert names["results"].failures == []
    (command,) = (c for block in shell_blocks(text) for c in shell_commands(block))
    assert call(*command).returncode == 0


def test_batches_are_recorded_by_a_vec_monitor() -> None:
    monitor = pytest.importorskip("stable_baselines3.common.vec_env").VecMonitor
    from agents.rl.vec_env import BatchEnv

    envs = gym.make_vec(
        "PeriodicGP-SyntheticDiscrete-v0",
        3,
        horizon=4,
        vectorization_mode="vector_entry_point",
        autoreset_mode="SameStep",
    )
    watched = monitor(BatchEnv(envs))
    watched.reset()
    for _ in range(4):
        infos = watched.step(np.zeros(3, dtype=int))[3]
    assert [info["episode"]["l"] for info in infos] == [4, 4, 4]


def test_the_protocol_on_the_page_of_formats_is_one() -> None:
    text = (ROOT / "docs" / "reference" / "formats.md").read_text()
    (block,) = code_blocks(text, ["toml"])
    table = tomllib.loads(block.replace("mine.py:MyAgent", "random"))
    found = Protocol.from_dict({"name": "page", **table})
    assert [entry.label for entry in found.envs] == [
        "PeriodicGP-Synthetic-v0",
        "many kinds of city",
    ]
    assert len(found.seeds) == 10


def test_dead_links_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>'
        '<a href="https://example.org/x">4</a><a href="#top">5</a><h1 id="top"></h1>'
        '<img src="p.png">'
    )
    (tmp_path / "b.html").write_text('<h2 id="here"></h2>')
    assert dead_links(tmp_path) == [
        "a.html links to b.html#gone",
        "a.html links to c.html",
        "a.html links to p.png",
    ]
