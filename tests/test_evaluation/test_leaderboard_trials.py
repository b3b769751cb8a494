"""Trials on hidden seeds: written down before they begin, counted, and revealed in the end."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evaluation.leaderboard import trial
from evaluation.leaderboard.audit import check_hidden_seeds, rerun_edition
from evaluation.leaderboard.content import EARLIER, boards, edition_content
from evaluation.leaderboard.edition import LOG, MAX_TRIALS, Edition, EditionError
from evaluation.leaderboard.hidden import HiddenSeeds
from evaluation.leaderboard.judge import Judge
from evaluation.leaderboard.lines import Closed, Judged, Opened, Trial
from evaluation.leaderboard.log import Log, LogError
from evaluation.leaderboard.secret import Secret
from evaluation.leaderboard.standing import Accepted
from evaluation.leaderboard.verdicts import CannotCheckError
from evaluation.record import Record
from evaluation.sandbox import DID_NOT_START
from tests.test_evaluation.submissions import PROTOCOL, copied, edit, submitted

pytestmark = pytest.mark.usefixtures("no_sandbox")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    return submitted(tmp_path_factory.mktemp("bundles") / "random")


@pytest.fixture(scope="module")
def judged(tmp_path_factory, bundle: Path) -> tuple[Path, Secret]:
    """An edition with an agent that has passed a trial."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evaluation.sandbox.available", lambda: None)
        folder = tmp_path_factory.mktemp("leaderboard")
        secret = Secret.create(folder / "secret.json")
        edition = Edition.open(folder / "s1", PROTOCOL, secret)
        assert judge(edition, secret).judge(bundle)[1]
    return edition.folder, secret


@pytest.fixture
def secret(judged: tuple[Path, Secret]) -> Secret:
    return judged[1]


@pytest.fixture
def edition(judged: tuple[Path, Secret], tmp_path: Path) -> Edition:
    return Edition(Path(shutil.copytree(judged[0], tmp_path / "s1")))


def judge(edition: Edition, secret: Secret, **how: Any) -> Judge:
    conditions = {"through": "hidden-seed", "without_sandbox": True, "sample": 1, "workers": 1}
    return Judge(edition, secret, **{**conditions, **how})


def only(edition: Edition) -> Accepted:
    (one,) = edition.accepted()
    return one


