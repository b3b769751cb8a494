"""The leaderboard from the command line, as the site says it."""

import json
import re
import shlex
import shutil
import threading
import urllib.request
from pathlib import Path

import pytest

from evaluation import sandbox
from evaluation.cli.sweeps import chosen_results
from evaluation.report.content import store_content
from evaluation.report.live import LiveStore
from evaluation.report.serve import PageServer
from evaluation.report.sheet import Pictures
from evaluation.runner import run
from evaluation.store import Store
from tests.platforms import posix_only
from tests.test_evaluation.test_cli import call as call_here

ROOT = Path(__file__).parents[2]
SECRET = ("--secret", "secret.json")
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
    """Word for word."""
    text = (ROOT / "docs" / "howto" / "leaderboard.md").read_text()
    block = text.partition("then three\ncommands")[2].partition("```sh\n")[2]
    commands = block.partition("```")[0].strip().splitlines()
    assert len(commands) == 3
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    said = ""
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "periodic-gp"
        said += call(*words, folder=tmp_path)
    assert said.count("replayed    passed") == 2
    assert "re-run      passed: the agent chose the same actions in 12 runs" in said
    manifest = json.loads((tmp_path / "submission" / "manifest.json").read_text())
    assert manifest["authors"] == ["Your Name"]
    assert manifest["label"] == "EpsilonGreedy"
    assert str(ROOT) not in json.dumps(manifest)


