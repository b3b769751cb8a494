"""The server of the page among many clients, rude ones, and at its end."""

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation.report.live import LiveStore
from evaluation.report.serve import PageServer, ServeError
from evaluation.runner import run
from evaluation.store import Store, StoreError
from tests.test_evaluation.page_content import content

CLIENTS = 200
COMMAND = [sys.executable, "-m", "evaluation", "serve"]


@contextlib.contextmanager
def answering(server: PageServer) -> Iterator[PageServer]:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()


def events(server: PageServer) -> tuple[http.client.HTTPConnection, Callable[[], tuple[str, str]]]:
    """A connection, and what gives the next event and its data."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request("GET", "/events")
    answer = connection.getresponse()
    assert answer.headers["Content-Type"].startswith("text/event-stream")

    def following() -> tuple[str, str]:
        line = b""
        while not line.startswith(b"event: "):
            line = answer.readline()
            assert line, "the stream has ended"
        return line[7:].strip().decode(), answer.readline()[6:].strip().decode()

    return connection, following


def test_two_hundred_clients_at_once() -> None:
    """They connect while the server is busy elsewhere; each gets the page when it is back."""
    page = content(agents=2, envs=1, steps=5)
    with PageServer(lambda: page) as server, contextlib.ExitStack() as stack:
        address = ("127.0.0.1", server.server_port)
        clients = [
            stack.enter_context(contextlib.closing(socket.create_connection(address, timeout=10)))
            for _ in range(CLIENTS)
        ]
        for client in clients:
            client.sendall(b"GET /content.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with answering(server):
            starts = [client.recv(15) for client in clients]
    assert starts == [b"HTTP/1.1 200 OK"] * CLIENTS


def test_many_watch_and_hang_up_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    page = content(agents=2, envs=1, steps=5)
    with PageServer(lambda: page) as server, answering(server):
        watchers = [events(server) for _ in range(50)]
        assert {following()[0] for _, following in watchers} == {"content"}
        for connection, _ in watchers:
            connection.close()
        rude = socket.create_connection(("127.0.0.1", server.server_port))
        rude.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        rude.close()
        connection, following = events(server)
        assert following()[0] == "content"
        connection.close()
    assert capfd.readouterr() == ("", "")


def test_progress_does_not_wait_for_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.report.app.NEWS_SECONDS", 0.3)
    page, done, free = content(agents=2, envs=1, steps=5), iter(range(100)), threading.Event()

    def slow() -> dict[str, Any]:
        free.wait(20)
        return page

    with (
        PageServer(slow, progress=lambda: {"done": next(done), "of": 100}) as server,
        answering(server),
    ):
        connection, following = events(server)
        first, second = following(), following()
        assert (first[0], second[0]) == ("progress", "progress")
        assert json.loads(second[1])["done"] > json.loads(first[1])["done"]
        free.set()
        assert "content" in {following()[0] for _ in range(3)}
        connection.close()


def test_tables_are_late_while_a_sweep_runs_and_at_once_when_it_is_done(tmp_path: Path) -> None:
    """They say of when they are."""
    store = tmp_path / "s.sqlite"
    live = LiveStore(store)
    run("smoke", agents=["random"], seeds="0:1", store=store, workers=0)
    before = live()
    assert live() is before
    assert abs(before["progress"]["as_of"] - time.time()) < 60
    assert live.progress() == before["progress"]
    live._not_before = time.monotonic() + 1000  # as if they had taken long
    run("smoke", agents=["random", "fixed"], seeds="0:1", store=store, workers=0)
    assert live()["progress"]["done"] == live.progress()["done"] > before["progress"]["done"]


def smoke(store: Path, *agents: str) -> None:
    run("smoke", agents=list(agents), seeds="0:1", store=store, workers=0)


def live_store(path: Path) -> LiveStore:
    return LiveStore(path)


def test_a_sweep_is_shown_as_soon_as_it_ends(tmp_path: Path) -> None:
    """Whoever watches is told, and finds all runs and the time that they are of."""
    store = tmp_path / "s.sqlite"
    smoke(store, "random")
    live = live_store(store)
    with PageServer(live, progress=live.progress) as server, answering(server):
        connection, following = events(server)
        told = {}
        while "content" not in told:
            told.update([following()])
        smoke(store, "random", "fixed")
        end, tag = time.time(), told["content"]
        while told["content"] == tag or json.loads(told["progress"])["as_of"] < int(end) - 1:
            told.update([following()])
        assert time.time() - end < 10  # two seconds or less, but on a busy machine
        connection.close()
        asked = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
        asked.request("GET", "/content.json")
        shown = json.load(asked.getresponse())
        asked.close()
    progress = shown["progress"]
    assert progress["done"] == progress["of"]
    assert {row["agent"] for row in shown["boards"][0]["rows"]} == {"random", "fixed"}
    assert int(end) - 1 <= progress["as_of"] <= time.time()


MENDABLE = """
from pathlib import Path
from tests.test_evaluation.faulty_agents import Good

