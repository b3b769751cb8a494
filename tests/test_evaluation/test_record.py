"""Records: packed once, believed by nobody, and one sentence for whatever is wrong with them."""

import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.protocol import Protocol
from evaluation.record import Record, RecordError, checked, pack, unpack
from evaluation.runner import run
from evaluation.runs import runs_of
from evaluation.specs import REFERENCE_ROWS, REFERENCES, TRAINING
from evaluation.store import Store

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


def reason(record: Record, one=ONE) -> str | None:
    return checked(record, one).reason


def test_a_good_record_is_kept_as_it_is() -> None:
    record = Record.of(ONE.key, STEPS, seconds=0.5)
    assert checked(record, ONE) is record
    assert (record.steps, record.regret, record.agent_seconds) == (3, 6.0, pytest.approx(0.3))
    box = {**STEPS, "action": np.zeros((3, 2))}
    assert reason(Record.of(ONE.key, box)) is None
    rows = dict.fromkeys(REFERENCE_ROWS, np.ones(3))
    references = {"t": np.arange(3), "period": np.ones(1), **rows}
    assert reason(Record.of(RUNS[REFERENCES].key, references), RUNS[REFERENCES]) is None


@pytest.mark.parametrize("changes", [[], [1], [1, 2]])
def test_references_may_say_when_the_world_changes(changes: list[int]) -> None:
    run = RUNS[REFERENCES]
    columns = {"t": np.arange(3), "period": np.ones(1), "changes": np.array(changes, dtype=int)}
    columns |= dict.fromkeys(REFERENCE_ROWS, np.ones(3))
    assert reason(Record.of(run.key, columns), run) is None
    nobody = "the record has a column 'changes' that nobody asked for"
    assert reason(Record.of(ONE.key, {**STEPS, "changes": np.array([1])})) == nobody


@pytest.mark.parametrize("changes", [[0], [3], [2, 1], [1, 1], [-1], [1.0], [[1]], 1])
def test_changes_that_are_none(changes: object) -> None:
    run = RUNS[REFERENCES]
    columns = {"t": np.arange(3), "period": np.ones(1), "changes": np.array(changes)}
    columns |= dict.fromkeys(REFERENCE_ROWS, np.ones(3))
    sentence = "the column 'changes' has no ascending times within the run"
    assert reason(Record.of(run.key, columns), run) == sentence


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"regret": None}, "the record has no column 'regret'"),
        ({"more": np.ones(3)}, "the record has a column 'more' that nobody asked for"),
        ({"reward": np.ones(2)}, r"the column 'reward' has the shape \(2,\), not \(3,\)"),
        ({"reward": np.ones((3, 1))}, r"the column 'reward' has the shape \(3, 1\), not \(3,\)"),
        ({"t": np.array(3)}, r"the record has 1 steps where the run has 3"),
        ({n: c[:2] for n, c in STEPS.items()}, "the record has 2 steps where the run has 3"),
        ({"t": np.arange(3.0)}, "the column 't' has times that are not whole numbers"),
        (
            {"regret": np.array([1, np.nan, 1])},
            "the column 'regret' has values that are not finite",
        ),
        (
            {"reward": np.array([1, np.inf, 1])},
            "the column 'reward' has values that are not finite",
        ),
        ({"regret": np.array([1, -1, 1])}, "the column 'regret' has values below 0"),
        ({"seconds": np.array([1, np.nan, 1])}, "the column 'seconds' has values that are not"),
        ({"seconds": np.array([1, -1e-12, 1])}, "the column 'seconds' has values below 0"),
        ({"regret": np.full(3, 1e308)}, "the column 'regret' adds up to no finite number"),
        ({"regret": np.ones(3, dtype=bool)}, "the column 'regret' has values of the kind bool"),
        ({"reward": np.ones(3, np.longdouble)}, "the column 'reward' has values of the kind float"),
        ({"t": np.zeros(3, dtype=int)}, "the column 't' does not count the steps of the run"),
        ({"t": np.arange(3)[::-1]}, "the column 't' does not count the steps of the run"),
        ({"action": np.zeros((3, 0))}, "the column 'action' has 0 coordinates"),
        ({"action": np.zeros((3, 1000))}, "the column 'action' has 1000 coordinates"),
    ],
)
def test_columns_that_are_not_those_of_the_run(change: dict, sentence: str) -> None:
    columns = {name: c for name, c in {**STEPS, **change}.items() if c is not None}
    assert re.match(sentence, reason(Record.of(ONE.key, columns)) or "")


