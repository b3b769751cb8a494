"""Imports: what is kept, what is refused, and the facts about the real measurements."""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid import cache, importing
from periodic_envs.data.madrid.cache import hours_in
from periodic_envs.data.madrid.importing import import_paths
from periodic_envs.data.madrid.portal import parse
from tests.test_envs.portal_files import csv, csv_line, txt, txt_line, zipped


def hours(year: int, magnitude: int, start: str, count: int) -> np.ndarray:
    first = 24 * int((np.datetime64(start) - np.datetime64(f"{year}-01-01")).astype(int))
    return cache.table(year, magnitude)[1][first : first + count]


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


# The facts in the README of the measurements.


def test_the_papers_window(madrid: Path) -> None:
    stations, _ = cache.table(2018, 7)
    window = hours(2018, 7, "2018-03-03", 264)
    assert window.shape == (264, 24)
    missing = dict(zip(stations, np.isnan(window).sum(0).tolist(), strict=True))
    assert {s: n for s, n in missing.items() if n} == {
        **{50: 16},
        **dict.fromkeys((8, 17, 18, 24, 35, 47, 56), 1),
    }
    assert (np.nanmin(window), np.nanmax(window)) == (1.0, 111.0)
    assert np.nanmean(window) == pytest.approx(8.0, abs=0.1)


@pytest.mark.parametrize(("year", "share"), [(2016, 0.0100), (2017, 0.0056), (2018, 0.0055)])
def test_missing_share_of_a_year(madrid: Path, year: int, share: float) -> None:
    table = cache.table(year, 7)[1]
    assert table.shape == (hours_in(year), 24)
    assert np.isnan(table).mean() == pytest.approx(share, abs=0.0005)


def test_txt_and_csv_agree(madrid_files: Path) -> None:
    """March 2016 in both formats: all magnitudes that both have, ozone but for its rounding."""
    old = parse((madrid_files / "mar_mo16.txt").read_bytes(), "txt")
    with zipfile.ZipFile(madrid_files / "Anio2016.zip") as archive:
        new = parse(archive.read("mar_mo16.csv"), "csv")
    assert set(np.unique(new.magnitude)) - set(np.unique(old.magnitude)) == {12, 43}
    tables = []
    for readings in (old, new):
        keys = zip(readings.station, readings.magnitude, readings.day.astype(str), strict=True)
        tables.append(dict(zip(keys, readings.values, strict=True)))
    assert tables[0].keys() <= tables[1].keys()
    for key, values in tables[0].items():
        both = ~np.isnan(values) & ~np.isnan(tables[1][key])
        tolerance = 0.51 if key[1] == 14 else 0.0
        assert np.abs(values - tables[1][key])[both].max(initial=0.0) <= tolerance
        if key[1] == 7:
            np.testing.assert_array_equal(values, tables[1][key])


def test_h01_is_the_hour_that_starts_at_midnight(madrid: Path, madrid_files: Path) -> None:
    with zipfile.ZipFile(madrid_files / "Anio2018.zip") as archive:
        lines = archive.read("mar_mo18.csv").decode().splitlines()
    line = next(x for x in lines if x.startswith("28;079;50;7;") and ";2018;03;05;" in x)
    day = hours(2018, 7, "2018-03-05", 24)[:, cache.table(2018, 7)[0].index(50)]
    assert float(line.split(";")[8]) == day[0]
    assert float(line.split(";")[54]) == day[23]


def test_the_hour_that_spring_skips_is_empty(madrid: Path) -> None:
    day = hours(2018, 7, "2018-03-25", 24)
    assert np.flatnonzero(np.isnan(day).all(1)).tolist() == [2]


def test_nox_is_no2_and_no(madrid: Path) -> None:
    no, no2, nox = (cache.table(2017, m)[1] for m in (7, 8, 12))
    difference = np.abs(nox - no2 - 1.533 * no)
    assert np.nanquantile(difference, 0.999) <= 3.0


# What is kept.


def test_any_mix_in_a_folder(tmp_path: Path, data_folder: Path) -> None:
    mix = tmp_path / "mix"
    (mix / "deeper").mkdir(parents=True)
    write(mix / "one.csv", csv(csv_line(station=4), csv_line(station=4, magnitude=8)))
    write(mix / "deeper" / "two.TXT", txt(txt_line(station=8)))
    zipped(mix / "three.zip", [("x/mar.csv", csv(csv_line(date=(2017, 12, 31)))), ("r.txt", b"hi")])
    write(mix / "notes.csv", b"a,b\n1,2\n")
    write(mix / "image.png", b"\x89PNG")
    imported = import_paths([mix])
    assert [entry.year for entry in imported.entries] == [2017, 2018]
    assert cache.years() == [2017, 2018]
    assert sorted(imported.ignored) == ["notes.csv", "three.zip:r.txt"]
    stations, table = cache.table(2018, 7)
    assert stations == (4, 8)
    assert table[24 * 59 : 24 * 60].tolist() == [[h, h] for h in range(1, 25)]
    # A station that does not measure this magnitude, and days before it started, are empty.
    assert np.isnan(cache.table(2018, 8)[1][:, 1]).all()
    assert np.isnan(table[: 24 * 59]).all()
    assert cache.table(2017, 7)[1][-1].tolist() == [24.0]


