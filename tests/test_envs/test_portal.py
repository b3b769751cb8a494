"""Every line of the portal's files has a defined outcome."""

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.portal import NotPortalError, Readings, parse
from tests.test_envs.portal_files import HEADER, csv, csv_line, txt, txt_line


def test_both_formats_say_the_same() -> None:
    for readings in (parse(csv(csv_line()), "a.csv"), parse(txt(txt_line()), "a.txt")):
        assert readings.station.tolist() == [4]
        assert readings.magnitude.tolist() == [7]
        assert str(readings.day[0]) == "2018-03-01"
        assert readings.values[0].tolist() == list(range(1, 25))


@pytest.mark.parametrize("flag", ["N", "M", "C", " ", "v", "?"])
def test_only_the_flag_v_is_valid(flag: str) -> None:
    flags = "V" * 5 + flag + "V" * 18
    for readings in (
        parse(csv(csv_line(flags=flags)), "a.csv"),
        parse(txt(txt_line(flags=flags)), "a.txt"),
    ):
        assert np.flatnonzero(np.isnan(readings.values[0])).tolist() == [5]


def test_a_blank_last_flag() -> None:
    line = txt_line(flags="V" * 23 + " ")
    for text in (line, line.rstrip()):  # an editor may have removed it
        assert np.flatnonzero(np.isnan(parse(txt(text), "a.txt").values[0])).tolist() == [23]


def test_decimals_negatives_and_empty_fields() -> None:
    line = csv_line().replace("00001;V", "01.25;V").replace("00002;V", "-0.50;V")
    line = line.replace("00003;V", ";V")
    values = parse(csv(line), "a.csv").values[0]
    assert values[:2].tolist() == [1.25, -0.5]
    assert np.isnan(values[2])
    assert values[3] == 4


@pytest.mark.parametrize(
    "encoded",
    [
        csv(csv_line()).decode().encode("utf-8-sig"),
        csv(csv_line()).decode().encode("utf-16"),
        csv(csv_line()).decode().replace("ANO", "AÑO").encode("latin-1"),
        csv(csv_line()).decode().replace("ANO", "AÑO").encode("utf-8"),
        csv(csv_line()).replace(b"\n", b"\r\n"),
        csv(csv_line()).replace(b";", b","),
        csv(csv_line()).rstrip(),
        csv("", csv_line(), "", "   "),
    ],
    ids=["utf-8-bom", "utf-16", "latin-1", "utf-8", "crlf", "commas", "no-last-newline", "blanks"],
)
def test_harmless_differences(encoded: bytes) -> None:
    assert parse(encoded, "a.csv").values[0].tolist() == list(range(1, 25))


def test_columns_are_found_by_name() -> None:
    columns = HEADER.split(";")
    fields = csv_line().split(";")
    order = np.random.default_rng(0).permutation(len(columns))
    shuffled = "\n".join(";".join(row[i] for i in order) for row in (columns, fields))
    assert parse(shuffled.encode(), "a.csv").values[0].tolist() == list(range(1, 25))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a.csv is not a file of the Madrid portal"),
        (b"\n\n", "a.csv is not a file of the Madrid portal"),
        (b"<html>not found</html>", "a.csv is not a file of the Madrid portal"),
        (b"station,name\n4,x\n", "a.csv is not a file of the Madrid portal"),
        (b"ESTACION;MAGNITUD\n4;7\n", "a.csv is not a file of the Madrid portal"),
    ],
)
def test_something_else_altogether(data: bytes, message: str) -> None:
    with pytest.raises(NotPortalError, match=message):
        parse(data, "a.csv")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (HEADER.encode(), "a has no measurements"),
        (csv(csv_line(), csv_line()[:100]), r"a, line 3, has \d+ fields .* \(truncated file\?\)"),
        (csv(csv_line()[:-2], csv_line()), "a, line 2, has 55 fields instead of 56$"),
        (txt(txt_line(), txt_line()[:-6]), r"a, line 2, has 158 characters .*truncated"),
        (csv(csv_line(date=(2018, 2, 31))), "a, line 2, day .* month"),
        (csv(csv_line(date=(2018, 3, 2**31))), "a, line 2, has '4 7 2018 03 2147483648' for st"),
        (csv(csv_line(date=(1234, 2, 1))), "a, line 2, has '4 7 1234 02 01' for station"),
        (csv(csv_line().replace("00009", "1_000")), "a, line 2, has a value that is not a number"),
        (csv(csv_line().replace("00009", "nan")), "a, line 2, has a value that is not a number"),
        (csv(csv_line().replace("00009", "1.2.3")), "a, line 2"),
        (csv(csv_line().replace("00009", "9" * 60)), "a has values above 1,000,000"),
        (csv(csv_line().replace(";7;", ";x;", 1)), "a, line 2, has '4 x 2018 03 01'"),
        (csv(csv_line().replace("28;079", "28;005")), r"a, line 2, is not a measurement in Madrid"),
        (HEADER[:60].encode(), "a has no column .* cut short or damaged"),
        (txt(txt_line(), txt_line().replace("0802", "0804")), "a, line 2, is not an hourly"),
        (b"\xff\xfe" + b"x", "a is damaged: it is not in the encoding it claims"),
    ],
)
def test_damage_is_named(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse(data, "a")


def outcome(data: bytes) -> None:
    """Data or a DataError of one line: nothing else may come out."""
    try:
        readings = parse(data, "fuzz.csv")
    except DataError as error:
        message = str(error)
    else:
        assert isinstance(readings, Readings)
        assert readings.values.shape == (len(readings.station), 24)
        assert not np.isinf(readings.values).any()
        return
    assert message.startswith("fuzz.csv")
    assert "\n" not in message


@given(st.binary(max_size=400))
@example(b"\xff\xfe\x00")
@example(b"\xef\xbb\xbf\xff")
@example(b"28079" + b"0" * 159)
def test_random_bytes(data: bytes) -> None:
    outcome(data)
    outcome(csv() + data)
    outcome(txt(txt_line()) + data)


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """A file with a few bytes changed, put in or taken out, perhaps cut short."""
    text = bytearray(data)
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(text) - 1))
        piece = draw(st.binary(max_size=3) | st.sampled_from([b";", b"\n", b"V", b"-", b"9e9"]))
        text[at : at + draw(st.integers(0, 3))] = piece
    return bytes(text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text)


@given(mutated(csv(csv_line(), csv_line(station=8), csv_line(date=(2018, 3, 2)))))
def test_mutated_csv(data: bytes) -> None:
    outcome(data)


@given(mutated(txt(txt_line(), txt_line(station=8), txt_line(date=(18, 3, 2)))))
def test_mutated_txt(data: bytes) -> None:
    outcome(data)


@given(choice=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_mutated_real_lines(madrid_files: Path, choice: st.DataObject) -> None:
    lines = real_lines(madrid_files)
    few = choice.draw(st.lists(st.sampled_from(lines), min_size=1, max_size=3))
    outcome(choice.draw(mutated(csv(*few))))


_lines: list[str] = []


def real_lines(folder: Path) -> list[str]:
    if not _lines:
        with zipfile.ZipFile(folder / "Anio2018.zip") as archive:
            text = archive.read("mar_mo18.csv").decode()
        _lines.extend(text.splitlines()[1::37])
    assert re.match("28;079;", _lines[0])
    return _lines