class Mendable(Good):
    def __init__(self, problem, rng, flag):
        super().__init__(problem, rng)
        assert Path(flag).exists(), "not mended yet"
"""


def test_runs_that_are_tried_again_are_shown(tmp_path: Path) -> None:
    """As many are done as before, and still it is news."""
    store, mine, flag = tmp_path / "s.sqlite", tmp_path / "mine.py", tmp_path / "flag"
    mine.write_text(MENDABLE)
    agents = ["random", f"{mine}:Mendable:flag={flag}"]
    asked: dict[str, Any] = {"agents": agents, "seeds": "0:1", "store": store, "workers": 1}
    run("smoke", **asked)
    live = live_store(store)
    before = live()
    flag.touch()
    run("smoke", retry_failed=True, **asked)
    assert live() is not before


def test_a_store_that_nobody_writes_to_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, opened = tmp_path / "s.sqlite", []

    def counted(*arguments: Any, **options: Any) -> Store:
        opened.append(arguments)
        return Store(*arguments, **options)

    monkeypatch.setattr("evaluation.report.live.Store", counted)
    smoke(path, "random")
    live = live_store(path)
    for _ in range(2):  # whoever closes a store last tidies it up
        before, progress = live(), live.progress()
    once = len(opened)
    for _ in range(5):
        assert live() is before
        assert live.progress() == progress
    assert len(opened) == once
    smoke(path, "random", "fixed")
    assert live()["progress"] == live.progress() != progress
    assert len(opened) == once + 2
    monkeypatch.setattr("evaluation.report.live.MAX_UNREAD_SECONDS", 0.0)
    for _ in range(4):  # a clock may be too coarse to tell
        live()
    assert len(opened) >= once + 5


def test_tables_that_had_to_wait_come_though_nothing_more_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.sqlite"
    monkeypatch.setattr("evaluation.results.Results.size", 1000)  # as if it went on
    smoke(path, "random")
    live = live_store(path)
    before = live()
    live._not_before = time.monotonic() + 1000
    smoke(path, "random", "fixed")
    assert live() is live() is before
    assert live.progress()["done"] > before["progress"]["done"]
    live._not_before = 0.0
    assert live()["progress"]["done"] == live.progress()["done"]


def test_what_is_remembered_is_what_would_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.sqlite"
    smoke(path, "random")
    live = live_store(path)
    live()
    smoke(path, "random", "fixed")
    fresh = live_store(path)()
    assert live()["boards"] == fresh["boards"]
    monkeypatch.setattr("evaluation.report.live.MAX_REMEMBERED_STEPS", 1)
    assert live_store(path)()["boards"] == fresh["boards"]


def test_a_store_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    path, away = tmp_path / "s.sqlite", tmp_path / "away.sqlite"
    smoke(path, "random")
    live = live_store(path)
    before = live()
    path.rename(away)
    with pytest.raises(StoreError, match="there is no store"):
        live()
    away.rename(path)
    assert live() is before


def test_it_ends_though_content_is_being_made(capfd: pytest.CaptureFixture[str]) -> None:
    asked, free = threading.Event(), threading.Event()

    def endless() -> dict[str, Any]:
        asked.set()
        free.wait(60)
        return {}

    with PageServer(endless) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with socket.create_connection(("127.0.0.1", server.server_port)) as client:
            client.sendall(b"GET /content.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert asked.wait(20)
            start = time.monotonic()
            server.shutdown()
            assert time.monotonic() - start < 10
        thread.join()
    threads = threading.active_count()
    free.set()
    while threading.active_count() == threads:  # the maker ends as well, without a word
        time.sleep(0.01)
    assert capfd.readouterr() == ("", "")


def test_no_address_is_not_every_address() -> None:
    with pytest.raises(ServeError, match=r"address to listen on is empty: say 127\.0\.0\.1"):
        PageServer(lambda: {}, host="")
    with pytest.raises(ServeError, match="Cannot listen on port 0 of xxx"):
        PageServer(lambda: {}, host="x" * 100)


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are sent another way")
def test_an_interrupt_ends_it_at_once_though_somebody_watches(tmp_path: Path) -> None:
    run("smoke", agents=["random"], seeds="0:1", store=tmp_path / "s.sqlite", workers=0)
    with subprocess.Popen(
        [*COMMAND, "--store", "s.sqlite", "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        found = re.search(r"127\.0\.0\.1:(\d+)/", process.stdout.readline())
        assert found is not None
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=20)
        connection.request("GET", "/events")
        assert connection.getresponse().status == 200
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert time.monotonic() - start < 15  # a second or less, but on a busy machine
        assert process.stdout.read() == ""
        connection.close()