def test_repeated_rows(tmp_path: Path, data_folder: Path) -> None:
    again = csv_line(values=[9, *range(2, 25)])
    import_paths([write(tmp_path / "a.csv", csv(csv_line(), csv_line(), again))])
    assert cache.table(2018, 7)[1][24 * 59, 0] == 9  # the later one


def test_a_missing_value_replaces_nothing(tmp_path: Path, data_folder: Path) -> None:
    lines = csv(csv_line(), csv_line(values=range(101, 125), flags="N" * 24))
    import_paths([write(tmp_path / "a.csv", lines)])
    assert cache.table(2018, 7)[1][24 * 59, 0] == 1


@pytest.mark.parametrize("order", ["together", "csv first", "txt first"])
def test_csv_counts_where_txt_differs(tmp_path: Path, data_folder: Path, order: str) -> None:
    """In whatever order they are imported; what only the txt has is taken from it."""
    csv_file = write(tmp_path / "a.csv", csv(csv_line(flags="N" + "V" * 23)))
    txt_file = write(tmp_path / "z.txt", txt(txt_line(values=range(51, 75))))
    batches = {"together": [[csv_file, txt_file]], "csv first": [[csv_file], [txt_file]]}
    for batch in batches.get(order, [[txt_file], [csv_file]]):
        import_paths(batch)
    assert cache.table(2018, 7)[1][24 * 59 : 24 * 59 + 3, 0].tolist() == [51, 2, 3]


def test_many_imports_at_once_lose_nothing(tmp_path: Path, data_folder: Path) -> None:
    for month in range(1, 7):
        write(tmp_path / f"{month}.csv", csv(csv_line(date=(2018, month, 1))))
    code = "import sys; from pathlib import Path; "
    code += "from periodic_envs.data.madrid.importing import import_paths; "
    code += "import_paths([Path(sys.argv[1])])"
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / f"{month}.csv")])
        for month in range(1, 7)
    ]
    assert [process.wait() for process in started] == [0] * 6
    assert cache.entry(2018).days[2] == 6
    assert len(cache.entry(2018).imports) == 6


def test_a_later_import_replaces_values(tmp_path: Path, data_folder: Path) -> None:
    import_paths([write(tmp_path / "a.csv", csv(csv_line()))])
    import_paths([write(tmp_path / "b.csv", csv(csv_line(values=[9, *range(2, 25)])))])
    assert cache.table(2018, 7)[1][24 * 59 : 24 * 59 + 2, 0].tolist() == [9, 2]


def test_too_many_stations_and_magnitudes(tmp_path: Path, data_folder: Path) -> None:
    """A small file must not ask for gigabytes."""
    lines = [csv_line(station=i, magnitude=i) for i in range(1, 400)]
    with pytest.raises(DataError, match=r"399 stations and 399 magnitudes in 2018 are too many"):
        import_paths([write(tmp_path / "a.csv", csv(*lines))])


def test_names_in_a_zip_are_not_trusted(tmp_path: Path, data_folder: Path) -> None:
    path = zipped(tmp_path / "a.zip", [("\x1b[31mmar\n.csv", csv(csv_line()))])
    (entry,) = import_paths([path]).entries
    assert entry.imports[0]["file"] == "a.zip:?[31mmar?.csv"


def test_a_first_line_cut_short_is_damage(tmp_path: Path, data_folder: Path) -> None:
    for cut in (8, 20, 100):
        members = [("ene.csv", csv(csv_line())), ("feb.csv", csv(csv_line())[:cut])]
        with pytest.raises(DataError, match=r"a.zip:feb.csv has no column .* cut short"):
            import_paths([zipped(tmp_path / "a.zip", members)])


def test_files_that_do_not_belong_into_the_cache(tmp_path: Path, data_folder: Path) -> None:
    import_paths([write(tmp_path / "a.csv", csv(csv_line()))])
    for name in ("madrid-\u00b2\u2070\u00b9\u2078.npz", "madrid-old.npz", "madrid-12345.npz"):
        write(data_folder / name, b"")
    assert cache.years() == [2018]


