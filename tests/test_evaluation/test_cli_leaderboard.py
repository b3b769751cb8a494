"""The leaderboard from the command line, as the README says it."""

import json
import re
import shlex
import threading
import urllib.request
from pathlib import Path

import pytest

from evaluation.cli.sweeps import chosen_results
from evaluation.report.content import LiveStore, store_content
from evaluation.report.serve import PageServer
from evaluation.report.sheet import Pictures
from evaluation.running.sweep import run
from evaluation.store import Store
from tests.test_evaluation.test_cli import call as call_here

ROOT = Path(__file__).parents[2]
TINY = """
envs = ["PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"]
agents = ["random", "fixed"]
seeds = "0:3"
horizon = 8
"""


def call(*words: str, folder: Path, code: int = 0) -> str:
    done = call_here(*words, cwd=folder)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def test_submit_your_agent_in_three_commands(tmp_path: Path) -> None:
    """Word for word, but for the folder of the environment."""
    text = (ROOT / "README.md").read_text()
    block = text.partition("**Submit your agent in three commands.**")[2].partition("```sh\n")[2]
    commands = block.partition("```")[0].strip().splitlines()
    assert len(commands) == 3
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    said = ""
    for command in commands:
        program, *words = shlex.split(command)
        assert program == ".venv/bin/periodic-gp"
        said += call(*words, folder=tmp_path)
    assert said.count("replayed    passed") == 2
    assert "re-run      passed: the agent chose the same actions in 12 runs" in said
    manifest = json.loads((tmp_path / "submission" / "manifest.json").read_text())
    assert manifest["authors"] == ["Your Name"]
    assert manifest["label"] == "EpsilonGreedy"
    assert str(ROOT) not in json.dumps(manifest)


def test_an_edition_from_opening_to_page(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    secret = ("--secret", "secret.json")
    opened = call("leaderboard", "open", "s1", "--protocol", "tiny.toml", *secret, folder=tmp_path)
    assert "keep it to yourself" in opened
    filled = call("leaderboard", "fill", "--protocol", "tiny.toml", *secret, folder=tmp_path)
    assert filled.count("hidden-seed passed") == 2
    again = call("leaderboard", "fill", "--protocol", "tiny.toml", *secret, folder=tmp_path)
    assert again.count("is in edition s1 already") == 2
    assert "3 entries and 2 submissions are intact" in call("leaderboard", "check", folder=tmp_path)
    (folder, *_) = (tmp_path / "leaderboard" / "s1" / "submissions").iterdir()
    tiny = ("--protocol", "tiny.toml", "--through", "re-run")
    said = call("verify", str(folder.relative_to(tmp_path)), *tiny, folder=tmp_path)
    assert said.count("passed") == 3
    assert "page.html" in call("leaderboard", "build", "--out", "page.html", folder=tmp_path)
    page = (tmp_path / "page.html").read_text()
    content = json.loads(re.findall(r'type="application/json"[^>]*>(.*?)</script>', page, re.S)[0])
    (board,) = content["boards"]
    assert board["title"] == "Verified, online"
    assert {row["agent"]: row["tier"] for row in board["rows"]} == {
        "fixed": "hidden-seed",
        "random": "hidden-seed",
    }
    log = tmp_path / "leaderboard" / "s1" / "log.jsonl"
    log.write_text(log.read_text().replace("fixed", "mixed"))
    assert "its signature does not fit" in call("leaderboard", "check", folder=tmp_path, code=1)
    assert "Error" in call("leaderboard", "build", folder=tmp_path, code=1)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("submit", "nosuch.py:A"), "there is no file 'nosuch.py'"),
        (("submit", "random", "--link", "javascript:1"), "http:// or https://"),
        (("submit", "random", "--protocol", "nosuch"), "there is no protocol 'nosuch'"),
        (("verify", "nowhere"), "there is no folder 'nowhere'"),
        (("leaderboard", "open", "../evil"), "an edition's name has letters"),
        (("leaderboard", "add", "nowhere"), "there is no folder 'nowhere'"),
        (("leaderboard", "build", "--out", "none/x.html"), "there is no folder 'none'"),
        (("verify", "nowhere", "--through", "magic"), "--through must be one of well-formed"),
        (("leaderboard", "check"), "there is no edition in 'leaderboard'"),
        (("leaderboard", "build", "--store", "no.sqlite"), "there is no store 'no.sqlite'"),
        (("serve", "--store", "no.sqlite"), "there is no store 'no.sqlite'"),
        (("leaderboard", "open", "a b"), "an edition's name has letters"),
    ],
)
def test_mistakes_are_one_sentence(words: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    said = call(*words, folder=tmp_path, code=1)
    assert sentence in said
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("store") / "s.sqlite"
    run("smoke", agents=["random", "fixed"], seeds="0:1", store=path, workers=0)
    return path


def test_content_of_a_store_is_its_tables(store: Path) -> None:
    with Store(store, create=False) as opened:
        results = chosen_results(opened, None)
        content = store_content(results, Pictures())
        table = results.table().set_index(["task", "agent"])["regret"]
    json.dumps(content, allow_nan=False)
    (board,) = content["boards"]
    for row in board["rows"]:
        for env, found in zip(board["envs"], row["envs"], strict=True):
            assert found["regret"][0] == pytest.approx(table[env["name"], row["agent"]], rel=1e-4)
            assert found["curve"]["mean"][-1] == pytest.approx(found["regret"][0], rel=1e-4)
            assert len(found["curve"]["mean"]) == len(env["t"])
    assert content["progress"]["done"] == content["progress"]["of"] == 9


def test_serving_a_store_shows_what_is_new(store: Path, monkeypatch) -> None:
    monkeypatch.setattr("evaluation.report.content.SHARE_OF_TIME", 1e9)
    live = LiveStore(store, lambda opened: chosen_results(opened, None))
    with PageServer(live) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def done() -> int:
            with urllib.request.urlopen(f"{server.url}content.json") as answer:
                return int(json.load(answer)["progress"]["done"])

        before = done()
        assert live() is live()
        run("smoke", agents=["random", "fixed"], seeds="0:2", store=store, workers=0)
        assert done() == 2 * before
        server.shutdown()
