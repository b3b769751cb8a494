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
    """Save the file with another header or other arrays, with a digest that fits."""
    said, header, arrays = contents(path)
    for key, value in changes.items():
        part = said if key in said else arrays if isinstance(value, np.ndarray) else header
        part[key] = value
    said["header"] = json.dumps(header)
    said["digest"] = changes.get("digest", agents.saving._digest(said["header"], arrays))
    save_file(arrays, path, said)


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


def test_agent_that_cannot_be_saved_replaces_nothing(saved: Path) -> None:
    before = saved.read_bytes()
    agent = load(saved)
    agent.posterior.filter.S = None.__class__
    message = r"cannot save PeriodicGPUCB.posterior.*filter.S \(<class 'NoneType'>\): an attribute"
    with pytest.raises(SavedAgentError, match=message):
        agent.save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "something else"}, "not a saved agent"),
        ({"version": "99"}, "written by version 99 of periodic-gp, and this is version"),
        ({"agent": "os:system"}, "not registered under 'os:system'"),
        ({"agent": "evil.py:Agent"}, "not registered under 'evil.py:Agent'"),
        ({"agent": "ucb1"}, "PeriodicGPUCB, which is not registered under 'ucb1'"),
        ({"agent": "ppo"}, "PeriodicGPUCB, which is not registered under 'ppo'"),
        ({"nodes": []}, "damaged, or not a saved agent"),
        ({"nodes": [["evil"]]}, "it has an unknown node"),
        ({"digest": "0"}, "its content is damaged"),
    ],
    ids=str,
)
def test_wrong_contents(saved: Path, changes: dict, message: str) -> None:
    rewrite(saved, **changes)
    with pytest.raises(SavedAgentError, match=message):
        load(saved)


def test_unregistered_agents_are_loaded_by_their_class(tmp_path: Path) -> None:
    class Mine(find_class("gp-ucb")):
        """Not registered, though its parent is."""

    agent = Mine(example_problem("finite"), np.random.default_rng(0))
    agent.save(tmp_path / "mine")
    with pytest.raises(SavedAgentError, match=r"saved by .*Mine, which is not registered"):
        load(tmp_path / "mine")
    assert type(load(tmp_path / "mine", agent_class=Mine)) is Mine


def test_saving_into_a_missing_folder_is_refused(tmp_path: Path) -> None:
    agent = make_agent("random", example_problem("box"), np.random.default_rng(0))
    with pytest.raises(FileNotFoundError, match=r"cannot save .*no/agent.*there is no folder"):
        agent.save(tmp_path / "no" / "agent")
    assert list(tmp_path.iterdir()) == []


def test_headers_are_bounded(saved: Path) -> None:
    rewrite(saved, more="x" * (agents.saving.MAX_HEADER_BYTES + 1))
    with pytest.raises(SavedAgentError, match="with too large a header"):
        load(saved)


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(SavedAgentError, match="there is no such file"):
        load(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(SavedAgentError, match="not a saved agent"):
        load(tmp_path / "text")


def test_truncated_files(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in (0, 5, 8, 100, len(whole) - 1):
        saved.write_bytes(whole[:length])
        with pytest.raises(SavedAgentError, match="not a saved agent"):
            load(saved)


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


def settings_node(header: dict) -> list:
    """The pairs of the settings."""
    (reference,) = header["nodes"][0][2]["_settings"]
    return header["nodes"][reference]


LIMITED = """
import resource, sys
from agents import load
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
try:
    load(sys.argv[1])
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("claim", ["harmonics", "arms"])
@linux_only
def test_small_files_are_refused_at_once(tmp_path: Path, claim: str) -> None:
    """A setting and a problem that claim any memory, and take none."""
    path, rng = tmp_path / "agent", np.random.default_rng(0)
    find_class("fourier-linucb")(example_problem("arms"), rng, harmonics=2).save(path)
    _, header, _ = contents(path)
    nodes = header["nodes"]
    if claim == "harmonics":
        assert settings_node(header)[2] == [2]
        settings_node(header)[2] = [10**15]
        message = "harmonics is at most 1,000,000,000, got 1000000000000000"
    else:
        nodes[nodes.index(["discrete", 5])][1] = 200_000_000
        message = "at most 100,000 arms, got 200000000"
    rewrite(path, nodes=nodes)
    command = [sys.executable, "-c", LIMITED, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert message in run.stdout, run.stdout + run.stderr


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