def test_importing_again_changes_nothing(tmp_path: Path, data_folder: Path) -> None:
    file = write(tmp_path / "a.csv", csv(csv_line()))
    (first,) = import_paths([file]).entries
    (second,) = import_paths([file]).entries
    assert first.fingerprint == second.fingerprint
    assert [one["file"] for one in second.imports] == ["a.csv"]


def test_a_second_month_adds_to_the_first(tmp_path: Path, data_folder: Path) -> None:
    (first,) = import_paths([write(tmp_path / "a.csv", csv(csv_line()))]).entries
    april = csv(csv_line(station=99, date=(2018, 4, 1)))
    (second,) = import_paths([write(tmp_path / "b.csv", april)]).entries
    assert first.fingerprint != second.fingerprint
    assert second.stations == (4, 99)
    assert cache.table(2018, 7)[1][24 * 59, 0] == 1
    assert cache.table(2018, 7)[1][24 * 90, 1] == 1
    assert [one["file"] for one in cache.entry(2018).imports] == ["a.csv", "b.csv"]


def test_the_order_of_files_does_not_change_the_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = write(tmp_path / "a.csv", csv(csv_line(station=4), csv_line(station=8)))
    b = write(tmp_path / "b.csv", csv(csv_line(station=11)))
    prints = set()
    for number, paths in enumerate(([a, b], [b, a], [a, b, a])):
        monkeypatch.setenv("PERIODIC_GP_DATA", str(tmp_path / f"data{number}"))
        prints.add(import_paths(paths).entries[0].fingerprint)
    assert len(prints) == 1


# What is refused.


def test_nothing_is_kept_unless_all_can_be_read(tmp_path: Path, data_folder: Path) -> None:
    good = write(tmp_path / "a.csv", csv(csv_line()))
    bad = write(tmp_path / "b.csv", csv(csv_line()[:90]))
    with pytest.raises(DataError, match=r"b.csv, line 2, .*truncated"):
        import_paths([good, bad])
    assert cache.years() == []


@pytest.mark.parametrize("keep", [0, 10, 200, 0.5, 0.99])
def test_truncated_zip(tmp_path: Path, data_folder: Path, keep: float) -> None:
    whole = zipped(tmp_path / "a.zip", [("mar.csv", csv(*[csv_line()] * 50))]).read_bytes()
    cut = whole[: int(keep * len(whole)) if isinstance(keep, float) else keep]
    with pytest.raises(DataError, match=r"^a.zip is damaged"):
        import_paths([write(tmp_path / "a.zip", cut)])


def test_damaged_member(tmp_path: Path, data_folder: Path) -> None:
    data = bytearray(zipped(tmp_path / "a.zip", [("mar.csv", csv(csv_line()))]).read_bytes())
    data[60] ^= 0xFF
    with pytest.raises(DataError, match=r"a.zip:mar.csv is damaged"):
        import_paths([write(tmp_path / "a.zip", bytes(data))])


def test_zip_bombs(tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped(tmp_path / "a.zip", [("mar.csv", csv() + b"0" * 3_000_000)])
    assert bomb.stat().st_size < 10_000
    monkeypatch.setattr(importing, "MAX_BYTES", 2**20)
    with pytest.raises(DataError, match=r"a.zip:mar.csv is larger than 1 MB"):
        import_paths([bomb])
    monkeypatch.setattr(importing, "MAX_UNZIPPED_BYTES", 2**20)
    with pytest.raises(DataError, match=r"a.zip unpacks to 1 files of 3 MB"):
        import_paths([bomb])
    many = zipped(tmp_path / "b.zip", [(f"{i}.csv", b"") for i in range(1001)])
    with pytest.raises(DataError, match=r"b.zip unpacks to 1001 files"):
        import_paths([many])


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.zip", b"<html></html>", "a.zip is damaged or in another format: .*not a zip"),
        ("a.csv", b"a,b\n", "a.csv is not a file of the Madrid portal"),
        ("a.csv", b"", "a.csv is not a file of the Madrid portal"),
    ],
)
def test_a_named_file_must_be_the_portals(
    tmp_path: Path, data_folder: Path, name: str, data: bytes, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        import_paths([write(tmp_path / name, data)])


def test_nothing_to_import(tmp_path: Path, data_folder: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file or folder"):
        import_paths([tmp_path / "nowhere"])
    with pytest.raises(DataError, match=r"no csv or txt file of the Madrid portal in: .*"):
        import_paths([tmp_path])
    write(tmp_path / "a.csv", b"a,b\n")
    with pytest.raises(DataError, match=r"no csv or txt file of the Madrid portal in: a.csv"):
        import_paths([tmp_path])
    empty = zipped(tmp_path / "b.zip", [("readme.md", b"")])
    with pytest.raises(DataError, match=r"no csv or txt file of the Madrid portal in: .*b.zip"):
        import_paths([empty])
