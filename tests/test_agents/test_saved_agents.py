"""Saved agents: whole or not at all, and harmless."""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

import agents.saving
from agents import SavedAgentError, load
from agents.registry import find_class
from agents.testing import example_problem, observe
from tests.errors import raises
from tests.test_agents.playing import fresh


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    agent = fresh("periodic-gp-ucb")
    for t in range(8):
        agent.update(observe(t), agent.act(observe(t)), float(t % 3))
    agent.save(tmp_path / "agent")
    return tmp_path / "agent"


def contents(path: Path) -> tuple[dict[str, str], dict[str, Any], dict[str, np.ndarray]]:
    """The metadata of a file, its header and its arrays."""
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    return metadata, json.loads(metadata["header"]), arrays


def rewrite(path: Path, **changes: Any) -> None:
    """Save the file with other metadata or another header, with a digest that fits."""
    metadata, header, arrays = contents(path)
    for key, value in changes.items():
        (metadata if key in metadata else header)[key] = value
    metadata["header"] = json.dumps(header)
    digest = agents.saving._digest(metadata["header"], arrays)
    metadata["digest"] = changes.get("digest", digest)
    save_file(arrays, path, metadata)


@pytest.mark.parametrize("failure", ["full disk", "attribute"])
def test_failed_save_replaces_nothing(
    saved: Path, failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, agent = saved.read_bytes(), load(saved)
    if failure == "attribute":
        agent.posterior.filter.S = None.__class__
    else:
        monkeypatch.delattr(agents.saving.os, "fsync")
    with pytest.raises((SavedAgentError, AttributeError), match=r"filter\.S|fsync"):
        agent.save(saved)
    assert (saved.read_bytes(), list(saved.parent.iterdir())) == (before, [saved])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"format": "something else"}, "wrong-format"),
        ({"version": "99"}, "wrong-version"),
        *(
            ({"agent": name}, "unknown-agent")
            for name in ("os:system", "evil.py:Agent", "ucb1", "ppo")
        ),
        ({"nodes": []}, "damaged-file"),
        ({"nodes": [["evil"]]}, "damaged-file"),
        ({"digest": "0"}, "damaged-file"),
    ],
    ids=str,
)
def test_load_refuses_wrong_contents(saved: Path, changes: dict[str, Any], code: str) -> None:
    rewrite(saved, **changes)
    with raises(SavedAgentError, code):
        load(saved)


def test_load_takes_the_class_of_an_unregistered_agent(tmp_path: Path) -> None:
    class Own(find_class("gp-ucb")):
        """Not registered, though its parent is."""

    Own(example_problem("finite"), np.random.default_rng(0)).save(tmp_path / "own")
    with raises(SavedAgentError, "unknown-agent"):
        load(tmp_path / "own")
    assert type(load(tmp_path / "own", agent_class=Own)) is Own


def test_save_refuses_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fresh("random", "box").save(tmp_path / "no" / "agent")
    assert list(tmp_path.iterdir()) == []


def test_load_refuses_other_files(saved: Path) -> None:
    whole = saved.read_bytes()
    with raises(SavedAgentError, "file-not-found"):
        load(saved.with_name("nothing"))
    for content, code in (
        *((part, "wrong-format") for part in (b"hello", whole[:5], whole[:8], whole[:100])),
        *((part, "damaged-file") for part in (b"", whole[:-1])),
    ):
        saved.write_bytes(content)
        with raises(SavedAgentError, code):
            load(saved)


def test_load_bounds_sizes(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = saved.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    claim = whole[8 : 8 + size].replace(b'"shape":[5', b'"shape":[9')
    saved.write_bytes(whole[:8] + claim + whole[8 + size :])
    with raises(SavedAgentError, "damaged-file"):
        load(saved)
    saved.write_bytes(whole)
    for name, code in (("MAX_HEADER_BYTES", "wrong-format"), ("MAX_BYTES", "file-too-large")):
        monkeypatch.setattr(agents.saving, name, 1000)
        with raises(SavedAgentError, code):
            load(saved)


def test_load_refuses_settings_that_claim_memory(tmp_path: Path) -> None:
    """Problems that claim it are refused by the objects."""
    fresh("fourier-linucb:harmonics=2", "arms").save(tmp_path / "agent")
    nodes = contents(tmp_path / "agent")[1]["nodes"]
    (settings_node,) = nodes[0][2]["_settings"]
    nodes[settings_node][2] = [10**15]
    rewrite(tmp_path / "agent", nodes=nodes)
    with raises(SavedAgentError, "damaged-file"):
        load(tmp_path / "agent")


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(place=st.floats(0, 1), garbage=st.binary(min_size=1, max_size=40))
def test_load_survives_damage_anywhere(saved: Path, place: float, garbage: bytes) -> None:
    """A file with some bytes overwritten is an agent or a clear error."""
    whole = saved.read_bytes()
    start, other = int(place * (len(whole) - 1)), saved.with_suffix(".damaged")
    other.write_bytes(whole[:start] + garbage + whole[start + len(garbage) :])
    with contextlib.suppress(SavedAgentError):
        load(other)
