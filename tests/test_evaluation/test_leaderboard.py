"""Submissions: what is accepted, and how everything else is refused, with its own reason."""

import hashlib
import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluation.leaderboard.bundle import MANIFEST, STEPS, BundleError, read_manifest
from evaluation.leaderboard.content import boards, edition_content
from evaluation.leaderboard.edition import (
    EDITION,
    LOG,
    REFERENCES_FILE,
    REGRETS,
    Edition,
    EditionError,
)
from evaluation.leaderboard.log import Log, LogError
from evaluation.leaderboard.secret import (
    HiddenSeeds,
    Secret,
    SecretError,
    can_tell,
    is_worse_on_hidden_seeds,
)
from evaluation.leaderboard.submit import submit
from evaluation.leaderboard.trial import CannotCheckError, Verdict
from evaluation.leaderboard.verify import verify
from evaluation.protocol.entries import agent_entry
from evaluation.protocol.protocol import Protocol
from evaluation.report.page import render

ROOT = Path(__file__).parents[2]
CHEAT = ROOT / "examples" / "memorising_agent.py"
AGENTS = Path(__file__).with_name("faulty_agents.py")
WORLDS = ["PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Synthetic-v0"]
PROTOCOL = Protocol.from_dict(
    {"name": "small", "envs": WORLDS, "agents": ["random"], "seeds": "0:4", "horizon": 12}
)


def entry(name: str, label: str | None = None):
    made = agent_entry({"name": name})
    return replace(made, label=label or name)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("bundles") / "random"
    submit(entry("random"), PROTOCOL, out, authors=["A. Author"], link="https://example.org")
    return out


@pytest.fixture
def bundle(pristine: Path, tmp_path: Path) -> Path:
    """A copy to be spoilt."""
    return Path(shutil.copytree(pristine, tmp_path / "bundle"))


def edit(bundle: Path, **change) -> None:
    """Change the manifest, as a forger would."""
    table = json.loads((bundle / MANIFEST).read_text())
    (bundle / MANIFEST).write_text(json.dumps({**table, **change}))


def table_of(bundle: Path) -> dict:
    return pq.read_table(bundle / STEPS).to_pydict()


def write_table(bundle: Path, table: pa.Table | bytes) -> None:
    """Other steps, with the right hash."""
    if not isinstance(table, bytes):
        file = io.BytesIO()
        pq.write_table(table, file)
        table = file.getvalue()
    (bundle / STEPS).write_bytes(table)
    edit(bundle, steps_sha256=hashlib.sha256(table).hexdigest())


def change_steps(bundle: Path, column: str, row: int, value: object) -> None:
    before = pq.read_table(bundle / STEPS)
    columns = before.to_pydict()
    columns[column][row] = value
    write_table(bundle, pa.table(columns, before.schema))


def refusal(bundle: Path, **how) -> tuple[str, str]:
    verdict = verify(bundle, PROTOCOL, workers=1, **how).verdicts[-1]
    assert not verdict.passed
    return verdict.tier, verdict.words


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
    assert manifest.source_sha256 is None
    assert manifest.machine["packages"]["numpy"] == np.__version__
    assert pq.read_table(pristine / STEPS).column_names == [
        *("cell", "t", "action_0", "reward", "agent_seconds")
    ]


def test_the_challenge_does_not_depend_on_who_takes_part() -> None:
    other = replace(PROTOCOL, agents=(entry("gp-ucb"),))
    assert other.hash != PROTOCOL.hash
    assert other.challenge == PROTOCOL.challenge
    assert PROTOCOL.restricted(seeds=[0]).challenge != PROTOCOL.challenge


DIGEST = "0" * 64


def nested(depth: int) -> list:
    return [nested(depth - 1)] if depth else []


