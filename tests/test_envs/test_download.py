"""Downloads, from a server on this computer that misbehaves in every way."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache, download
from periodic_envs.data.madrid.download import addresses, download_year
from periodic_envs.data.madrid.importing import Imported
from tests.test_envs.portal_files import csv, csv_line, zipped

Behaviour = Callable[["Handler", bytes, int], None]


class Handler(BaseHTTPRequestHandler):
    """Answers as the test wants; remembers where each request started."""

    server: "Server"

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if self.headers.get("If-Range", self.server.tag) != self.server.tag:
            start = 0
        self.server.starts.append(start)
        self.server.behaviour(self, self.server.content, start)

    def answer(self, body: bytes, start: int = 0, *, status: int = 200, length: int | None = None):
        self.send_response(206 if start else status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        if self.server.tag:
            self.send_header("ETag", self.server.tag)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    content = b""
    tag: str | None = '"one"'
    behaviour: Behaviour

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.starts: list[int] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/year.zip"


@pytest.fixture
def server(tmp_path: Path, data_folder: Path) -> Iterator[Server]:
    with Server() as running:
        lines = [csv_line(station=s, date=(2018, 3, d)) for s in range(1, 60) for d in range(1, 29)]
        running.content = zipped(tmp_path / "x.zip", [("mar.csv", csv(*lines))]).read_bytes()
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        yield running
        running.shutdown()


def get(server: Server, **kwargs: object) -> Imported:
    return download_year(2018, address=server.address, pause_seconds=0.0, **kwargs)


def whole(handler: Handler, content: bytes, start: int) -> None:
    handler.answer(content[start:], start)


def dropping(after: int) -> Behaviour:
    """Closes the connection after so many bytes of each answer."""

    def behave(handler: Handler, content: bytes, start: int) -> None:
        rest = content[start:]
        handler.answer(rest[:after], start, length=len(rest))

    return behave


def test_a_whole_year(server: Server) -> None:
    server.behaviour = whole
    seen: list[tuple[int, int | None]] = []
    (entry,) = get(server, on_bytes=lambda done, total: seen.append((done, total))).entries
    assert entry.year == 2018
    assert entry.imports[0]["from"] == server.address
    assert cache.table(2018, 7)[1][24 * 59, 0] == 1
    assert seen[-1] == (len(server.content), len(server.content))
    assert {p.name for p in cache.folder().iterdir()} == {"madrid-2018.npz", "import.lock"}


def test_the_real_zip(server: Server, madrid_files: Path) -> None:
    server.content = (madrid_files / "Anio2018.zip").read_bytes()
    server.behaviour = dropping(len(server.content) // 2 + 1)
    (entry,) = get(server).entries
    assert len(entry.stations) == 24
    assert server.starts == [0, len(server.content) // 2 + 1]


@pytest.mark.parametrize("tag", ['"one"', None])
def test_a_dropped_connection_is_taken_up_again(server: Server, tag: str | None) -> None:
    server.tag = tag
    third = len(server.content) // 3 + 1
    server.behaviour = dropping(third)
    assert get(server).entries
    assert server.starts == [0, third, 2 * third]


def test_a_later_command_goes_on(server: Server) -> None:
    tenth = len(server.content) // 10 + 1
    server.behaviour = dropping(tenth)
    with pytest.raises(DataError, match=r"broke 4 times .* run the same command again to go on"):
        get(server)
    assert cache.years() == []
    server.behaviour = whole
    assert get(server).entries
    assert server.starts == [0, tenth, 2 * tenth, 3 * tenth, 4 * tenth]


def test_a_changed_file_is_fetched_whole(server: Server) -> None:
    server.behaviour = dropping(len(server.content) // 10)
    with pytest.raises(DataError):
        get(server)
    server.tag, server.behaviour = '"two"', whole
    assert get(server).entries
    assert server.starts[-1] == 0


def test_a_server_that_cannot_resume(server: Server) -> None:
    tries = []

    def behave(handler: Handler, content: bytes, start: int) -> None:
        tries.append(start)
        handler.answer(content[: 500 if len(tries) == 1 else None], length=len(content))

    server.behaviour = behave
    seen = []
    assert get(server, on_bytes=lambda done, total: seen.append(done)).entries
    assert tries == [0, 500]
    assert seen[-1] == len(server.content)  # begun anew, not put behind what was there


def test_a_page_in_between_does_not_destroy_what_is_kept(server: Server) -> None:
    server.behaviour = dropping(len(server.content) // 10)
    with pytest.raises(DataError):
        get(server)
    kept = max(server.starts)
    server.behaviour = lambda handler, content, start: handler.answer(b"<html>later</html>")
    with pytest.raises(DataError, match="sent a web page"):
        get(server)
    server.behaviour = whole
    assert get(server).entries
    assert server.starts[-1] > kept


def test_another_address_is_another_file(server: Server) -> None:
    server.tag = None
    server.behaviour = dropping(len(server.content) // 10)
    with pytest.raises(DataError):
        get(server)
    server.behaviour = whole
    download_year(2018, address=f"{server.address}?other", pause_seconds=0.0)
    assert server.starts[-1] == 0


def test_a_part_that_is_longer_than_the_file(server: Server) -> None:
    server.behaviour = dropping(100)
    with pytest.raises(DataError):
        get(server)
    (part,) = cache.folder().glob("*.part")
    part.write_bytes(b"PK" * len(server.content))

    def behave(handler: Handler, content: bytes, start: int) -> None:
        if start:
            handler.send_error(416)
        else:
            handler.answer(content)

    server.behaviour = behave
    assert get(server).entries


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"<!DOCTYPE html><html>error</html>", 200, "sent a web page instead of a zip"),
        (b"hello", 200, "sent something that starts with b'hello' instead of a zip"),
        (b"<html>gone</html>", 404, "answered 404 Not Found; if the portal has moved the file"),
        (b"", 403, "answered 403 Forbidden"),
        (b"", 503, "cannot reach .*503 Service Unavailable.*periodic-gp data import"),
    ],
)
def test_anything_but_a_zip(server: Server, body: bytes, status: int, message: str) -> None:
    server.behaviour = lambda handler, content, start: handler.answer(body, status=status)
    with pytest.raises(DataError, match=message):
        get(server)
    assert cache.years() == []


def test_a_truncated_file(server: Server) -> None:
    """The server believes that what it has is all: no resuming helps, so nothing is kept."""
    server.content = server.content[: len(server.content) // 2]
    server.behaviour = whole
    with pytest.raises(DataError, match=r"what came from .* cannot be used: .* damaged"):
        get(server)
    assert list(cache.folder().iterdir()) == []


def test_another_year(server: Server) -> None:
    server.behaviour = whole
    with pytest.raises(DataError, match="it holds 2018 and nothing of 2017"):
        download_year(2017, address=server.address)
    assert cache.years() == []


def test_too_large(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MAX_BYTES", 1000)
    server.behaviour = whole
    with pytest.raises(DataError, match="sends more than"):
        get(server)


def test_nobody_answers(data_folder: Path) -> None:
    with pytest.raises(DataError, match=r"cannot reach .*[Rr]efused"):
        download_year(2018, address="http://127.0.0.1:9/x.zip", pause_seconds=0.0)
    assert list(data_folder.iterdir()) == []


@pytest.mark.parametrize("address", ["http://[::1", "http://127.0.0.1:x/", "http://127.0.0.1/\xe9"])
def test_no_address_at_all(data_folder: Path, address: str) -> None:
    with pytest.raises(DataError, match="is not an address"):
        download_year(2018, address=address, pause_seconds=0.0)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://x/y.zip", "x.zip"])
def test_only_http(data_folder: Path, address: str) -> None:
    with pytest.raises(DataError, match="the address must start with https://"):
        download_year(2018, address=address)


def test_the_source_table_can_be_edited(data_folder: Path) -> None:
    assert addresses()[2018].startswith("https://datos.madrid.es/")
    with pytest.raises(DataError, match=r"there is no address for 1999; the table has 2010 to"):
        download_year(1999)
    data_folder.mkdir()
    own = data_folder / "sources.toml"
    own.write_text('[madrid.years]\n1999 = "https://example.org/1999.zip"\n')
    assert addresses()[1999] == "https://example.org/1999.zip"
    assert 2018 in addresses()
    for text in ("[madrid", "madrid = 3", "[madrid.years]\nx = 1"):
        own.write_text(text)
        with pytest.raises(DataError, match=r"sources.toml' is not a table \[madrid.years\]"):
            addresses()
