"""Imports and downloads of measurements, and the years on disk."""

import json
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache, download, importing
from periodic_envs.data.madrid.download import addresses, download_year
from periodic_envs.data.madrid.importing import import_paths
from periodic_envs.data.madrid.portal import parse
from periodic_envs.files import data_folder
from tests.errors import raises
from tests.test_envs.portal_files import csv, csv_line, txt, txt_line, zipped

FIRST_OF_MARCH = 24 * 59
CHANGED = csv_line(values=[9, *range(2, 25)])


def hours(year: int, magnitude: int, start: str, count: int) -> np.ndarray:
    first = 24 * int((np.datetime64(start) - np.datetime64(f"{year}-01-01")).astype(int))
    return cache.table(year, magnitude)[1][first : first + count]


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.fixture
def file(tmp_path: Path, data_folder: Path) -> Path:
    """A file with one line: station 4, NO, 1 March 2018, values 1 to 24."""
    return write(tmp_path / "a.csv", csv(csv_line()))


# Facts of the real measurements.


def test_papers_window_is_imported(madrid: Path) -> None:
    stations, _ = cache.table(2018, 7)
    window = hours(2018, 7, "2018-03-03", 264)
    assert window.shape == (264, 24)
    missing = dict(zip(stations, np.isnan(window).sum(0).tolist(), strict=True))
    known = {50: 16, **dict.fromkeys((8, 17, 18, 24, 35, 47, 56), 1)}
    assert {station: count for station, count in missing.items() if count} == known
    assert (np.nanmin(window), np.nanmax(window)) == (1.0, 111.0)
    assert np.nanmean(window) == pytest.approx(8.0, abs=0.1)


def test_txt_and_csv_agree(madrid_files: Path) -> None:
    """March 2016 in both formats: all magnitudes that both have, ozone but for its rounding."""
    old = parse((madrid_files / "mar_mo16.txt").read_bytes(), "txt")
    with zipfile.ZipFile(madrid_files / "Anio2016.zip") as archive:
        new = parse(archive.read("mar_mo16.csv"), "csv")
    tables = []
    for readings in (old, new):
        keys = zip(readings.station, readings.magnitude, readings.day.astype(str), strict=True)
        tables.append(dict(zip(keys, readings.values, strict=True)))
    assert tables[0].keys() <= tables[1].keys()
    for key, values in tables[0].items():
        both = ~np.isnan(values) & ~np.isnan(tables[1][key])
        tolerance = 0.51 if key[1] == 14 else 0.0
        assert np.abs(values - tables[1][key])[both].max(initial=0.0) <= tolerance
        assert key[1] != 7 or np.array_equal(values, tables[1][key], equal_nan=True)


def test_hours_are_those_of_the_local_clock(madrid: Path, madrid_files: Path) -> None:
    """H01 starts at midnight; the hour that spring skips is empty."""
    with zipfile.ZipFile(madrid_files / "Anio2018.zip") as archive:
        lines = archive.read("mar_mo18.csv").decode().splitlines()
    line = next(x for x in lines if x.startswith("28;079;50;7;") and ";2018;03;05;" in x)
    day = hours(2018, 7, "2018-03-05", 24)[:, cache.table(2018, 7)[0].index(50)]
    assert (float(line.split(";")[8]), float(line.split(";")[54])) == (day[0], day[23])
    spring = hours(2018, 7, "2018-03-25", 24)
    assert np.flatnonzero(np.isnan(spring).all(1)).tolist() == [2]


# Values that are kept.


def test_import_takes_files_zips_and_folders(tmp_path: Path, data_folder: Path) -> None:
    mix = tmp_path / "mix"
    (mix / "deeper").mkdir(parents=True)
    write(mix / "one.csv", csv(csv_line(station=4), csv_line(station=4, magnitude=8)))
    write(mix / "deeper" / "two.TXT", txt(txt_line(station=8)))
    zipped(mix / "three.zip", [("x/mar.csv", csv(csv_line(date=(2017, 12, 31)))), ("r.txt", b"hi")])
    write(mix / "notes.csv", b"a,b\n1,2\n")
    write(mix / "image.png", b"\x89PNG")
    imported = import_paths([mix])
    assert [entry.year for entry in imported.entries] == cache.years() == [2017, 2018]
    assert sorted(imported.ignored) == ["notes.csv", "three.zip:r.txt"]
    stations, table = cache.table(2018, 7)
    assert stations == (4, 8)
    assert table[FIRST_OF_MARCH : FIRST_OF_MARCH + 24].tolist() == [[h, h] for h in range(1, 25)]
    # A station that does not measure this magnitude, and days before it started, are empty.
    assert np.isnan(cache.table(2018, 8)[1][:, 1]).all()
    assert np.isnan(table[:FIRST_OF_MARCH]).all()
    assert cache.table(2017, 7)[1][-1].tolist() == [24.0]


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([csv(csv_line(), csv_line(), CHANGED)], [9, 2]),
        ([csv(csv_line()), csv(CHANGED)], [9, 2]),
        ([csv(csv_line(), csv_line(values=range(101, 125), flags="N" * 24))], [1, 2]),
    ],
    ids=["repeated row", "later import", "missing value"],
)
def test_later_valid_value_replaces_an_earlier_one(
    tmp_path: Path, data_folder: Path, contents: list[bytes], expected: list[float]
) -> None:
    for content in contents:
        import_paths([write(tmp_path / "a.csv", content)])
    table = cache.table(2018, 7)[1]
    assert table[FIRST_OF_MARCH : FIRST_OF_MARCH + 2, 0].tolist() == expected


