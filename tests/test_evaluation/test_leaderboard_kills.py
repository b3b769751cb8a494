"""An edition survives a kill at every write: it can be read, and the same command goes on."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.leaderboard.audit import check_hidden_seeds
from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.lines import Judged, Trial
from evaluation.leaderboard.secret import Secret, SecretError
from evaluation.leaderboard.verdicts import Verification
from evaluation.leaderboard.verify import verify
from tests.test_evaluation.submissions import PROTOCOL, submitted
from tests.test_evaluation.test_cli import call

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="a child is killed, which must be forked"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
KILLED = 9
WRITES = ("os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree")
"""Events by which Python says what it is about to do, beside opening a file to write."""
MAX_WRITES = 200
TINY = """
envs = ["PeriodicGP-SyntheticDiscrete-v0"]
agents = ["random"]
seeds = "0:2"
horizon = 4
"""


def killed_at(number: int, command: Callable[[], Any]) -> bool:
    """Run a command in a child that ends at this write; whether it came so far."""
    child = os.fork()
    if child == 0:
        try:
            _end_at(number)
            command()
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED)
    return code == KILLED


def _end_at(number: int) -> None:
    left = number

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os._exit(KILLED)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
        if event in WRITES or writes:
            count()

    real = os.fsync

    def fsync(fd: int) -> None:
        count()
        real(fd)

    os.fsync = fsync
    sys.addaudithook(hook)


def every_kill(
    begin: Callable[[Path], None], command: Callable[[Path], Any], folder: Path
) -> list[Path]:
    """Folders in which a command was killed at its first write, its second, and so on."""
    found = []
    for number in range(1, MAX_WRITES):
        place = folder / f"killed-{number}"
        place.mkdir()
        begin(place)
        if not killed_at(number, lambda place=place: command(place)):
            assert number > 5
            return found
        found.append(place)
    raise AssertionError("it never ends")


@pytest.fixture(scope="module")
def judged(tmp_path_factory) -> tuple[Path, list[Verification]]:
    """A folder with an edition of one submission and its secret, and verdicts on two."""
    folder = tmp_path_factory.mktemp("edition")
    found = [
        verify(submitted(folder.parent / f"bundle-{name}", name), PROTOCOL)
        for name in ("random", "fixed")
    ]
    secret = Secret.create(folder / "secret.json")
    Edition.open(folder / "s1", PROTOCOL, secret).record(found[0], secret)
    return folder, found


def copy_of(folder: Path) -> Callable[[Path], None]:
    return lambda place: shutil.copytree(folder, place, dirs_exist_ok=True) and None


def opened(place: Path) -> tuple[Edition, Secret]:
    return Edition(place / "s1"), Secret.load(place / "secret.json")


def leftovers(place: Path) -> list[str]:
    return [path.name for path in place.rglob("*.part")]


def test_an_opening_that_was_killed_goes_on(tmp_path: Path) -> None:
    words = ("leaderboard", "open", "s1", "--protocol", "tiny.toml", "--secret", "secret.json")
    begin = lambda place: (place / "tiny.toml").write_text(TINY) and None  # noqa: E731
    kills = every_kill(begin, lambda place: call(*words, cwd=place), tmp_path)
    done = 0
    for place in kills:
        before = place / "leaderboard" / "s1" / "edition.json"
        there = before.exists()
        again = call(*words, cwd=place)
        assert again.returncode == there, again.stderr
        assert ("there is an edition in" in again.stderr) == there
        done += there
        checked = call("leaderboard", "check", cwd=place)
        assert "1 entries, 0 submissions: intact" in checked.stdout
        edition, secret = Edition(before.parent), Secret.load(place / "secret.json")
        edition.check_secret(secret)
        assert len(edition.lines()) == 1
        call("leaderboard", "close", "s1", "--secret", "secret.json", cwd=place)
        with pytest.raises(SecretError, match="left alone"):  # it is for no other edition
            Secret.for_opening(place / "secret.json")
        assert leftovers(place) == []
    assert 0 < done < len(kills)


def test_adding_that_was_killed_goes_on(judged, tmp_path: Path) -> None:
    folder, (_, second) = judged

    def add(place: Path) -> bool:
        edition, secret = opened(place)
        return edition.record(second, secret)

    there = set()
    for place in every_kill(copy_of(folder), add, tmp_path):
        edition, _ = opened(place)
        labels = [one.manifest.label for one in edition.accepted()]
        assert labels in (["random"], ["random", "fixed"])
        there.add(len(labels))
        assert add(place)
        assert [one.manifest.label for one in edition.accepted()] == ["random", "fixed"]
        assert edition.strays() == []
        assert leftovers(place) == []
    assert there == {1, 2}


def test_adding_again_that_was_killed_loses_nothing(judged, tmp_path: Path) -> None:
    folder, (first, _) = judged

    def add(place: Path) -> bool:
        edition, secret = opened(place)
        return edition.record(first, secret)

    for place in every_kill(copy_of(folder), add, tmp_path):
        edition, _ = opened(place)
        (one,) = edition.accepted()
        verdicts = len(one.verdicts)
        assert add(place)
        (one,) = edition.accepted()
        assert len(one.verdicts) == verdicts + 1
        assert one.tier == "replayed"


def test_a_trial_that_was_killed_is_begun_or_not(judged, tmp_path: Path) -> None:
    folder, (first, _) = judged

    def begin(place: Path) -> tuple[int, ...]:
        edition, secret = opened(place)
        return edition.begin_trial(first.manifest.id, first.digest, "agent", secret).worlds

    given_out = set()
    for place in every_kill(copy_of(folder), begin, tmp_path):
        edition, _ = opened(place)
        trials = [line for line in edition.lines() if isinstance(line, Trial)]
        worlds = begin(place)
        given_out.add((len(trials), worlds))
    assert {begun for begun, _ in given_out} == {0, 1}
    assert len({worlds for _, worlds in given_out}) == 2  # other seeds once a trial was begun


def test_closing_that_was_killed_goes_on(judged, tmp_path: Path) -> None:
    folder, _ = judged

    def close(place: Path) -> None:
        edition, secret = opened(place)
        edition.close(secret)

    ends = set()
    for place in every_kill(copy_of(folder), close, tmp_path):
        edition, _ = opened(place)
        ends.add(edition.closed is not None)
        if edition.closed is None:
            close(place)
        assert check_hidden_seeds(edition) == 0
        assert len([line for line in edition.lines() if isinstance(line, Judged)]) == 1
    assert ends == {False, True}