def end_in_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge is ended after the seeds were given out."""

    def ended(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evaluation.leaderboard.trial._hidden_regrets", ended)


def test_the_log_says_what_came_of_a_trial(edition: Edition, secret: Secret) -> None:
    opened, begun, verdict = edition.lines()
    assert isinstance(opened, Opened)
    assert isinstance(begun, Trial)
    assert isinstance(verdict, Judged)
    one = only(edition)
    assert (begun.submission, begun.trial, begun.more) == (one.manifest.id, 1, False)
    assert verdict.hidden is not None
    assert verdict.hidden.trial == 1
    assert verdict.hidden.seeds == HiddenSeeds(secret.salt, one.manifest.id, 1).worlds
    assert set(verdict.hidden.regrets) == {entry.label for entry in PROTOCOL.envs}
    assert all(regret >= 0 for own in verdict.hidden.regrets.values() for regret in own)
    assert verdict.code == one.manifest.source_sha256
    assert one.tier == "hidden-seed"
    line = edition.log.entries()[-1]
    assert line["sandbox"] is None
    assert line["override"] is True
    assert "without a sandbox" in verdict.verdicts[-1].words


def test_a_trial_that_was_lost_counts_and_its_seeds_are_never_given_out_again(
    edition: Edition, secret: Secret, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        end_in_the_trial(patch)
        with pytest.raises(KeyboardInterrupt):
            judge(edition, secret).judge(bundle)
    one = only(edition)
    assert one.lost_trials == 1
    assert one.tier == "re-run"  # until a later trial is passed
    (board,) = boards(edition)
    shown = dict(board.about["random"].provenance)
    assert shown["Trials on hidden seeds"] == "2, 1 without a verdict"
    found, accepted = judge(edition, secret).judge(bundle)
    assert accepted
    assert only(edition).tier == "hidden-seed"
    assert found.hidden.trial == 3
    seeds = [line.hidden.seeds for line in only(edition).verdicts if line.hidden]
    assert not set(seeds[0]) & set(seeds[1])


def test_there_are_only_so_many_trials(
    edition: Edition, secret: Secret, bundle: Path, tmp_path: Path
) -> None:
    one = only(edition)
    found = next(line for line in one.verdicts if line.steps)
    for _ in range(MAX_TRIALS - 1):
        edition.begin_trial(one.manifest.id, str(found.steps), "agent", secret)
    with pytest.raises(CannotCheckError, match=f"has had {MAX_TRIALS} trials on hidden seeds"):
        judge(edition, secret).judge(bundle)
    other = copied(bundle, tmp_path / "other")  # the same steps, in another wrapper
    edit(other, label="another", created="2031-01-01")
    with pytest.raises(CannotCheckError, match=f"has had {MAX_TRIALS} trials on hidden seeds"):
        judge(edition, secret).judge(other)
    assert judge(edition, secret, more_trials=True).judge(bundle)[1]
    last = [line for line in edition.lines() if isinstance(line, Trial)][-1]
    assert (last.trial, last.more) == (MAX_TRIALS + 1, True)
    (board,) = boards(edition)
    shown = dict(board.about["random"].provenance)["Trials on hidden seeds"]
    assert shown == "4, 2 without a verdict (more than the 3 that there are)"


def test_a_sandbox_that_does_not_start_is_nobodys_failure(
    edition: Edition, secret: Secret, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failed(runs: Any, **_: Any) -> dict[str, Record]:
        return {run.key: Record(run.key, f"{DID_NOT_START}: no space") for run in runs}

    monkeypatch.setattr("evaluation.leaderboard.trial.execute_all", failed)
    with pytest.raises(CannotCheckError, match="no space: this is no verdict on the agent"):
        judge(edition, secret).judge(bundle)
    assert len(edition.lines()) == 3


def test_hidden_runs_that_fail_count_against_the_submission(
    edition: Edition, secret: Secret, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = trial.execute_all

    def failing(runs: Any, **how: Any) -> dict[str, Record]:
        if all(run.agent_seed is None for run in runs):
            return real(runs, **how)
        return {run.key: Record(run.key, "the agent's process ended") for run in runs}

    monkeypatch.setattr(trial, "execute_all", failing)
    found, accepted = judge(edition, secret).judge(bundle)
    assert not accepted
    assert "the agent failed on a hidden seed" in found.verdicts[-1].words
    assert only(edition).tier == "refused"
    (line,) = [line for line in only(edition).verdicts if line.hidden and line.hidden.trial == 2]
    assert all(regret is None for own in line.hidden.regrets.values() for regret in own)


# Closing


def test_a_closed_edition_is_revealed_and_takes_nothing(
    edition: Edition, secret: Secret, bundle: Path
) -> None:
    assert check_hidden_seeds(edition) is None
    edition.close(secret)
    assert check_hidden_seeds(edition) == 10
    assert edition.closed.salt == secret.salt.hex()
    with pytest.raises(EditionError, match="edition s1 was closed on"):
        judge(edition, secret)
    with pytest.raises(EditionError, match="was closed on"):
        edition.begin_trial("x", "y", "z", secret)
    with pytest.raises(EditionError, match="was closed on"):
        edition.close(secret)
    facts = dict(edition_content(edition)["facts"])
    assert facts["Salt of the hidden seeds"] == secret.salt.hex()
    assert "Closed" in facts


def rewritten(edition: Edition, secret: Secret, change: Callable[[list[Any]], list[Any]]) -> None:
    """The log as a maintainer who cheats would write it: with the right signatures."""
    lines = change(edition.lines())
    for name in (LOG, "log.head"):
        (edition.folder / name).unlink()
    log = Log(edition.folder / LOG, secret.public_key)
    for line in lines:
        log.append(line.content(), secret.key)


def other_seeds(lines: list[Any]) -> list[Any]:
    hidden = msgspec.structs.replace(lines[2].hidden, seeds=tuple(range(10)))
    return [*lines[:2], msgspec.structs.replace(lines[2], hidden=hidden), *lines[3:]]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: [*lines[:-1], Closed(salt="00")], "not the one whose hash was promised"),
        (lambda lines: [*lines[:-1], Closed(salt="salt")], "the salt that was published is none"),
        (other_seeds, "trial 1, are not those of the edition's salt"),
        (lambda lines: [lines[0], *lines[2:]], "line 2 .* this trial had no beginning"),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], "line 3 .* not the next trial"),
        (lambda lines: [*lines[:3], *lines[2:]], "line 4 .* or has two verdicts"),
        (lambda lines: [*lines, lines[-1]], "line 4 .* closed once, at the end"),
        (lambda lines: lines[1:], "does not begin with the opening"),
        (lambda lines: [lines[0], *lines], "line 2 .* opened once"),
    ],
)
def test_a_maintainer_who_cheats_is_found(
    edition: Edition, secret: Secret, change: Callable[[list[Any]], list[Any]], reason: str
) -> None:
    edition.close(secret)
    rewritten(edition, secret, change)
    with pytest.raises(LogError, match=reason):
        check_hidden_seeds(edition)


@pytest.mark.parametrize("entry", [{}, {"kind": "magic"}, {"kind": "trial"}, {"kind": 3}])
def test_signed_nonsense_is_one_sentence(edition: Edition, secret: Secret, entry: dict) -> None:
    edition.log.append(entry, secret.key)
    with pytest.raises(LogError, match="line 4 of the log: "):
        edition.accepted()


def test_agents_do_again_what_the_log_says(edition: Edition, secret: Secret) -> None:
    before = rerun_edition(edition, 2, workers=1)
    assert (before.public, before.hidden, before.broken, before.skipped) == (2, 0, [], [])
    edition.close(secret)
    found = rerun_edition(edition, None, workers=1)
    assert (found.public, found.hidden, found.broken, found.skipped) == (8, 20, [], [])


def test_a_regret_that_the_log_invents_is_found(edition: Edition, secret: Secret) -> None:
    def better(lines: list[Any]) -> list[Any]:
        regrets = {env: tuple(r / 2 for r in own) for env, own in lines[2].hidden.regrets.items()}
        hidden = msgspec.structs.replace(lines[2].hidden, regrets=regrets)
        return [*lines[:2], msgspec.structs.replace(lines[2], hidden=hidden), *lines[3:]]

    edition.close(secret)
    rewritten(edition, secret, better)
    assert check_hidden_seeds(edition) == 10
    found = rerun_edition(edition, 1, workers=1)
    assert (found.public, found.hidden, len(found.broken)) == (1, 1, 1)
    assert "(hidden): its regret is" in found.broken[0]


# Staleness


def test_entries_of_other_code_are_marked(
    edition: Edition, secret: Secret, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not only(edition).is_stale
    for name in ("standing", "trial"):
        monkeypatch.setattr(f"evaluation.leaderboard.{name}.code_hash", lambda name: "1" * 64)
    assert only(edition).is_stale
    content = edition_content(edition)
    assert any(
        f"{EARLIER[1:]} of their code" in note and "random" in note for note in content["notes"]
    )
    (row,) = content["boards"][0]["rows"]
    assert any(EARLIER in value for _, value in row["provenance"])
    found = rerun_edition(edition, 1, workers=1)
    assert (found.public, found.hidden, found.skipped) == (0, 0, ["random"])
    # Once the new code is seen to choose the same, the entry is its own, too.
    assert judge(edition, secret, through="re-run").judge(bundle)[1]
    assert not only(edition).is_stale