def test_a_record_under_the_key_of_another_run() -> None:
    assert reason(Record.of("another", STEPS)) == "the record is of another run"


def test_round_off_is_no_regret() -> None:
    regret = np.array([1e3, -1e-9, 0.0])
    assert reason(Record.of(ONE.key, {**STEPS, "regret": regret})) is None


def test_trainings() -> None:
    training = replace(ONE, track=TRAINING, training_steps=10)
    columns = {
        "learned.w": np.array([np.inf]),
        "interactions": np.array([10]),
        "seconds": np.ones(1),
    }
    assert reason(Record.of(ONE.key, columns), training) is None
    columns["interactions"] = np.array([11])
    assert "more interactions than" in (reason(Record.of(ONE.key, columns), training) or "")
    del columns["interactions"]
    assert (
        reason(Record.of(ONE.key, columns), training) == "the record has no column 'interactions'"
    )


def foreign(**columns: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **columns)
    return file.getvalue()


def bomb() -> bytes:
    """A few kilobytes that say they are some gigabytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.npy", bytes(2**20))
    data = file.getvalue()
    size = (2**20).to_bytes(4, "little")
    return data.replace(size, (2**31).to_bytes(4, "little"))


def no_array() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("t", b"hello")
    return file.getvalue()


@pytest.mark.parametrize(
    ("packed", "sentence"),
    [
        (b"", "the record has no column"),
        (b"junk", "the record is damaged"),
        (pack(STEPS)[:-40], "the record is damaged"),
        (foreign(t=np.array(["a", "b"])), "t is not a column of numbers"),
        (foreign(t=np.array([1j])), "t is not a column of numbers"),
        (foreign(t=np.array([{}], dtype=object)), "the record is damaged: Object arrays cannot"),
        (no_array(), "t is not a column of numbers"),
        (bomb(), "the record unpacks to more than 1024 MB"),
    ],
    ids=["nothing", "junk", "half", "text", "complex", "pickle", "bytes", "bomb"],
)
def test_bytes_that_are_no_record(packed: bytes, sentence: str) -> None:
    assert re.match(sentence, reason(Record(ONE.key, None, packed)) or "")
    if packed:
        with pytest.raises(RecordError):
            unpack(packed)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0])
def test_clocks_that_show_no_time(seconds: float) -> None:
    found = checked(Record.of(ONE.key, STEPS, seconds=seconds), ONE)
    assert (found.reason or "").startswith("the run says that it took no time")
    assert found.seconds == 0.0


def test_reasons_are_fit_for_a_file_and_a_screen() -> None:
    record = Record(ONE.key, "bad \ud800 \x1b[31m" + "x" * 5000)
    assert (record.reason or "").startswith("bad ?  [31mxxx")
    assert len(record.reason or "") == 2000
    with Store() as store:
        store.save(record)


def test_what_an_agent_forges_costs_its_own_runs() -> None:
    """In its own process an agent can do anything, but nobody believes what comes out of it."""
    agents = [
        f"{AGENTS}:Forges:what={what}" for what in ("junk", "text", "endless", "more", "less")
    ]
    table = {"envs": [WORLD], "agents": [*agents, "random"], "seeds": "0:1", "horizon": 3}
    results = run(Protocol.from_dict(table), workers=1)
    found = {one.agent.rpartition("=")[2]: one.reason for one in results.failures}
    assert found == {
        "junk": found["junk"],
        "text": "reward is not a column of numbers",
        "endless": "the column 'regret' has values that are not finite",
        "more": "the record has a column 'more' that nobody asked for",
        "less": "the record has no column 'regret'",
    }
    assert (found["junk"] or "").startswith("the record is damaged")
    assert "random" in set(results.totals["agent"])
