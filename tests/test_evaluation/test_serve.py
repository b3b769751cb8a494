"""The server of a live page: many clients, rude ones, and its end."""

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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation.page.serve import LiveStore, PageServer, ServeError
from evaluation.runner import run
from evaluation.store import StoreError
from tests.test_evaluation.page_content import content

CLIENTS = 200
COMMAND = [sys.executable, "-m", "periodic_decisions", "serve"]


@contextlib.contextmanager
def answering(server: PageServer) -> Iterator[PageServer]:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()


class Source:
    """Content that changes when a test says so."""

    def __init__(self) -> None:
        self.now = content(agents=2, envs=1, steps=5)

    def __call__(self) -> dict[str, Any]:
        return self.now


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def server(source: Source) -> Iterator[PageServer]:
    with PageServer(source) as server, answering(server):
        yield server


def ask(server: PageServer, path: str, method: str = "GET", **headers: str) -> tuple[Any, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    try:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=names)
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def test_server_sends_content_when_it_changes(server: PageServer, source: Source) -> None:
    first, body = ask(server, "/content.json")
    assert first.status == 200
    assert json.loads(body) == source.now
    source.now = {**source.now, "subtitle": "later"}
    second, body = ask(server, "/content.json?x=1")
    assert second.status == 200
    assert json.loads(body)["subtitle"] == "later"


def test_server_sends_the_page_and_plotly(server: PageServer) -> None:
    answer, body = ask(server, "/")
    assert answer.status == 200
    assert b'<html lang="en" data-live>' in body
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    library, text = ask(server, "/plotly.min.js")
    assert library.headers["Content-Type"].startswith("text/javascript")
    assert len(text) > 10**6


@pytest.mark.parametrize("path", ["/x", "/../etc/passwd", "/content.json/"])
def test_server_has_no_other_paths(server: PageServer, path: str) -> None:
    assert ask(server, path)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD"])
def test_server_takes_no_other_methods(server: PageServer, method: str) -> None:
    assert ask(server, "/content.json", method)[0].status == 501


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:80", 200),
        ("127.0.0.1", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost@evil.example", 403),
        ("192.168.0.7", 403),
        ("[", 403),
        ("", 403),
    ],
)
def test_server_answers_to_names_of_this_machine(
    server: PageServer, host: str, status: int
) -> None:
    assert ask(server, "/content.json", Host=host)[0].status == status


def test_server_survives_a_store_in_trouble(server: PageServer, source: Source) -> None:
    good, source.now = source.now, {"x": float("inf")}
    answer, body = ask(server, "/content.json")
    assert answer.status == 503
    assert b"No content at the moment" in body
    source.now = good
    assert ask(server, "/content.json")[0].status == 200


def test_server_reports_an_address_that_it_cannot_use(server: PageServer, source: Source) -> None:
    with pytest.raises(ServeError, match=rf"cannot listen on port {server.server_port} .*in use"):
        PageServer(source, port=server.server_port)
    with pytest.raises(ServeError, match="cannot listen on port 70000"):
        PageServer(source, port=70000)
    with pytest.raises(ServeError, match="cannot listen on port 0 of xxx"):
        PageServer(source, host="x" * 100)


def test_server_on_all_addresses_takes_addresses_but_no_names(source: Source) -> None:
    with PageServer(source, host="0.0.0.0") as server:
        assert server.knows("192.168.0.7:1")
        assert not server.knows("evil.example")
        assert server.url == f"http://127.0.0.1:{server.server_port}/"


def test_server_answers_two_hundred_clients() -> None:
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
    assert starts == [b"HTTP/1.0 200 OK"] * CLIENTS


def test_server_ignores_clients_that_hang_up(
    server: PageServer, capfd: pytest.CaptureFixture[str]
) -> None:
    for request in (
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x00\r\n\r\n",
    ):
        rude = socket.create_connection(("127.0.0.1", server.server_port))
        rude.sendall(request)
        rude.close()
    assert ask(server, "/")[0].status == 200
    assert capfd.readouterr() == ("", "")


# A store that a sweep fills


def smoke(store: Path, *agents: str, **more: Any) -> None:
    run("smoke", agents=list(agents), seeds="0:1", store=store, workers=0, **more)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("evaluation.page.serve.SHARE_OF_TIME", 1e9)
    smoke(tmp_path / "s.sqlite", "random")
    return tmp_path / "s.sqlite"


def test_live_store_shows_new_runs(store: Path) -> None:
    live = LiveStore(store)
    before = live()
    assert live() is before
    smoke(store, "random", "fixed")
    progress = live()["progress"]
    assert progress["done"] == progress["of"] > before["progress"]["done"]
    assert {row["agent"] for row in live()["boards"][0]["rows"]} == {"random", "fixed"}


def test_live_store_leaves_time_to_the_sweep(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.page.serve.SHARE_OF_TIME", 1e-9)
    live = LiveStore(store)
    before = live()
    smoke(store, "random", "fixed")
    assert live() is before


MENDABLE = """
from pathlib import Path
from tests.test_evaluation.faulty_agents import Good

class Mendable(Good):
    def __init__(self, problem, rng, flag):
        super().__init__(problem, rng)
        assert Path(flag).exists(), "not mended yet"
"""


def test_live_store_shows_runs_that_are_tried_again(store: Path, tmp_path: Path) -> None:
    """As many are done as before, and still it is news."""
    mine, flag = tmp_path / "mine.py", tmp_path / "flag"
    mine.write_text(MENDABLE)
    agents = ["random", f"{mine}:Mendable:flag={flag}"]
    smoke(store, *agents)
    live = LiveStore(store)
    assert live()["progress"]["failed"] > 0
    flag.touch()
    smoke(store, *agents, retry_failed=True)
    assert live()["progress"]["failed"] == 0


def test_live_store_survives_a_store_that_goes_away(store: Path, tmp_path: Path) -> None:
    live, away = LiveStore(store), tmp_path / "away.sqlite"
    before = live()
    store.rename(away)
    with pytest.raises(StoreError, match="there is no store"):
        live()
    away.rename(store)
    assert live() is before


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are sent another way")
def test_serve_ends_at_once_with_an_interrupt(store: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "--store", store.name, "--port", "0"],
        cwd=store.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        found = re.search(r"127\.0\.0\.1:(\d+)/", process.stdout.readline())
        assert found is not None
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=20)
        connection.request("GET", "/content.json")
        assert connection.getresponse().status == 200
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert time.monotonic() - start < 15  # a second or less, but on a busy machine
        assert process.stdout.read() == ""
        connection.close()
