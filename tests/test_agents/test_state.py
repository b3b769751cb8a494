"""Attributes that are named are taken and put back; what cannot be theirs is refused."""

import json
from collections import deque

import numpy as np
import pytest

from agents.plain import put_away, take_out
from agents.state import Stateful


class Part(Stateful):
    kept = ("number",)

    def __init__(self) -> None:
        self.number, self.twice = 1, 2

    def rebuild(self) -> None:
        self.twice = 2 * self.number


class Whole(Stateful):
    kept = ("part", "fixed", "text", "unknown", "array", "late")

    def __init__(self) -> None:
        self.part, self.fixed = Part(), [Part(), Part()]
        self.text, self.unknown, self.late = "a", None, -np.inf
        self.array = np.zeros((2, 3), order="F")


class More(Whole):
    kept = ("grown", "numbers", "rows", "table", "arrays")

    def __init__(self) -> None:
        super().__init__()
        self.grown: list[Part] = []
        self.numbers, self.arrays = [1, 2], [np.zeros(2)]
        self.rows: deque[tuple[float, float]] = deque(maxlen=2)
        self.table: dict[float, float] = {}

    def new_part(self) -> Part:
        return Part()


def changed() -> More:
    whole = More()
    whole.part.number = whole.fixed[1].number = 7
    whole.part.rebuild()
    whole.text, whole.unknown = "b", 3.5
    whole.array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    whole.fixed, whole.grown = [Part(), whole.part], [whole.part, Part(), Part()]
    whole.numbers, whole.arrays = [3, 4, 5], [np.ones(1), np.ones(4)]
    whole.rows.append((1.0, 2.5))
    whole.table = {0.5: 2.0, 1.5: 4.0}
    return whole


def through_a_file(state: dict) -> dict:
    arrays: dict[str, np.ndarray] = {}
    return take_out(json.loads(json.dumps(put_away(state, arrays))), arrays)


def test_what_is_named_comes_back() -> None:
    one, again = changed(), More()
    again.restore(through_a_file(one.state()))
    assert (again.part.number, again.part.twice) == (7, 14)
    assert [part.number for part in again.fixed] == [1, 7]
    assert [part.number for part in again.grown] == [7, 1, 1]
    assert (again.text, again.unknown, again.late) == ("b", 3.5, -np.inf)
    assert again.numbers == [3, 4, 5]
    assert (again.rows, again.rows.maxlen) == (deque([(1.0, 2.5)]), 2)
    assert again.table == {0.5: 2.0, 1.5: 4.0}
    assert [array.tolist() for array in again.arrays] == [[1.0], [1.0] * 4]
    assert again.array.flags.f_contiguous
    np.testing.assert_array_equal(again.array, one.array)
    again.array += 1.0
    again.arrays[0] += 1.0
    assert (one.array[0, 0], one.arrays[0][0]) == (0.0, 1.0)


def test_nothing_stays_of_what_was_there_before() -> None:
    again = changed()
    again.restore(through_a_file(More().state()))
    assert (again.grown, again.rows, again.table, again.unknown) == ([], deque(), {}, None)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("array", 3.0, "array is an array, got 3.0"),
        ("late", "soon", "late is a number, got 'soon'"),
        ("rows", 4, "rows is a list, got 4"),
        ("fixed", [{"number": 1}] * 3, "longer"),
        ("fixed", [{}, {}], "number"),
        ("part", {"other": 1}, "number"),
    ],
)
def test_what_does_not_belong_is_refused(name: str, value: object, message: str) -> None:
    whole = Whole() if name == "fixed" else More()
    with pytest.raises((ValueError, KeyError), match=message):
        whole.restore(through_a_file(whole.state()) | {name: value})


def test_who_names_nothing_is_told_so() -> None:
    """Otherwise what it has learned would be lost without a word."""

    class Silent(Stateful):
        pass

    with pytest.raises(NotImplementedError, match="Silent does not name what is kept"):
        Silent().state()
