"""The signed log of an edition, and the secret that signs it."""

from pathlib import Path

import pytest

from evaluation.leaderboard.log import Log, LogError
from evaluation.leaderboard.secret import Secret, SecretError


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


def test_a_power_cut_between_log_and_head_is_read_and_mended(log: Log, secret: Secret) -> None:
    head = log.path.with_suffix(".head")
    before = head.read_bytes()
    log.append({"word": "four"}, secret.key)
    head.write_bytes(before)
    assert [entry["word"] for entry in log.entries()][-1] == "four"
    log.append({"word": "five"}, secret.key)
    assert head.read_bytes() != before
    assert [entry["word"] for entry in log.entries()][-2:] == ["four", "five"]
    head.write_bytes(before)
    with pytest.raises(LogError, match="does not end where"):  # two lines are no power cut
        log.entries()


def test_a_first_line_without_a_head_is_a_power_cut(tmp_path: Path, secret: Secret) -> None:
    made = Log(tmp_path / "log.jsonl", secret.public_key)
    made.append({"word": "one"}, secret.key)
    made.path.with_suffix(".head").unlink()
    assert len(made.entries()) == 1
    made.append({"word": "two"}, secret.key)
    made.path.with_suffix(".head").unlink()
    with pytest.raises(LogError, match="does not end where"):
        made.entries()


def test_what_is_no_head_is_one_sentence(log: Log, secret: Secret) -> None:
    head = log.path.with_suffix(".head")
    head.write_bytes(lines_of(log)[-1])
    with pytest.raises(LogError, match=r"log\.head does not say where the log ends"):
        log.entries()
    with pytest.raises(LogError, match=r"log\.head does not say where the log ends"):
        log.append({"word": "four"}, secret.key)
    head.write_bytes(b"nonsense")
    with pytest.raises(LogError, match=r"log\.head is not a signed entry"):
        log.entries()
    head.unlink()
    head.mkdir()
    with pytest.raises(LogError, match=r"log\.head is not a plain file|cannot read log\.head"):
        log.entries()
    head.rmdir()
    log.path.unlink()
    log.path.mkdir()
    with pytest.raises(LogError, match="cannot read"):
        log.entries()


def test_an_entry_that_is_too_long_or_cannot_be_made_leaves_the_log(
    log: Log, secret: Secret
) -> None:
    with pytest.raises(LogError, match="too long"):
        log.append({"word": "x" * 2_000_000}, secret.key)
    with pytest.raises(ZeroDivisionError):
        log.append(lambda entries: {"word": str(1 / 0)}, secret.key)
    assert len(log.entries()) == 3
    log.append(lambda entries: {"word": str(len(entries))}, secret.key)
    assert log.entries()[-1]["word"] == "3"


def test_a_secret_is_its_owners_alone(tmp_path: Path, secret: Secret) -> None:
    path = tmp_path / "secret.json"
    assert path.stat().st_mode & 0o077 == 0
    assert Secret.load(path).salt_hash == secret.salt_hash
    with pytest.raises(SecretError, match="left alone"):
        Secret.create(path)
    for content in ("{}", "[]", "nonsense", ""):
        path.write_text(content)
        with pytest.raises(SecretError, match="no edition's secret"):
            Secret.load(path)


def test_a_secret_is_taken_up_again_until_it_was_used(tmp_path: Path) -> None:
    path = tmp_path / "secret.json"
    made = Secret.for_opening(path)
    assert Secret.for_opening(path).salt == made.salt
    made.mark_used(path)
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(SecretError, match="left alone"):
        Secret.for_opening(path)
    assert Secret.load(path).salt == made.salt
    path.write_text('{"key": "00", "salt": "00"}')  # of an older version
    with pytest.raises(SecretError, match="left alone"):
        Secret.for_opening(path)
    with pytest.raises(SecretError, match="cannot write the secret"):
        Secret.create(path / "below" / "a file")
