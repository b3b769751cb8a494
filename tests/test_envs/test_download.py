"""Downloads from a server on this computer."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache, download
from periodic_envs.data.madrid.download import addresses, download_year
from tests.test_envs.portal_files import csv, csv_line, zipped


class Server(ThreadingHTTPServer):
    content = b""
    status = 200
    missing_bytes = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/year.zip"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(
            self.server.content[: len(self.server.content) - self.server.missing_bytes]
        )

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, data_folder: Path) -> Iterator[Server]:
    with Server() as running:
        lines = [csv_line(station=s, date=(2018, 3, d)) for s in range(1, 60) for d in range(1, 29)]
        running.content = zipped(tmp_path / "x.zip", [("mar.csv", csv(*lines))]).read_bytes()
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        yield running
        running.shutdown()


def test_download_imports_a_year(server: Server) -> None:
    seen: list[tuple[int, int | None]] = []
    (entry,) = download_year(
        2018, address=server.address, on_bytes=lambda done, total: seen.append((done, total))
    ).entries
    assert entry.year == 2018
    assert entry.imports[0]["from"] == server.address
    assert cache.table(2018, 7)[1][24 * 59, 0] == 1
    assert seen[-1] == (len(server.content), len(server.content))
    assert {p.name for p in cache.folder().iterdir()} == {"madrid-2018.npz", "import.lock"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda server: setattr(server, "missing_bytes", 9), "cannot download .*import PATH"),
        (lambda server: setattr(server, "status", 404), r"cannot download .*Not Found"),
        (lambda server: setattr(server, "content", b"<html>"), "cannot be used: .*not a zip"),
        (lambda server: server.shutdown() or server.server_close(), "cannot download"),
    ],
)
def test_download_reports_failures(
    server: Server, change: Callable[[Server], object], message: str
) -> None:
    change(server)
    with pytest.raises(DataError, match=message):
        download_year(2018, address=server.address)
    assert cache.years() == []


def test_download_refuses_other_years_and_large_files(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="holds 2018 and nothing of 2017"):
        download_year(2017, address=server.address)
    monkeypatch.setattr(download, "MAX_BYTES", 100)
    with pytest.raises(DataError, match="larger than"):
        download_year(2018, address=server.address)


@pytest.mark.parametrize("address", ["ftp://x.org/a.zip", "file:///etc/passwd", "madrid", ""])
def test_download_refuses_other_schemes(data_folder: Path, address: str) -> None:
    with pytest.raises(DataError, match="must start with https:// or http://"):
        download_year(2018, address=address)


def test_download_knows_the_years_of_the_portal(data_folder: Path) -> None:
    assert {2016, 2017, 2018} <= addresses().keys()
    with pytest.raises(DataError, match="no address for 1999"):
        download_year(1999)
