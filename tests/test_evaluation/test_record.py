"""Records, packed and unpacked within bounds."""

import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.protocol import Protocol
from evaluation.record import Record, RecordError, check, pack, unpack
from evaluation.runs import runs_of
from evaluation.specs import TRAINING
from evaluation.store import Store
from tests.errors import raises

AGENTS = Path(__file__).with_name("faulty_agents.py")
WORLD = "PeriodicGP-SyntheticDiscrete-v0"
PROTOCOL = Protocol.from_dict({"envs": [WORLD], "agents": ["random"], "seeds": "0:1", "horizon": 3})
RUNS = {one.track: one for one in runs_of(PROTOCOL)}
ONE = RUNS["online"]
STEPS = {
    "t": np.arange(3),
    "action": np.array([0, 1, 0]),
    "reward": np.ones(3),
    "regret": np.full(3, 2.0),
    "seconds": np.full(3, 0.1),
}
HEADER = b'{"t":{"dtype":"BF16","shape":[0],"data_offsets":[0,0]}}'
OTHER_TYPE = len(HEADER).to_bytes(8, "little") + HEADER


def test_record_sums_its_columns() -> None:
    record = Record.of(ONE.key, STEPS, seconds=0.5)
    assert (record.steps, record.regret, record.agent_seconds) == (3, 6.0, pytest.approx(0.3))
    assert unpack(record.packed).keys() == STEPS.keys()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({name: column[:2] for name, column in STEPS.items()}, "wrong-step-count"),
        ({"regret": np.array([1, np.nan, 1])}, "non-finite-values"),
        ({"reward": np.array([1, np.inf, -np.inf])}, "non-finite-values"),
        ({"regret": np.full(3, 1e308)}, "non-finite-values"),
    ],
)
def test_check_rejects_columns_without_a_result(change: dict, code: str) -> None:
    with raises(RecordError, code):
        check({**STEPS, **change}, ONE)


def test_check_accepts_results() -> None:
    """Learned state may be infinite."""
    for change in ({}, {"action": np.zeros((3, 2))}):
        check({**STEPS, **change}, ONE)
    training = replace(ONE, track=TRAINING, training_steps=10)
    check({"learned.w": np.array([np.inf]), "interactions": np.array([10])}, training)


@pytest.mark.parametrize(
    ("packed", "code"),
    [
        (b"", "damaged-record"),
        (b"junk", "damaged-record"),
        (pack(STEPS)[:-40], "damaged-record"),
        (zlib.compress(b"hello"), "damaged-record"),
        (zlib.compress(OTHER_TYPE), "damaged-record"),
        (zlib.compress(bytes(5000)), "record-too-large"),
    ],
    ids=["nothing", "junk", "half", "text", "type", "bomb"],
)
def test_unpack_rejects_damaged_bytes(packed: bytes, code: str) -> None:
    with raises(RecordError, code):
        unpack(packed, max_bytes=2000)


@pytest.mark.parametrize("column", [["a"], [1j], np.array([{}], dtype=object), np.ones(1, "g")])
def test_pack_rejects_other_types(column: object) -> None:
    with raises(RecordError, "not-numeric"):
        pack({"t": np.array(column)})


@pytest.mark.parametrize(
    "column",
    [np.arange(6)[::2], np.ones((3, 2)).T, np.array(3.0), np.zeros((0, 2)), np.array([True])],
)
def test_unpack_returns_packed_columns(column: np.ndarray) -> None:
    result = unpack(pack({"x": column}))["x"]
    np.testing.assert_array_equal(result, column)
    assert (result.dtype, result.shape) == (column.dtype, column.shape)


def test_record_cleans_reasons() -> None:
    record = Record(ONE.key, "bad \ud800 \x1b[31m" + "x" * 5000)
    assert (record.reason or "").startswith("bad ?  [31mxxx")
    assert len(record.reason or "") == 2000
    Store().save(record)
