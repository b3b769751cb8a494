"""Saved agents: whole or not at all, and harmless."""

import contextlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agents.saving
from agents import SavedAgentError, load, make_agent
from agents.registry import find_class
from agents.testing import example_problem, observe


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    agent = make_agent("periodic-gp-ucb", example_problem("finite"), np.random.default_rng(0))
    for t in range(8):
        agent.update(observe(t), agent.act(observe(t)), float(t % 3))
    agent.save(tmp_path / "agent.npz")
    return tmp_path / "agent.npz"


def rewrite(path: Path, **changes: object) -> None:
    """Save the file with another header or other arrays."""
    with np.load(path) as file:
        arrays = {key: file[key] for key in file.files}
    header = json.loads(arrays["header"].tobytes())
    header.update({k: v for k, v in changes.items() if not isinstance(v, np.ndarray)})
    arrays.update({k: v for k, v in changes.items() if isinstance(v, np.ndarray)})
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)


def test_an_interrupted_save_loses_nothing(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()
    agent = load(saved)

    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(agents.saving.np, "savez_compressed", full_disk)
    with pytest.raises(OSError, match="no space"):
        agent.save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_what_cannot_be_loaded_replaces_nothing(saved: Path) -> None:
    before = saved.read_bytes()
    agent = load(saved)
    agent.posterior._filter.S[0, 0] = np.nan
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
        ({"version": 99}, "written in version 99"),
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
    with np.load(path) as file:
        header = json.loads(file["header"].tobytes())
        arrays = {key: file[key] for key in file.files if key != "header"}
    with np.load(saved) as file:
        problem = json.loads(file["header"].tobytes())["problem"]
        moved = {key: file[key] for key in file.files if key != "header"}
    rename = {key: f"moved_{key}" for key in moved}
    text = json.dumps(problem)
    for old, new in rename.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    header["problem"] = json.loads(text)
    arrays |= {rename[key]: value for key, value in moved.items()}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)
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


def test_pickles_are_not_opened(saved: Path) -> None:
    with zipfile.ZipFile(saved, "a") as archive:
        buffer = io.BytesIO()
        np.save(buffer, np.array([object()]), allow_pickle=True)
        archive.writestr("extra.npy", buffer.getvalue())
    with pytest.raises(SavedAgentError, match="not what it claims to be"):
        load(saved)


def test_bombs(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2**20)}
    np.lib.format.write_array_header_1_0(buffer, header)
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("huge.npy", buffer.getvalue())
    with pytest.raises(SavedAgentError, match="not what it claims to be"):
        load(saved)
    monkeypatch.setattr(agents.saving, "MAX_BYTES", 1000)
    with pytest.raises(SavedAgentError, match="larger than 1,000 bytes"):
        load(saved)


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
