"""Objects are saved and loaded as they are, and hostile files make no others."""

import json
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from agents.objects import SavedAgentError, pack, unpack
from tests.errors import raises
from tests.test_agents.reloading import reloaded


@dataclass(frozen=True)
class Fixed:
    length: float
    half: float = field(init=False, default=0.5)


class Colour(Enum):
    RED = 1


class Whole:
    """One attribute of every kind."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, 2.5, -np.inf, "text", 2**100),
        *(np.float64(0.1), np.int64(-3), np.bool_(True), np.uint8(200), np.float32(0.1)),
        *([], [1, [2.0, "a"]], (), (1, (2,)), {1, 2}, {}, {0.5: [1], "a": {2: None}}),
        *(slice(1, None, 2), deque([(1.0, 2.5)], maxlen=2), deque([1])),
    ],
    ids=repr,
)
def test_saving_keeps_values_and_their_types(value: Any) -> None:
    again = reloaded(Whole(value)).value
    assert again == value
    assert type(again) is type(value)
    assert getattr(again, "maxlen", None) == getattr(value, "maxlen", None)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1).copy(order="K"),
        np.arange(12).reshape(3, 4)[::-1, ::2],
        np.arange(6, dtype=">i4").reshape(3, 2)[:, ::2],
        np.zeros((0, 3)),
        np.array(2.5),
        np.array([True, False]),
        np.array([np.nan, np.inf]),
    ],
    ids=lambda array: f"{array.dtype.str} {array.shape} {array.strides}",
)
def test_saving_keeps_arrays_and_their_layout(array: np.ndarray) -> None:
    again = reloaded(Whole(array)).value
    np.testing.assert_array_equal(again, array, strict=array.dtype.isnative)
    assert again.flags.f_contiguous == array.flags.f_contiguous
    assert again.flags.writeable


def test_saving_keeps_what_is_shared() -> None:
    memory = np.arange(12.0).reshape(3, 4).copy()
    whole = Whole([memory, memory[1:, ::2], memory.T, memory[::-1], [memory]])
    whole.itself = whole
    again = reloaded(whole)
    assert again.itself is again
    first, part, transposed, reverse, nested = again.value
    assert nested[0] is first
    assert part.base is first
    first[1, 0] = -7.0
    assert part[0, 0] == transposed[0, 1] == reverse[1, 0] == -7.0
    assert memory[1, 0] == 4.0


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_saving_keeps_generators(kind: str) -> None:
    rng = np.random.Generator(getattr(np.random, kind)(1))
    rng.integers(2**32, dtype=np.uint32)  # half of a word is left
    again = reloaded(Whole([rng, rng])).value
    assert again[0] is again[1]
    assert (rng.random(5) == again[0].random(5)).all()


def local() -> Any:
    class Local:
        """Cannot be found again."""

    return Local()


@pytest.mark.parametrize(
    ("value", "where"),
    [
        *((value, "") for value in (len, Fixed, local(), Colour.RED)),
        *((np.array(value), "") for value in (["a"], [1j])),
        (spaces.MultiDiscrete([2, 2]), ""),
        ([0, lambda: 0], "[1]"),
        ({"a": json.JSONDecoder()}, "['a']"),
    ],
)
def test_saving_names_the_attribute_that_it_cannot_save(value: Any, where: str) -> None:
    with raises(SavedAgentError, "cannot-save") as caught:
        pack(Whole(value), {})
    assert f"Whole.value{where}" in str(caught.value)


@pytest.mark.parametrize(
    ("node", "fault"),
    [
        (["object", "subprocess:Popen", {}], "unknown-class"),
        (["object", "agents.saving:json.JSONDecoder", {}], "unknown-class"),
        (["object", "agents.gp.kernels.base:np.ndarray", {}], "unknown-class"),
        (["object", "agents.registry:AgentSpec", {}], "unknown-class"),
        (["object", "tests.not_imported:Whole", {}], "unknown-class"),
        (["function", "os:system"], "damaged-file"),
        (["generator", [2]], ValueError),
        (["discrete", 10**9], ValueError),
        (["view", [3], 0, [10**9, 10**9], [0, 0]], ValueError),
        (["view", [3], 1000, [1], [8]], ValueError),
        (["view", [3], 0, [2], [10**6]], ValueError),
        (["view", [1], 0, [2], [8]], RecursionError),
        (["tuple", [[1]]], RecursionError),
        (["scalar", "U250000000", 1], KeyError),
        (["array", "nothing", [0]], KeyError),
    ],
    ids=lambda value: str(value)[:40],
)
def test_loading_rejects_hostile_nodes(node: list[Any], fault: Any) -> None:
    header = pack(Whole(0), {})
    nodes = [["object", "", {"value": [1]}], node, ["dict", ["bit_generator"], ["Evil"]]]
    header["nodes"] = [*nodes, ["array", "a", [0]]]
    with pytest.raises((ValueError, KeyError, TypeError, RecursionError)) as caught:
        unpack(header, {"a": np.zeros(3)}, Whole)
    assert getattr(caught.value, "code", type(caught.value)) == fault
