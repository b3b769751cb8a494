"""Editions: the log, batches on hidden seeds, and checks of both."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from evaluation.leaderboard import judge
from evaluation.leaderboard.bundle import STEPS, BundleError, LeaderboardError
from evaluation.leaderboard.edition import LOG, PROTOCOL, Abandoned, Edition, standings
from evaluation.leaderboard.judge import HiddenSeeds, permutation_test
from evaluation.leaderboard.submission import submit
from evaluation.page.edition_content import edition_content
from tests.errors import raises
from tests.test_evaluation.submissions import TOML, edit, entry, submitted

HOW = {"isolation": "none", "sample": 2, "workers": 2}


def opened(folder: Path) -> Edition:
    folder.mkdir(exist_ok=True)
    (folder / "small.toml").write_text(TOML)
    return Edition.open(folder / "e1", str(folder / "small.toml"))


@pytest.fixture(scope="module")
def bundles(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("bundles")
    return {name: submitted(folder / name, name) for name in ("random", "gp-ucb")}


@pytest.fixture(scope="module")
def judged(tmp_path_factory, bundles: dict[str, Path]) -> Path:
    """An edition with a batch of one, and a submission that was not judged."""
    edition = opened(tmp_path_factory.mktemp("editions"))
    edition.add(bundles["random"])
    judge.judge(edition, **HOW)
    edition.add(bundles["gp-ucb"])
    return edition.folder


@pytest.fixture
def edition(judged: Path, tmp_path: Path) -> Edition:
    return Edition(Path(shutil.copytree(judged, tmp_path / "e1")))


def test_edition_is_a_protocol_submissions_and_a_log(edition: Edition) -> None:
    assert {path.name for path in edition.folder.iterdir()} - {"log.lock"} == {
        PROTOCOL,
        LOG,
        "submissions",
    }
    kinds = [json.loads(line)["kind"] for line in (edition.folder / LOG).read_text().splitlines()]
    assert kinds == ["opened", "added", "recorded", "judged", "added"]


def test_batch_is_paired_and_runs_the_reference_agents(edition: Edition) -> None:
    recorded, line = edition.lines[2:4]
    assert line.regrets.keys() == {*recorded.batch, *judge.REFERENCE_AGENTS}
    # The submitted agent is the reference agent, on the same seeds.
    assert line.regrets[recorded.batch[0]] == line.regrets["random"]
    assert line.seeds == tuple(
        map(str, HiddenSeeds(line.nonce, recorded.batch, edition.heads[2]).worlds)
    )
    assert set(line.ms_per_step) == set(line.regrets)


def test_check_recomputes_an_intact_edition(edition: Edition) -> None:
    assert [one.tier for one in judge.check(edition)] == ["hidden-seed", "replayed"]
    assert judge.check(edition, head=edition.heads[0])
    with raises(LeaderboardError, "unknown-head"):
        judge.check(edition, head="0" * 64)
    assert judge.rerun(edition, 1, workers=2) == 5


def test_standings_are_the_public_runs(edition: Edition) -> None:
    results, entries = standings(edition, "online")
    assert list(entries) == ["random", "gp-ucb"]
    claimed = {run.env: 0.0 for run in entries["random"].manifest.runs}
    for run in entries["random"].manifest.runs:
        claimed[run.env] += run.regret / 6
    table = results.table()
    regrets = table[table["agent"] == "random"].set_index("task")["regret"]
    assert regrets.to_dict() == pytest.approx(claimed)
    (board,) = edition_content(edition)["boards"]
    tiers = {row["agent"]: row["tier"] for row in board["rows"]}
    assert tiers == {"random": "hidden-seed", "gp-ucb": "replayed"}


def forge(edition: Edition, number: int, pattern: str, replacement: str) -> None:
    """Change a line and forge the hashes, as an attacker who can write to the folder would."""
    texts, previous, lines = (edition.folder / LOG).read_text().splitlines(), "", []
    texts[number], count = re.subn(pattern, replacement, texts[number])
    assert count
    for text in texts:
        line = json.dumps({**json.loads(text), "previous": previous}, separators=(",", ":"))
        previous = hashlib.sha256(line.encode()).hexdigest()
        lines.append(line + "\n")
    (edition.folder / LOG).write_text("".join(lines))


def test_edition_refuses_a_changed_line(edition: Edition) -> None:
    log = edition.folder / LOG
    log.write_text(log.read_text().replace('"time":"2', '"time":"3', 1))
    with raises(LeaderboardError, "wrong-hash"):
        Edition(edition.folder)


@pytest.mark.parametrize(
    ("pattern", "replacement", "code"),
    [
        (r'"nonce":"\w+"', f'"nonce":"{"0" * 32}"', "wrong-batch"),
        (r'"seeds":\["\d+"', '"seeds":["1"', "wrong-batch"),
        (r'"verdicts":\{.*\}\}', '"verdicts":{}', "wrong-batch"),
        (r'"regrets":\{.*?\}\}', '"regrets":{}', "wrong-batch"),
        ('"passed":true', '"passed":false', "wrong-verdict"),
        ('"tier":"hidden-seed"', '"tier":"gold"', "wrong-verdict"),
    ],
)
def test_check_finds_a_forged_batch(
    edition: Edition, pattern: str, replacement: str, code: str
) -> None:
    forge(edition, 3, pattern, replacement)
    with raises(LeaderboardError, code):
        judge.check(Edition(edition.folder))


def test_check_finds_other_files(edition: Edition) -> None:
    folder = edition.folder / "submissions" / edition.entries()[0].id
    (folder.parent / "stray").mkdir()
    with raises(LeaderboardError, "unexpected-file"):
        judge.check(edition)
    (folder.parent / "stray").rmdir()
    edit(folder, label="another")
    with raises(LeaderboardError, "changed-submission"):
        judge.check(edition)
    (folder / STEPS).write_bytes(b"PAR1")
    with raises(LeaderboardError, "wrong-hash"):
        judge.check(edition)
    protocol = edition.folder / PROTOCOL
    protocol.write_text(protocol.read_text().replace("0:6", "0:7"))
    with raises(LeaderboardError, "wrong-protocol"):
        judge.check(Edition(edition.folder))


def test_interrupted_batch_is_judged_again_or_abandoned(edition: Edition, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(judge, "execute", interrupted)
    for _ in range(2):  # a retry is recorded, too
        with pytest.raises(KeyboardInterrupt):
            judge.judge(edition, **HOW)
    assert [type(line).__name__ for line in edition.lines[-3:]] == ["Added", "Recorded", "Recorded"]
    assert len(edition.batch) == 1
    with raises(LeaderboardError, "wrong-event"):
        edition.append(edition.lines[1])
    again = Edition(edition.folder)
    again.append(Abandoned(reason="power cut"))
    assert again.batch == ()
    assert [one.tier for one in judge.check(again)] == ["hidden-seed", "replayed"]


def test_edition_is_changed_by_one_process_at_a_time(edition: Edition, monkeypatch) -> None:
    monkeypatch.setattr("evaluation.leaderboard.edition.MAX_WAIT_SECONDS", 0.1)
    other = Edition(edition.folder)
    with edition.locked(), raises(LeaderboardError, "locked-edition"):
        judge.judge(other, **HOW)
    assert edition.lines == other.lines


def test_edition_refuses_copies_and_unknown_names(edition: Edition, bundles, tmp_path) -> None:
    copy = Path(shutil.copytree(bundles["random"], tmp_path / "copy"))
    edit(copy, label="mine", authors=["Mallory"])
    with raises(BundleError, "copied-submission"):
        edition.add(copy)
    with raises(LeaderboardError, "unknown-submission"):
        judge.judge(edition, ["nobody"], **HOW)


@pytest.mark.parametrize(
    ("world", "code"), [("Replay", "no-hidden-seeds"), ("SyntheticDiscrete", "too-few-runs")]
)
def test_judge_rejects_unsuitable_protocols(tmp_path: Path, world: str, code: str) -> None:
    text = f'envs = ["PeriodicGP-{world}-v0"]\nagents = ["random"]\nseeds = "0:2"\nhorizon = 5\n'
    (tmp_path / "p.toml").write_text(text)
    edition = Edition.open(tmp_path / "e1", str(tmp_path / "p.toml"))
    submit(entry("random"), edition.protocol, tmp_path / "b", authors=["A"], isolation="none")
    edition.add(tmp_path / "b")
    with raises(LeaderboardError, code):
        judge.judge(edition, **HOW)


def test_hidden_seeds_depend_on_nonce_batch_and_head() -> None:
    seeds = HiddenSeeds("n", ["a"], "h")
    assert seeds.worlds == HiddenSeeds("n", ["a"], "h").worlds
    for change in (("m", ["a"], "h"), ("n", ["b"], "h"), ("n", ["a"], "g")):
        other = HiddenSeeds(*change)
        assert not set(other.worlds) & set(seeds.worlds)
        assert other.seed("agent", "w", 5) != seeds.seed("agent", "w", 5)
    assert len({seeds.seed("agent", env, seed) for env in "xy" for seed in seeds.worlds}) == 20


def test_permutation_test_keeps_its_level(monkeypatch) -> None:
    """At most 5 % of 400 honest agents have p <= 0.05.

    More than 33 (8.2 %) would be a false alarm with a probability of 0.003 (binomial).
    """
    monkeypatch.setattr(judge, "PERMUTATIONS", 499)
    rng, small = np.random.default_rng(0), 0
    for _ in range(400):
        public, unseen = ({env: rng.gamma(2.0, size=10) for env in "abc"} for _ in range(2))
        small += permutation_test(public, unseen)[2] <= 0.05
    assert small <= 33


def test_permutation_test_finds_a_cheat_in_the_tails() -> None:
    """It is perfect on most public seeds and at its worst on a few, so that its mean is honest."""
    rng = np.random.default_rng(0)
    public = {env: np.where(np.arange(10) % 5 == 0, 3.5, 0.0) for env in "abcdef"}
    unseen = {env: rng.normal(0.7, 0.15, 10) for env in "abcdef"}
    assert permutation_test(public, unseen)[2] <= judge.FALSE_ALARM