@pytest.mark.parametrize("order", ["together", "csv first", "txt first"])
def test_csv_counts_where_txt_differs(tmp_path: Path, data_folder: Path, order: str) -> None:
    """The order of imports does not matter; values only in the txt are taken from it."""
    csv_file = write(tmp_path / "a.csv", csv(csv_line(flags="N" + "V" * 23)))
    txt_file = write(tmp_path / "z.txt", txt(txt_line(values=range(51, 75))))
    batches = {"together": [[csv_file, txt_file]], "csv first": [[csv_file], [txt_file]]}
    for batch in batches.get(order, [[txt_file], [csv_file]]):
        import_paths(batch)
    table = cache.table(2018, 7)[1]
    assert table[FIRST_OF_MARCH : FIRST_OF_MARCH + 3, 0].tolist() == [51, 2, 3]


def test_concurrent_imports_lose_nothing(tmp_path: Path, data_folder: Path) -> None:
    months = [csv(csv_line(date=(2018, month, 1))) for month in range(1, 4)]
    files = [write(tmp_path / f"{i}.csv", content) for i, content in enumerate(months)]
    code = "import sys; from pathlib import Path; "
    code += "from periodic_envs.data.madrid.importing import import_paths; "
    code += "import_paths([Path(sys.argv[1])])"
    started = [subprocess.Popen([sys.executable, "-c", code, str(file)]) for file in files]
    assert [process.wait() for process in started] == [0] * 3
    assert cache.entry(2018).days == ("2018-01-01", "2018-03-01", 3)
    assert len(cache.entry(2018).imports) == 3


def test_repeated_import_changes_nothing(file: Path, data_folder: Path) -> None:
    (first,) = import_paths([file]).entries
    left = write(data_folder / ".0123.part", b"half a table of a killed import")
    (second,) = import_paths([file]).entries
    assert first.fingerprint == second.fingerprint
    assert [one["file"] for one in second.imports] == ["a.csv"]
    assert not left.exists()


def test_second_month_adds_to_the_first(tmp_path: Path, file: Path) -> None:
    (first,) = import_paths([file]).entries
    april = csv(csv_line(station=99, date=(2018, 4, 1)))
    (second,) = import_paths([write(tmp_path / "b.csv", april)]).entries
    assert first.fingerprint != second.fingerprint
    assert second.stations == (4, 99)
    table = cache.table(2018, 7)[1]
    assert (table[FIRST_OF_MARCH, 0], table[24 * 90, 1]) == (1, 1)
    assert [one["file"] for one in cache.entry(2018).imports] == ["a.csv", "b.csv"]


# Files that are rejected.


def test_import_keeps_nothing_unless_all_can_be_read(tmp_path: Path, file: Path) -> None:
    with pytest.raises(DataError, match=r"b.csv, line 2"):
        import_paths([file, write(tmp_path / "b.csv", csv(csv_line()[:90]))])
    assert cache.years() == []


def test_damaged_zips_are_rejected(tmp_path: Path, data_folder: Path) -> None:
    whole = zipped(tmp_path / "a.zip", [("mar.csv", csv(*[csv_line()] * 50))]).read_bytes()
    flipped = bytes([*whole[:60], whole[60] ^ 0xFF, *whole[61:]])
    for damaged in (b"", whole[:10], whole[:-5], b"<html></html>", flipped):
        with raises(DataError, "damaged-file"):
            import_paths([write(tmp_path / "a.zip", damaged)])


@pytest.mark.parametrize(
    ("limit", "value", "members"),
    [
        ("MAX_BYTES", 2**20, [("mar.csv", csv() + b"0" * 3_000_000)]),
        ("MAX_UNZIPPED_BYTES", 2**20, [("mar.csv", csv() + b"0" * 3_000_000)]),
        ("MAX_MEMBERS", 1000, [(f"{i}.csv", b"") for i in range(1001)]),
    ],
    ids=["member", "all members", "number of members"],
)
def test_import_rejects_zip_bombs(
    tmp_path: Path,
    data_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    value: int,
    members: list[tuple[str, bytes]],
) -> None:
    monkeypatch.setattr(importing, limit, value)
    with raises(DataError, "file-too-large"):
        import_paths([zipped(tmp_path / "a.zip", members)])