MANIFESTS = [
    ({"format": 2}, "format must be 1"),
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
    ({"seeds": [0, 1, 2, 5]}, "its worlds or seeds are not those"),
    ({"envs": []}, "its worlds or seeds are not those"),
    ({"training_steps": -1}, r"Expected `int` >= 0 - at `\$.training_steps`"),
    ({"agent_seconds": "long"}, r"got `str` - at `\$.agent_seconds`"),
    ({"cells": "all"}, r"Expected `array`, got `str` - at `\$.cells`"),
    ({"cells": [{"env": "x"}]}, r"missing required field `seed` - at `\$.cells\[0\]`"),
    ({"cells": []}, "larger than|not all runs"),
    ({"surprise": 1}, "unknown field `surprise`"),
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
    ({"seeds": [True, 1, 2, 3]}, r"Expected `int`, got `bool` - at `\$.seeds\[0\]`"),
    ({"agent_seconds": 10**400}, r"<= 9223372036854775807 - at `\$.agent_seconds`"),
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
        ("{}", "missing required field `protocol`"),
        ('{"label": "a", "label": "b"}', "'label' stands twice"),
        (" " * (5 * 2**20), "larger than"),
    ],
)
def test_what_is_no_manifest(bundle: Path, text: str, reason: str) -> None:
    (bundle / MANIFEST).write_text(text)
    assert reason in refusal(bundle)[1]


def test_runs_that_are_forged(bundle: Path) -> None:
    runs = json.loads((bundle / MANIFEST).read_text())["cells"]
    edit(bundle, cells=[*runs[:-1], runs[0]])
    assert "more than once" in refusal(bundle)[1]
    edit(bundle, cells=runs[:-1])
    assert "not all runs of the protocol" in refusal(bundle)[1]
    edit(bundle, cells=[{**runs[0], "steps": 11}, *runs[1:]])
    assert "has 11 steps" in refusal(bundle)[1]
    edit(bundle, cells=[{**runs[0], "steps": 10**12}, *runs[1:]])
    assert "Expected `int` <= 100000000 - at `$.cells[0].steps`" in refusal(bundle)[1]
    edit(bundle, cells=[{**runs[0], "regret": -1.0}, *runs[1:]])
    assert "Expected `float` >= 0.0 - at `$.cells[0].regret`" in refusal(bundle)[1]


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


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), None])
def test_rewards_that_are_none(bundle: Path, value: float | None) -> None:
    change_steps(bundle, "reward", 5, value)
    tier, words = refusal(bundle)
    assert tier == "well-formed"
    assert "reward" in words


