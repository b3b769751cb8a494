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
