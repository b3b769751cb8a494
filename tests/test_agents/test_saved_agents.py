"""Saved agents: whole or not at all, and harmless."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

import agents.saving
from agents import SavedAgentError, load, make_agent
from agents.plain import put_away, take_out
from agents.registry import find_class
from agents.testing import example_problem, observe
from tests.platforms import linux_only


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    agent = make_agent("periodic-gp-ucb", example_problem("finite"), np.random.default_rng(0))
    for t in range(8):
        agent.update(observe(t), agent.act(observe(t)), float(t % 3))
    agent.save(tmp_path / "agent")
    return tmp_path / "agent"


def contents(path: Path) -> tuple[dict, dict, dict]:
    """What a file says of itself, its header and its arrays."""
    with safe_open(path, framework="numpy") as file:
        said = file.metadata()
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    return said, json.loads(said["header"]), arrays


def rewrite(path: Path, **changes: object) -> None:
    """Save the file with another header or other arrays."""
    said, header, arrays = contents(path)
    for key, value in changes.items():
        part = said if key in said else arrays if isinstance(value, np.ndarray) else header
        part[key] = value
    save_file(arrays, path, said | {"header": json.dumps(header)})


def test_an_interrupted_save_loses_nothing(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()
    agent = load(saved)

    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(agents.saving.os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space"):
        agent.save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_what_cannot_be_loaded_replaces_nothing(saved: Path) -> None:
    before = saved.read_bytes()
    agent = load(saved)
    agent.posterior.filter.S[0, 0] = np.nan
    with pytest.raises(SavedAgentError, match=r"cannot save .* must hold finite numbers"):
        agent.save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_any_generator_is_kept(tmp_path: Path) -> None:
    for kind in (np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM):
        agent = make_agent("random", example_problem("box"), np.random.Generator(kind(1)))
        agent.act(observe(0))
        agent.save(tmp_path / "agent")
        np.testing.assert_array_equal(
            agent.act(observe(1)), load(tmp_path / "agent").act(observe(1))
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "something else"}, "not a saved agent"),
        ({"version": "99"}, "written in version 99"),
        ({"agent": "os:system"}, "not registered under 'os:system'"),
        ({"agent": "evil.py:Agent"}, "not registered under 'evil.py:Agent'"),
        ({"more": [[]] * 10}, "other parts than it should"),
        ({"settings": {"colour": "blue"}}, "damaged, or not a saved agent"),
        ({"state": {}}, "damaged, or not a saved agent"),
        ({"rng": {"bit_generator": "Evil"}}, "damaged, or not a saved agent"),
        ({"array0": np.zeros((3, 3))}, "damaged, or not a saved agent"),
    ],
    ids=str,
)
def test_wrong_contents(saved: Path, changes: dict, message: str) -> None:
    rewrite(saved, **changes)
    with pytest.raises(SavedAgentError, match=message):
        load(saved)


def test_a_belief_about_other_actions_is_refused(saved: Path) -> None:
    other = make_agent("periodic-gp-ucb", example_problem("arms"), np.random.default_rng(0))
    path = saved.with_name("other")
    other.save(path)
    said, header, arrays = contents(path)
    _, mine, moved = contents(saved)
    problem = mine["problem"]
    rename = {key: f"moved_{key}" for key in moved}
    text = json.dumps(problem)
    for old, new in rename.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    header["problem"] = json.loads(text)
    arrays |= {rename[key]: value for key, value in moved.items()}
    save_file(arrays, path, said | {"header": json.dumps(header)})
    with pytest.raises(SavedAgentError, match="about other actions"):
        load(path)


def test_unregistered_agents_are_loaded_by_their_class(tmp_path: Path) -> None:
    class Mine(find_class("gp-ucb")):
        """Not registered, though its parent is."""

    agent = Mine(example_problem("finite"), np.random.default_rng(0))
    agent.save(tmp_path / "mine")
    with pytest.raises(SavedAgentError, match=r"saved by .*Mine, which is not registered"):
        load(tmp_path / "mine")
    assert type(load(tmp_path / "mine", agent_class=Mine)) is Mine


def test_where_saving_fails(tmp_path: Path) -> None:
    agent = make_agent("random", example_problem("box"), np.random.default_rng(0))
    with pytest.raises(FileNotFoundError, match=r"cannot save .*no/agent.*there is no folder"):
        agent.save(tmp_path / "no" / "agent")
    odd = find_class("gp-ucb")(
        example_problem("box"), np.random.default_rng(0), length_scale=np.float32(2)
    )
    with pytest.raises(SavedAgentError, match="settings that JSON does not know"):
        odd.save(tmp_path / "odd")
    assert list(tmp_path.iterdir()) == []


def test_headers_are_bounded(saved: Path) -> None:
    rewrite(saved, settings={"beta": "x" * 2**21})
    with pytest.raises(SavedAgentError, match="header is larger than"):
        load(saved)


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(SavedAgentError, match="there is no such file"):
        load(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(SavedAgentError, match="not a saved agent"):
        load(tmp_path / "text")


def test_files_of_the_first_version(tmp_path: Path) -> None:
    np.savez(tmp_path / "old.npz", header=np.zeros(3, dtype=np.uint8))
    with pytest.raises(SavedAgentError, match=r"'.*old.npz': it was written by version 0.1, whose"):
        load(tmp_path / "old.npz")


def test_truncated_files(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in (0, 5, 8, 100, len(whole) - 1):
        saved.write_bytes(whole[:length])
        with pytest.raises(SavedAgentError, match="not a saved agent"):
            load(saved)


def test_only_numbers_are_saved(tmp_path: Path) -> None:
    agent = make_agent("ucb1", example_problem("arms"), np.random.default_rng(0))
    for odd in (np.array([object()]), np.array(["text"]), np.array([1j])):
        agent.state = lambda odd=odd: {"odd": odd}
        with pytest.raises(SavedAgentError, match="does not hold numbers"):
            agent.save(tmp_path / "agent")
    assert list(tmp_path.iterdir()) == []


def test_arrays_come_back_as_they_were() -> None:
    kinds = [np.arange(6.0).reshape(2, 3), np.arange(6, dtype=">i4").reshape(3, 2)[:, ::2]]
    kinds += [np.asfortranarray(kinds[0]), np.zeros((0, 3)), np.array(2.5), np.array([True])]
    for array in kinds:
        arrays: dict[str, np.ndarray] = {}
        again = take_out(json.loads(json.dumps(put_away({"a": array}, arrays))), arrays)["a"]
        np.testing.assert_array_equal(again, array, strict=array.dtype.isnative)
        assert again.flags.f_contiguous or not array.flags.f_contiguous
        assert all(a.flags.c_contiguous for a in arrays.values())


def test_large_files_and_claims(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = saved.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    claim = whole[8 : 8 + size].replace(b'"shape":[5', b'"shape":[9')
    saved.write_bytes(whole[:8] + claim + whole[8 + size :])
    with pytest.raises(SavedAgentError, match="damaged, or not a saved agent"):
        load(saved)
    saved.write_bytes(whole)
    monkeypatch.setattr(agents.saving, "MAX_BYTES", 1000)
    with pytest.raises(SavedAgentError, match="larger than 1,000 bytes"):
        load(saved)


LIMITED = """
import resource, sys
from agents import load
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
try:
    load(sys.argv[1])
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["ucb1", "random", "gp-ucb"])
@linux_only
def test_small_files_do_not_take_much_memory(tmp_path: Path, name: str) -> None:
    """Problems without end, and a generator whose words have a quarter of a billion letters."""
    path = tmp_path / "agent"
    rng = np.random.Generator(np.random.SFC64(0))
    make_agent(name, example_problem("arms"), rng).save(path)
    whole = path.read_bytes()
    _, header, _ = contents(path)
    many = {**header["problem"], "action_space": 200_000_000}
    wide = {**header["problem"], "observation_space": [{"array": "wide"}] * 2}
    letters = json.loads(json.dumps(header["rng"]).replace("uint64", "<U250000000"))
    for changes, message in (
        ({"problem": many}, "at most 100,000 arms, got 200000000"),
        ({"problem": wide, "wide": np.zeros(20_000)}, "at most 10,000 numbers, got 20000"),
        ({"rng": letters}, "generator has words, got '<U250000000'"),
        ({"first_rng": letters}, "generator has words, got '<U250000000'"),
    ):
        path.write_bytes(whole)
        rewrite(path, **changes)
        command = [sys.executable, "-c", LIMITED, str(path)]
        run = subprocess.run(command, capture_output=True, text=True)
        assert message in run.stdout, run.stderr
    box = make_agent(name, example_problem("box"), np.random.default_rng(0))
    box.save(path)
    _, header, _ = contents(path)
    flat = {**header["problem"], "action_space": [{"array": "low"}, {"array": "high"}]}
    rewrite(path, problem=flat, low=-np.ones(300), high=np.ones(300))
    with pytest.raises(SavedAgentError, match="a box of at most 256 dimensions, got 300"):
        load(path)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(place=st.floats(0, 1), garbage=st.binary(min_size=1, max_size=40))
def test_damaged_anywhere(saved: Path, place: float, garbage: bytes) -> None:
    """A file with some bytes overwritten is an agent or a clear error."""
    whole = saved.read_bytes()
    start = int(place * (len(whole) - 1))
    other = saved.with_suffix(".damaged")
    other.write_bytes(whole[:start] + garbage + whole[start + len(garbage) :])
    with contextlib.suppress(SavedAgentError):
        load(other)