def test_submit_ends_with_a_command_that_works(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    said = call("submit", "random", "--protocol", "tiny.toml", "--out", "my own", folder=tmp_path)
    program, *words = shlex.split(said.partition("Check it as others will: ")[2].splitlines()[0])
    assert program == "periodic-gp"
    assert "replayed    passed" in call(*words, folder=tmp_path)


def content_of(page: Path) -> dict:
    text = page.read_text()
    return json.loads(re.findall(r'type="application/json"[^>]*>(.*?)</script>', text, re.S)[0])


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> tuple[Path, str]:
    """A folder with an edition whose agents were run on hidden seeds, and what was said."""
    folder = tmp_path_factory.mktemp("edition")
    (folder / "tiny.toml").write_text(TINY)
    opened = call("leaderboard", "open", "s1", "--protocol", "tiny.toml", *SECRET, folder=folder)
    assert "keep it to yourself" in opened
    words = ("leaderboard", "fill", "--protocol", "tiny.toml", *SECRET)
    if sandbox.available() is None:
        assert "install bubblewrap" in call(*words, folder=folder, code=1)
        words = (*words, "--without-sandbox")
    said = call(*words, folder=folder)
    assert said.count("hidden-seed passed") == 2
    again = call(*words, folder=folder)
    assert again.count("is in edition s1 already") == 2
    return folder, said


@pytest.fixture
def edition(filled: tuple[Path, str], tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(filled[0], tmp_path / "copy"))


def test_an_edition_is_opened_filled_and_shown(filled: tuple[Path, str], edition: Path) -> None:
    assert filled[1].count(f"in {sandbox.available()}" if sandbox.available() else "without") == 4
    checked = call("leaderboard", "check", folder=edition)
    assert "5 entries, 2 submissions: intact" in checked
    assert "closed" not in checked
    call("leaderboard", "build", "--out", "page.html", folder=edition)
    (board,) = content_of(edition / "page.html")["boards"]
    assert board["title"] == "Verified, online"
    assert {row["agent"]: row["tier"] for row in board["rows"]} == {
        "fixed": "hidden-seed",
        "random": "hidden-seed",
    }
    for row in board["rows"]:
        assert ["Trials on hidden seeds", "1"] in row["provenance"]


def test_a_published_entry_is_verified_where_it_lies(edition: Path) -> None:
    (folder, *_) = (edition / "leaderboard" / "s1" / "submissions").iterdir()
    tiny = ("--protocol", "tiny.toml", "--through", "re-run")
    said = call("verify", str(folder.relative_to(edition)), *tiny, folder=edition)
    assert said.count("passed") == 3
    none = ("--protocol", "tiny.toml", "--through", "hidden-seed")
    said = call("verify", str(folder.relative_to(edition)), *none, folder=edition, code=1)
    assert "hidden seeds are an edition's: periodic-gp leaderboard add" in said


def test_what_is_there_is_not_judged_again(edition: Path) -> None:
    """It would cost a trial."""
    (folder, *_) = (edition / "leaderboard" / "s1" / "submissions").iterdir()
    (edition / "mine").symlink_to(folder)
    for tier in ("replayed", "hidden-seed"):
        said = call("leaderboard", "add", "mine", "--through", tier, *SECRET, folder=edition)
        assert "mine: is in edition s1 already, at hidden-seed" in said
    assert "5 entries, 2 submissions" in call("leaderboard", "check", folder=edition)


def test_an_edition_is_closed_revealed_and_checked(edition: Path) -> None:
    assert "Closed edition s1" in call("leaderboard", "close", "s1", *SECRET, folder=edition)
    for words in (("close", "s1"), ("fill",), ("add", "leaderboard")):
        for secret in (SECRET, ("--secret", "nobody-has-it.json")):
            said = call("leaderboard", *words, *secret, folder=edition, code=1)
            assert "edition s1 was closed on" in said
    checked = call("leaderboard", "check", "--rerun", "2", folder=edition)
    assert "the salt is the promised one, and 20 hidden seeds are of it" in checked
    assert "Run again: 4 public and 4 hidden runs of the agents of this package" in checked
    call("leaderboard", "build", "--out", "page.html", folder=edition)
    facts = dict(content_of(edition / "page.html")["facts"])
    secret = json.loads((edition / "secret.json").read_text())
    assert facts["Salt of the hidden seeds"] == secret["salt"]


def test_what_other_code_made_is_marked(edition: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.leaderboard.standing.code_hash", lambda name: "1" * 64)
    checked = call("leaderboard", "check", "--rerun", "all", folder=edition)
    assert "random: made with an earlier version" in checked
    assert "Not run again, made with an earlier version: random, fixed" in checked
    words = ("fill", "--protocol", "tiny.toml", "--through", "replayed")
    again = call("leaderboard", *words, *SECRET, folder=edition)
    assert "fixed: is in edition s1 already (made with an earlier version)" in again
    call("leaderboard", "build", "--out", "page.html", folder=edition)
    content = content_of(edition / "page.html")
    assert any("made with an earlier version" in note.lower() for note in content["notes"])


def test_what_is_wrong_with_an_edition_is_one_sentence(edition: Path) -> None:
    folder = edition / "leaderboard" / "s1"
    head = (folder / "log.head").read_bytes()
    (folder / "log.head").write_bytes((folder / "log.jsonl").read_bytes().splitlines()[-1])
    for command in ("check", "build"):
        assert "log.head does not say" in call("leaderboard", command, folder=edition, code=1)
    (folder / "log.head").write_bytes(head)
    (folder / "submissions" / "stranger").mkdir()
    assert "add it (again), or remove" in call("leaderboard", "check", folder=edition, code=1)
    (folder / "submissions" / "stranger").rmdir()
    about = json.loads((folder / "edition.json").read_text())
    for change, reason in (
        ({"protocol": None}, "got `null`"),
        ({"protocol": {}}, "was opened with another version|edition.json was changed|envs"),
        ({"public_key": "x"}, "is none"),
        ({"format": 1}, "is of format 1"),
    ):
        (folder / "edition.json").write_text(json.dumps({**about, **change}))
        for command in ("check", "build"):
            assert re.search(reason, call("leaderboard", command, folder=edition, code=1))
    (folder / "edition.json").write_text(json.dumps(about))
    log = folder / "log.jsonl"
    log.write_text(log.read_text().replace("fixed", "mixed"))
    for command in ("check", "build"):
        assert "its signature does not fit" in call("leaderboard", command, folder=edition, code=1)


@posix_only
def test_places_that_cannot_be_written_are_one_sentence(edition: Path) -> None:
    (edition / "file").write_text("")
    tiny = ("--protocol", "tiny.toml", "--secret", "other.json")
    said = call("leaderboard", "open", "s2", *tiny, "--folder", "file", folder=edition, code=1)
    assert "cannot make the folder 'file/s2'" in said
    assert not (edition / "other.json").exists()
    tiny = ("--protocol", "tiny.toml", "--secret", "file/other.json")
    said = call("leaderboard", "open", "s2", *tiny, folder=edition, code=1)
    assert "cannot write the secret 'file/other.json'" in said
    said = call("leaderboard", "build", "--out", "/proc/page.html", folder=edition, code=1)
    assert "cannot write '/proc/page.html'" in said
    for words in (("--rerun", "some"), ("--rerun", "-1")):
        said = call("leaderboard", "check", *words, folder=edition, code=1)
        assert '--rerun must be a whole number or "all"' in said


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
        (("leaderboard", "check"), "there is no edition in 'leaderboard': give this command in a"),
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
    monkeypatch.setattr("evaluation.report.live.SHARE_OF_TIME", 1e9)
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
