"""Tests of files of deciders: exact continuation, sharing and atomic writes."""

import errno
import os
import random
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

from agents.registry import online_names
from periodic_decisions import Decider, DeciderError
from periodic_decisions.decider import state
from periodic_decisions.decider.state import FORMAT, to_bytes
from tests.errors import raises
from tests.platforms import linux_only
from tests.test_decisions.test_deciding import QUICK, file_agent, kiosk, live, table

__all__ = ["file_agent"]  # a fixture

WORKER = """
import sys
from periodic_decisions import Decider

path, count = sys.argv[1], int(sys.argv[2])
for number in range(count):
    with Decider.opened(path) as decider:
        choice = decider.choose("2026-11-16 09:00")
    with Decider.opened(path) as decider:
        decider.tell(choice.id, float(number))
    print(choice.id, flush=True)
"""


def start(path: Path, count: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("agent", ["auto-gp-ucb", QUICK, "thompson", "seasons-gp-ucb", "random"])
def test_load_continues_as_before_save(tmp_path: Path, agent: str) -> None:
    one = kiosk(agent=agent, explore=0.2, timezone="Europe/Madrid")
    late = one.choose("2026-11-16")
    live(one, 60)
    one.save(tmp_path / "kiosk")
    two = Decider.load(tmp_path / "kiosk")
    pd.testing.assert_frame_equal(one.log, two.log)
    assert one.settings == two.settings
    for decider in (one, two):
        decider.tell(late.id, 5.0)
    assert live(one, 60, "2026-11-19") == live(two, 60, "2026-11-19")
    assert repr(one.plan("2026-11-23")) == repr(two.plan("2026-11-23"))


def test_load_replays_agents_that_cannot_be_saved(tmp_path: Path, file_agent: str) -> None:
    one = kiosk(agent=file_agent, remember=150)
    for hours, first in ((30, "2026-11-16"), (200, "2026-11-18")):  # the second forgets something
        live(one, hours, first)
        one.save(tmp_path / "kiosk")
        with raises(DeciderError, "unregistered-agent"):
            Decider.load(tmp_path / "kiosk")
        two = Decider.load(tmp_path / "kiosk", agent=file_agent)
        assert live(one, 30, "2026-11-27") == live(two, 30, "2026-11-27")


def test_load_continues_every_agent(tmp_path: Path) -> None:
    for agent in online_names():
        one = kiosk(agent=agent)
        live(one, 12)
        one.add_arm("chat")
        one.save(tmp_path / "kiosk")
        two = Decider.load(tmp_path / "kiosk")
        moments = pd.date_range("2026-11-17", periods=8, freq="h")
        chosen = [[decider.choose(moment).arm for moment in moments] for decider in (one, two)]
        assert chosen[0] == chosen[1], agent


def test_save_keeps_changed_arms(tmp_path: Path) -> None:
    one = kiosk()
    one.learn(table(7))
    one.add_arm("chat")
    one.retire_arm("billing")
    one.save(tmp_path / "kiosk")
    two = Decider.load(tmp_path / "kiosk")
    assert two.arms == ("sales", "chat")
    assert live_with_chat(one) == live_with_chat(two)


def live_with_chat(decider: Decider) -> list[str]:
    chosen = [decider.choose("2026-11-16 12:00").arm for _ in range(3)]
    decider.add_arm("billing")
    return chosen + [decider.choose(f"2026-11-17 {hour:02}:00").arm for hour in range(24)]


def test_opened_keeps_the_file_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "kiosk"
    kiosk().save(path)
    before = path.read_bytes()

    with raises(DeciderError, "unknown-choice"), Decider.opened(path) as decider:
        decider.choose("2026-11-16")
        decider.tell("no id", 1.0)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".lock") == ["kiosk"]


def test_load_refuses_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "kiosk"
    decider = kiosk()
    live(decider, 30)
    decider.save(path)
    whole, rng = path.read_bytes(), random.Random(0)
    damaged = [b"", b"{}", whole[:100], whole[:-1], whole + b"x", b"\xff" * 100]
    for _ in range(60):
        place = rng.randrange(4000)
        damaged.append(whole[:place] + bytes([rng.randrange(256)]) + whole[place + 1 :])
    errors = []
    for content in damaged:
        path.write_bytes(content)
        try:
            Decider.load(path)  # a changed number may do no harm
        except DeciderError as error:
            errors.append(error)
    assert sum(error.code in ("damaged-file", "wrong-format") for error in errors) > 20
    assert all(str(path) in str(error) and "\n" not in str(error) for error in errors)


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ({"format": "a recipe"}, "wrong-format"),
        ({"format": FORMAT, "version": "99"}, "damaged-file"),
    ],
)
def test_load_refuses_other_formats(tmp_path: Path, metadata: dict[str, str], code: str) -> None:
    path = tmp_path / "kiosk"
    path.write_bytes(to_bytes({"numbers": np.zeros(3)}, metadata))
    with raises(DeciderError, code):
        Decider.load(path)


@linux_only
def test_opened_follows_a_link_and_keeps_the_mode(tmp_path: Path) -> None:
    path, link = tmp_path / "kiosk", tmp_path / "link"
    kiosk().save(path)
    path.chmod(0o600)
    link.symlink_to(path)
    with Decider.opened(link) as decider:
        decider.choose("2026-11-16")
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(Decider.load(path).log) == 1
    assert not (tmp_path / "link.lock").exists()


def test_save_gives_up_on_a_locked_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kiosk"
    kiosk().save(path)
    monkeypatch.setattr(state, "MAX_WAITING_SECONDS", 0.1)
    with state.locked(path), raises(DeciderError, "file-in-use"):
        kiosk().save(path)
    kiosk().save(path)


def test_save_keeps_the_file_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kiosk"
    kiosk().save(path)
    before = path.read_bytes()

    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(errno.ENOSPC, "disk full")))
    with raises(DeciderError, "cannot-write"):
        kiosk().save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir() if p.suffix != ".lock"] == ["kiosk"]


def test_save_needs_a_folder(tmp_path: Path) -> None:
    with raises(DeciderError, "folder-not-found"):
        kiosk().save(tmp_path / "nowhere" / "kiosk")
    for use in (Decider.load, lambda path: Decider.opened(path).__enter__()):
        with raises(DeciderError, "file-not-found"):
            use(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
    with raises(DeciderError, "cannot-write"):
        kiosk().export_log(tmp_path / "nowhere" / "log.csv")


def test_opened_serves_two_processes(tmp_path: Path) -> None:
    path = tmp_path / "kiosk"
    kiosk().save(path)
    workers = [start(path, 25) for _ in range(2)]
    ids = set()
    for worker in workers:
        out, errors = worker.communicate(timeout=120)
        assert worker.returncode == 0, errors
        ids.update(out.split())
    assert len(ids) == 50
    log = Decider.load(path).log
    assert len(log) == 50
    assert log["reward"].notna().all()