@pytest.mark.parametrize(
    ("column", "row", "value", "tier", "reason"),
    [
        ("cell", 0, 1, "well-formed", "runs must follow each other"),
        ("t", 3, 7, "well-formed", "t must count through"),
        ("agent_seconds", 0, -1.0, "well-formed", "must not be negative"),
        ("action_0", 0, 999.0, "replayed", "the action at t = 0"),
        ("action_0", 0, 0.5, "replayed", "an arm is one whole number"),
        ("action_0", 50, 3.0, "replayed", "the action at t = 2 of PeriodicGP-Synthetic-v0, seed 0"),
        ("action_0", 50, None, "replayed", "the action at t = 2"),
        ("action_0", 50, 0.123, "replayed", "the action or the reward was changed"),
        ("reward", 50, 9.0, "replayed", "the action or the reward was changed"),
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
    runs = json.loads((bundle / MANIFEST).read_text())["cells"]
    edit(bundle, cells=[{**runs[0], "regret": runs[0]["regret"] / 2}, *runs[1:]])
    tier, words = refusal(bundle)
    assert tier == "replayed"
    assert "is claimed as" in words


def test_parquet_that_is_refused(bundle: Path) -> None:
    whole = (bundle / STEPS).read_bytes()
    before = pq.read_table(bundle / STEPS)
    (bundle / STEPS).write_bytes(whole[:-20])
    assert "not the file that" in refusal(bundle)[1]
    for broken in (whole[:-20], whole[: len(whole) // 2], b"", b"PAR1" + b"\xff" * 500 + b"PAR1"):
        write_table(bundle, broken)
        assert "cannot be read" in refusal(bundle)[1]
    write_table(bundle, before.drop_columns(["reward"]))
    assert "must have the columns" in refusal(bundle)[1]
    write_table(bundle, pa.concat_tables([before, before]))
    assert "has 192 rows, the protocol 96 steps" in refusal(bundle)[1]
    lists = before.set_column(2, "action_0", pa.array([[0.0]] * 96))
    write_table(bundle, lists)
    assert "must have the columns" in refusal(bundle)[1]


def test_a_file_that_unpacks_to_millions_of_rows(bundle: Path) -> None:
    rows = 4_000_000
    before = pq.read_table(bundle / STEPS)
    columns = {field.name: pa.array(np.zeros(rows), field.type) for field in before.schema}
    write_table(bundle, pa.table(columns, before.schema))
    assert (bundle / STEPS).stat().st_size < 100_000
    assert "has 4,000,000 rows" in refusal(bundle)[1]


def test_another_agent_than_the_submitted_one(bundle: Path) -> None:
    edit(bundle, agent="fixed")
    tier, words = refusal(bundle, through="re-run", sample=2)
    assert tier == "re-run"
    assert "the agent chooses" in words
    assert "was submitted" in words
    edit(bundle, agent="gp-ucb", settings={"nonsense": 1})
    assert "the agent failed in" in refusal(bundle, through="re-run", sample=1)[1]


def test_code_is_asked_for_and_compared(tmp_path: Path) -> None:
    """No agent's code is run up to "replayed", whatever it is called."""
    file = tmp_path / "mine.py"
    file.write_text(AGENTS.read_text())
    out = tmp_path / "bundle"
    protocol = replace(PROTOCOL, seeds=(0,))
    manifest = submit(entry(f"{file}:Good", "Good"), protocol, out, authors=["Me"], workers=1)
    assert manifest.agent == "mine.py:Good"
    assert len(manifest.source_sha256 or "") == 64
    with pytest.raises(CannotCheckError, match=r"say where the code of 'mine\.py:Good' is"):
        verify(out, protocol, through="re-run", workers=1)
    with pytest.raises(CannotCheckError, match="was submitted, not"):
        verify(out, protocol, through="re-run", agent=f"{file}:Talks", workers=1)
    with pytest.raises(CannotCheckError, match="there is no file"):
        verify(out, protocol, through="re-run", agent="nowhere.py:Good", workers=1)
    found = verify(out, protocol, through="re-run", agent=f"{file}:Good", workers=1)
    assert found.passed
    file.write_text(file.read_text() + "\n# changed\n")
    with pytest.raises(CannotCheckError, match="not the code that was submitted"):
        verify(out, protocol, through="re-run", agent=f"{file}:Good", workers=1)


def test_a_failing_agent_is_not_submitted_and_nothing_is_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    marker = tmp_path / "marker"
    failing = entry(f"{AGENTS}:FailsUntil:marker={marker}", "F")
    with pytest.raises(BundleError, match=r"the agent failed in .*: RuntimeError: not yet"):
        submit(failing, PROTOCOL, out, authors=["Me"], workers=1)
    assert not out.exists()
    marker.touch()
    submit(failing, PROTOCOL, out, authors=["Me"], workers=1)
    with pytest.raises(BundleError, match="cannot make the folder"):
        submit(entry("random"), PROTOCOL, marker / "x", authors=["Me"], workers=1)
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


# The log


@pytest.fixture
def secret(tmp_path: Path) -> Secret:
    return Secret.create(tmp_path / "secret.json")


@pytest.fixture
def log(tmp_path: Path, secret: Secret) -> Log:
    made = Log(tmp_path / "log.jsonl", secret.public_key)
    for word in ("one", "two", "three"):
        made.append({"word": word}, secret.key)
    return made


def lines_of(log: Log) -> list[bytes]:
    return log.path.read_bytes().splitlines(keepends=True)


def test_the_log_says_what_was_written(log: Log) -> None:
    assert [entry["word"] for entry in log.entries()] == ["one", "two", "three"]


def test_changes_of_the_log_are_found(log: Log, secret: Secret, tmp_path: Path) -> None:
    lines, head = lines_of(log), log.path.with_suffix(".head").read_bytes()

    def broken(content: bytes, reason: str) -> None:
        log.path.write_bytes(content)
        with pytest.raises(LogError, match=reason):
            log.entries()

    broken(lines[0] + lines[1].replace(b"two", b"ten") + lines[2], "line 2 .* was changed")
    broken(lines[0] + lines[2], "line 2 .* does not follow")
    broken(lines[1] + lines[0] + lines[2], "line 1 .* does not follow")
    broken(lines[0] + lines[1], "does not end where log.head says")
    broken(b"", "does not end where log.head says")
    broken(b"".join(lines)[:-5], "line 3 .* is cut off")
    broken(b"nonsense\n", "line 1 .* is not a signed entry")
    stranger = Secret.create(tmp_path / "stranger.json")
    forged = Log(tmp_path / "forged.jsonl", stranger.public_key)
    forged.append({"word": "forged"}, stranger.key)
    broken(b"".join([*lines, *lines_of(forged)]), "line 4 .* was changed: its signature")
    with pytest.raises(LogError, match="not the key"):
        log.append({"word": "mine"}, stranger.key)
    log.path.write_bytes(b"".join(lines))
    log.path.with_suffix(".head").write_bytes(head.replace(b"3", b"2", 1))
    with pytest.raises(LogError, match=r"log.head was changed"):
        log.entries()


def test_a_power_cut_between_log_and_head_is_mended_by_the_next_entry(
    log: Log, secret: Secret
) -> None:
    head = log.path.with_suffix(".head")
    before = head.read_bytes()
    log.append({"word": "four"}, secret.key)
    head.write_bytes(before)
    with pytest.raises(LogError, match="does not end where"):
        log.entries()
    log.append({"word": "five"}, secret.key)
    assert [entry["word"] for entry in log.entries()][-2:] == ["four", "five"]
    with pytest.raises(LogError, match="too long"):
        log.append({"word": "x" * 2_000_000}, secret.key)
    assert len(log.entries()) == 5


def test_a_secret_is_its_owners_alone(tmp_path: Path, secret: Secret) -> None:
    path = tmp_path / "secret.json"
    assert path.stat().st_mode & 0o077 == 0
    assert Secret.load(path).salt_hash == secret.salt_hash
    with pytest.raises(SecretError, match="left alone"):
        Secret.create(path)
    path.write_text("{}")
    with pytest.raises(SecretError, match="no edition's secret"):
        Secret.load(path)


# Editions


@pytest.fixture(scope="module")
def finished(tmp_path_factory, pristine: Path) -> tuple[Path, Secret]:
    """An edition with an agent that was run again, and two strange ones that were only replayed."""
    folder = tmp_path_factory.mktemp("leaderboard") / "s1"
    secret = Secret.create(folder.parent / "secret.json")
    edition = Edition.open(folder, PROTOCOL, secret)
    edition.record(verify(pristine, PROTOCOL, through="re-run", sample=2), secret)
    for agent, label in (("fixed", "<script>alert(1)</script>"), ("gp-ucb", "best-fixed")):
        out = folder.parent / agent
        submit(entry(agent), PROTOCOL, out, authors=["B"])
        edit(out, label=label)  # whatever an author writes by hand
        edition.record(verify(out, PROTOCOL), secret)
    return folder, secret


@pytest.fixture
def edition(finished: tuple[Path, Secret], tmp_path: Path) -> Edition:
    return Edition(Path(shutil.copytree(finished[0], tmp_path / "s1")))


def test_verified_and_self_reported_are_never_mixed(edition: Edition) -> None:
    found = {board.id: list(board.about) for board in boards(edition)}
    assert found == {
        "verified-online": ["random"],
        "self-reported-online": ["<script>alert(1)</script>", "best-fixed (2)"],
    }
    for board in boards(edition):
        assert set(board.results.overall()["agent"]) == set(board.about)


def test_the_page_shows_what_was_replayed(edition: Edition) -> None:
    content = edition_content(edition)
    row = content["boards"][0]["rows"][0]
    manifest = next(a.manifest for a in edition.accepted() if a.manifest.label == "random")
    mine = [run.regret for run in manifest.runs if run.env == WORLDS[1]]
    assert row["envs"][1]["regret"][0] == pytest.approx(np.mean(mine), rel=1e-4)
    assert row["tier"] == "re-run"
    page = render(content)
    assert "<script>alert" not in page
    json.dumps(content, allow_nan=False)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (
            lambda s: edit(one(s), authors=["Somebody else"]),
            "the manifest of submission .* changed",
        ),
        (lambda s: append(one(s) / STEPS), "steps.parquet was changed"),
        (lambda s: append(one(s) / REGRETS), "regrets.npz was changed"),
        (lambda s: append(s.folder / REFERENCES_FILE), "references.npz was changed"),
        (lambda s: (one(s) / "other").mkdir(), "does not hold its three files"),
        (lambda s: (one(s) / STEPS).unlink(), "does not hold its three files"),
        (lambda s: (s.folder / LOG).unlink(), "does not end where|does not begin"),
    ],
)
def test_changes_after_the_verdict_are_found(edition: Edition, spoil, reason: str) -> None:
    assert len(edition.accepted()) == 3
    spoil(edition)
    with pytest.raises(LogError, match=reason):
        edition.accepted()


def test_an_edition_keeps_its_word(edition: Edition) -> None:
    about = json.loads((edition.folder / EDITION).read_text())
    (edition.folder / EDITION).write_text(json.dumps({**about, "salt_sha256": DIGEST}))
    with pytest.raises(LogError, match=r"edition\.json was changed"):
        Edition(edition.folder).accepted()
    (edition.folder / EDITION).write_text(json.dumps({"name": "s1"}))
    with pytest.raises(EditionError, match="missing required field `protocol`"):
        Edition(edition.folder)


def test_a_folder_that_the_log_does_not_know_is_named_and_not_shown(edition: Edition) -> None:
    (one(edition).parent / "other").mkdir()
    assert edition.strays() == ["other"]
    assert sum(len(board.about) for board in boards(edition)) == 3


def test_somebody_elses_steps_are_refused(edition: Edition, finished, tmp_path: Path) -> None:
    victim = next(a.folder for a in edition.accepted() if a.manifest.label == "random")
    thief = tmp_path / "thief"
    thief.mkdir()
    for name in (MANIFEST, STEPS):
        shutil.copy(victim / name, thief / name)
    edit(thief, authors=["Impostor"], label="mine")
    found = verify(thief, PROTOCOL)
    assert found.passed
    assert not edition.record(found, finished[1])
    assert "its steps are those of 'random' by A. Author" in found.verdicts[-1].words
    assert len(edition.accepted()) == 3


def test_times_are_measured_by_the_maintainers(edition: Edition) -> None:
    """What an author says of an agent's time counts only where nobody has run it."""
    row = edition_content(edition)["boards"][0]["rows"][0]
    measured = next(a.ms_per_step for a in edition.accepted() if a.manifest.label == "random")
    assert row["ms_per_step"] == pytest.approx(measured, rel=1e-4)


def one(edition: Edition) -> Path:
    return sorted(edition.folder.glob("submissions/*"))[0]


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


def test_editions_that_cannot_be_used(tmp_path: Path, secret: Secret, edition: Edition) -> None:
    with pytest.raises(EditionError, match="no edition in"):
        Edition(tmp_path)
    with pytest.raises(EditionError, match="letters, digits"):
        Edition.open(tmp_path / "an edition!", PROTOCOL, secret)
    with pytest.raises(SecretError, match="does not belong"):
        edition.check_secret(secret)
    other = {**edition.about["protocol"], "horizon": 13}
    edition.about["protocol"] = other
    with pytest.raises(EditionError, match="another version of the worlds"):
        edition.protocol()


# Hidden seeds


def test_hidden_seeds_depend_on_the_secret_alone() -> None:
    assert HiddenSeeds(b"a", "x").worlds == HiddenSeeds(b"a", "x").worlds
    assert not set(HiddenSeeds(b"a", "x").worlds) & set(HiddenSeeds(b"b", "x").worlds)
    assert not set(HiddenSeeds(b"a", "x").worlds) & set(HiddenSeeds(b"a", "y").worlds)
    hidden = HiddenSeeds(b"a", "x", 3)
    assert len({hidden.agent(env, seed) for env in "xy" for seed in hidden.worlds}) == 6


def test_an_agent_that_memorised_the_public_seeds_falls(tmp_path: Path) -> None:
    """It passes every other tier."""
    cheat, out = f"{CHEAT}:Memoriser", tmp_path / "cheat"
    submit(entry(cheat, "Memoriser"), PROTOCOL, out, authors=["C"])
    found = verify(
        out,
        PROTOCOL,
        through="hidden-seed",
        agent=cheat,
        salt=b"a secret of the test",
        sample=2,
    )
    assert [verdict.passed for verdict in found.verdicts] == [True, True, True, False]
    assert "it knows the public seeds" in found.verdicts[-1].words
    edition_secret = Secret.create(tmp_path / "secret.json")
    edition = Edition.open(tmp_path / "s", PROTOCOL, edition_secret)
    assert not edition.record(found, edition_secret)
    assert edition.accepted() == []
    assert edition.log.entries()[-1]["verdicts"][-1]["passed"] is False


def test_who_is_caught_later_is_named_and_not_ranked(tmp_path: Path, finished) -> None:
    edition, secret = Edition(Path(shutil.copytree(finished[0], tmp_path / "s1"))), finished[1]
    bundle = next(a.folder for a in edition.accepted() if a.manifest.label == "random")
    copy = tmp_path / "again"
    copy.mkdir()
    for name in (MANIFEST, STEPS):
        shutil.copy(bundle / name, copy / name)
    found = verify(copy, PROTOCOL)
    found.verdicts.append(replace(found.verdicts[-1], tier="hidden-seed", passed=False))
    edition.record(found, secret)
    assert all("random" not in board.about for board in boards(edition))
    edition.record(verify(copy, PROTOCOL), secret)  # a lower tier does not wash it clean
    assert all("random" not in board.about for board in boards(edition))
    assert any("Refused: random" in note for note in edition_content(edition)["notes"])


def test_an_honest_agent_passes_on_hidden_seeds(pristine: Path) -> None:
    found = verify(pristine, PROTOCOL, through="hidden-seed", salt=b"another secret", sample=1)
    assert found.tier == "hidden-seed"


def test_the_hidden_test_keeps_its_level(monkeypatch) -> None:
    """Of 400 honest agents at most 5 % have p <= 0.05.

    More than 33 (8.2 %) would be a false alarm with a probability of 0.003 (binomial).
    """
    monkeypatch.setattr("evaluation.leaderboard.secret._PERMUTATIONS", 499)
    rng = np.random.default_rng(0)
    small = 0
    for _ in range(400):
        public = {env: rng.gamma(2.0, size=10) for env in "abc"}
        hidden = {env: rng.gamma(2.0, size=10) for env in "abc"}
        small += is_worse_on_hidden_seeds(public, hidden).p_value <= 0.05
    assert small <= 33


def test_an_edition_without_moving_worlds_has_no_hidden_seeds(tmp_path: Path) -> None:
    replayed = Protocol.from_dict(
        {"envs": ["PeriodicGP-Replay-v0"], "agents": ["random"], "seeds": "0:2", "horizon": 5}
    )
    out = tmp_path / "bundle"
    submit(entry("random"), replayed, out, authors=["A"], workers=1)
    with pytest.raises(CannotCheckError, match="replays data"):
        verify(out, replayed, through="hidden-seed", salt=b"s", sample=1, workers=1)


def test_a_cheat_that_hides_in_the_tails_is_found() -> None:
    """It is perfect on most public seeds and at its worst on a few, so that its mean is honest."""
    rng = np.random.default_rng(0)
    public = {env: np.where(np.arange(10) % 5 == 0, 3.5, 0.0) for env in "abcdef"}
    hidden = {env: rng.normal(0.7, 0.15, 10) for env in "abcdef"}
    assert is_worse_on_hidden_seeds(public, hidden).worse


def test_too_few_runs_say_nothing() -> None:
    assert not can_tell({"a": np.zeros(5)}, 5)
    assert can_tell({"a": np.zeros(5), "b": np.zeros(5)}, 10)


def test_a_verdict_is_short_and_printable() -> None:
    words = Verdict("replayed", False, "\x1b[2J" + "x" * 5000).words
    assert len(words) == 1000
    assert words.isprintable()


@pytest.mark.parametrize(
    "folder", sorted((ROOT / "leaderboard").glob("*/edition.json")), ids=lambda p: p.parent.name
)
def test_the_published_editions_are_intact(folder: Path) -> None:
    edition = Edition(folder.parent)
    accepted = edition.accepted()
    assert not edition.strays()
    assert len(accepted) > 0
    assert all(one.manifest.challenge == edition.challenge for one in accepted)


def test_what_is_submitted_by_default_fits_the_newest_edition() -> None:
    newest = max((ROOT / "leaderboard").glob("*/edition.json"))
    assert Protocol.load("standard").challenge == Edition(newest.parent).challenge
