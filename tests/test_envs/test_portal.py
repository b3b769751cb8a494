"""Lines of the portal's files: values, missing values, and errors."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from periodic_envs.data.errors import DataError
from periodic_envs.data.madrid.portal import parse
from tests.errors import raises
from tests.test_envs.portal_files import HEADER, csv, csv_line, txt, txt_line

Format = Callable[..., bytes]
FORMATS = [lambda **kwargs: csv(csv_line(**kwargs)), lambda **kwargs: txt(txt_line(**kwargs))]
LINE = csv_line()


@pytest.mark.parametrize("content", FORMATS)
def test_parse_reads_a_line_of_either_format(content: Format) -> None:
    readings = parse(content(), "a")
    assert (readings.station.tolist(), readings.magnitude.tolist()) == ([4], [7])
    assert (str(readings.day[0]), readings.values[0].tolist()) == ("2018-03-01", list(range(1, 25)))


@pytest.mark.parametrize("flag", ["N", " ", "v"])
@pytest.mark.parametrize("content", FORMATS)
def test_parse_takes_values_with_the_flag_v(content: Format, flag: str) -> None:
    readings = parse(content(flags="V" * 5 + flag + "V" * 18), "a")
    assert np.flatnonzero(np.isnan(readings.values[0])).tolist() == [5]


def test_parse_takes_a_blank_last_flag_that_an_editor_removed() -> None:
    readings = parse(txt(txt_line(flags="V" * 23 + " ").rstrip()), "a")
    assert np.flatnonzero(np.isnan(readings.values[0])).tolist() == [23]


def test_parse_takes_decimals_negatives_and_empty_fields() -> None:
    line = LINE.replace("00001;V", "01.25;V").replace("00002;V", "-0.50;V").replace("00003;V", ";V")
    values = parse(csv(line), "a").values[0]
    assert values[[0, 1, 3]].tolist() == [1.25, -0.5, 4.0]
    assert np.isnan(values[2])


SHUFFLED = np.random.default_rng(0).permutation(len(HEADER.split(";")))


@pytest.mark.parametrize(
    "encoded",
    [
        csv(LINE).decode().encode("utf-8-sig"),
        csv(LINE).decode().encode("utf-16"),
        csv(LINE).decode().replace("ANO", "AÑO").encode("latin-1"),
        csv(LINE).decode().replace("ANO", "AÑO").encode("utf-8"),
        csv(LINE).replace(b"\n", b"\r\n"),
        csv(LINE).replace(b";", b","),
        csv(LINE).rstrip(),
        csv("", LINE, "", "   "),
        "\n".join(";".join(np.array(row.split(";"))[SHUFFLED]) for row in (HEADER, LINE)).encode(),
    ],
    ids=[
        *("utf-8-bom", "utf-16", "latin-1", "utf-8", "crlf", "commas", "no-last-newline"),
        *("blanks", "columns"),
    ],
)
def test_parse_takes_harmless_differences(encoded: bytes) -> None:
    assert parse(encoded, "a").values[0].tolist() == list(range(1, 25))


DAMAGED_IN_LINE_2 = [
    csv(LINE[:-2], LINE),
    txt(txt_line(), txt_line()[:-6]),
    txt(txt_line(), txt_line().replace("0802", "0804")),
    *(csv(csv_line(date=date)) for date in ((2018, 2, 31), (1234, 2, 1), (2018, 3, 2**31))),
    *(csv(LINE.replace("00009", wrong)) for wrong in ("1_000", "nan", "1.2.3")),
    csv(LINE.replace(";7;", ";x;", 1)),
    csv(LINE.replace("28;079", "28;005")),
]


@pytest.mark.parametrize(
    ("data", "code", "place"),
    [
        *(
            (data, "wrong-format", "a ")
            for data in (b"", b"\n\n", b"<html>", b"ESTACION;MAGNITUD\n4;7\n")
        ),
        (HEADER.encode(), "no-data", "a "),
        (csv(LINE.replace("00009", "9" * 60)), "value-too-large", "a "),
        *((data, "damaged-file", "a ") for data in (HEADER[:60].encode(), b"\xff\xfe" + b"x")),
        (csv(LINE, LINE[:100]), "damaged-file", "line 3"),
        *((data, "damaged-file", "line 2") for data in DAMAGED_IN_LINE_2),
    ],
)
def test_parse_names_the_place_of_damage(data: bytes, code: str, place: str) -> None:
    with raises(DataError, code) as caught:
        parse(data, "a")
    assert place in str(caught.value)


WHOLE = [
    csv(LINE, csv_line(station=8), csv_line(date=(2018, 3, 2))),
    txt(txt_line(), txt_line(station=8), txt_line(date=(18, 3, 2))),
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A file with a few bytes changed, put in or taken out, perhaps cut short; or random bytes."""
    text = bytearray(draw(st.sampled_from([*WHOLE, csv(), b""])))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(text)))
        piece = draw(st.binary(max_size=30) | st.sampled_from([b";", b"\n", b"V", b"9e9"]))
        text[at : at + draw(st.integers(0, 3))] = piece
    return bytes(text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text)


@given(damaged())
@example(b"\xff\xfe\x00")
@example(b"\xef\xbb\xbf\xff")
@example(b"28079" + b"0" * 159)
def test_parse_of_damaged_files_ends_in_readings_or_a_data_error(data: bytes) -> None:
    try:
        readings, message = parse(data, "fuzz.csv"), "fuzz.csv"
    except DataError as error:
        readings, message = parse(WHOLE[0], "whole"), str(error)
    assert readings.values.shape == (len(readings.station), 24)
    assert not np.isinf(readings.values).any()
    assert message.startswith("fuzz.csv")
    assert "\n" not in message