MANY_SERIES = csv(*[csv_line(station=i, magnitude=i) for i in range(1, 400)])


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("many.csv", MANY_SERIES, "too-many-series"),
        ("cut.csv", csv(csv_line())[:8], "damaged-file"),
        ("cut.csv", csv(csv_line())[:99], "damaged-file"),
        ("readme.md", b"", "no-data"),
        ("notes.csv", b"a,b", "no-data"),
    ],
)
def test_zips_of_other_files_are_rejected(
    tmp_path: Path, data_folder: Path, name: str, content: bytes, code: str
) -> None:
    with raises(DataError, code):
        import_paths([zipped(tmp_path / "a.zip", [(name, content)])])


def test_paths_without_files_of_the_portal_are_rejected(tmp_path: Path, data_folder: Path) -> None:
    other = write(tmp_path / "b.csv", b"")
    for path, code, name in (
        (tmp_path / "nowhere", "file-not-found", "nowhere"),
        (tmp_path, "no-data", "b.csv"),
        (other, "wrong-format", "b.csv"),
    ):
        with raises(DataError, code) as caught:
            import_paths([path])
        assert name in str(caught.value)


# The years on disk.


def test_folder_that_cannot_be_written_is_named(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERIODIC_GP_DATA", str(file / "inside"))
    with raises(DataError, "cannot-write"):
        import_paths([file])


def test_damaged_year_is_rejected_until_it_is_imported_again(
    tmp_path: Path, data_folder: Path
) -> None:
    both = write(tmp_path / "a.csv", csv(csv_line(), csv_line(date=(2017, 3, 1))))
    first = import_paths([both])
    path = data_folder / "madrid-2018.npz"
    with np.load(path) as arrays:
        changed = {name: arrays[name].copy() for name in arrays.files}
    about = json.dumps({**json.loads(bytes(changed["about"])), "format": "x"})
    changed["about"] = np.frombuffer(about.encode(), dtype=np.uint8)
    np.savez(path, **changed)
    with raises(DataError, "damaged-file"):
        cache.entry(2018)
    path.write_bytes(path.read_bytes()[:-100])
    for read in (lambda: cache.table(2018, 7), lambda: import_paths([both])):
        with raises(DataError, "damaged-file"):
            read()
    import_paths([write(tmp_path / "b.csv", csv(csv_line(date=(2017, 3, 1))))])  # another year
    path.unlink()
    again = import_paths([both])
    assert [e.fingerprint for e in again.entries] == [e.fingerprint for e in first.entries]


# Downloads from a server on this computer.


class Server(ThreadingHTTPServer):
    """A server of one file."""

    content, status, missing_bytes = b"", 200, 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/year.zip"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        content = self.server.content
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) - self.server.missing_bytes])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, data_folder: Path) -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
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
    assert (entry.imports[0]["from"], cache.table(2018, 7)[1][24 * 59, 0]) == (server.address, 1)
    assert seen[-1] == (len(server.content), len(server.content))
    assert {p.name for p in data_folder().iterdir()} == {"madrid-2018.npz", "import.lock"}


@pytest.mark.parametrize(
    ("change", "year", "code"),
    [
        (lambda server: setattr(server, "missing_bytes", 9), 2018, "cannot-download"),
        (lambda server: setattr(server, "status", 404), 2018, "cannot-download"),
        (lambda server: setattr(server, "content", b"<html>"), 2018, "damaged-file"),
        (lambda server: server.shutdown() or server.server_close(), 2018, "cannot-download"),
        (lambda server: None, 2017, "wrong-year"),
    ],
)
def test_download_reports_failures(
    server: Server, change: Callable[[Server], object], year: int, code: str
) -> None:
    change(server)
    with raises(DataError, code):
        download_year(year, address=server.address)
    assert cache.years() == []


def test_download_is_bounded(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MAX_BYTES", 100)
    with raises(DataError, "file-too-large"):
        download_year(2018, address=server.address)


@pytest.mark.parametrize(
    ("address", "code"),
    [
        *(
            (a, "invalid-address")
            for a in ("ftp://x.org/a.zip", "file:///etc/passwd", "madrid", "")
        ),
        (None, "unknown-year"),
    ],
)
def test_download_rejects_other_addresses(
    data_folder: Path, address: str | None, code: str
) -> None:
    assert {2016, 2017, 2018} <= addresses().keys()
    with raises(DataError, code):
        download_year(1999, address=address)
