"""Protocols, checked before anything is run."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from agents.registry import online_names
from evaluation import protocol as protocols
from evaluation.limits import Limits
from evaluation.protocol import Protocol
from evaluation.runs import runs_of
from evaluation.specs import TRAINING_SEED, ProtocolError, agent_entry, parse_seeds
from tests.errors import raises

TABLE = {
    "name": "two",
    "description": "two of each",
    "envs": [
        "PeriodicGP-Synthetic-v0:horizon=20",
        {"id": "PeriodicGP-Madrid-v0", "arguments": {"stations": [4, 8]}, "group": "Madrid"},
    ],
    "agents": [
        "gp-ucb",
        {"name": "periodic-gp-ucb", "settings": {"beta": "constant:2"}, "label": "P"},
    ],
    "seeds": "0:3",
    "horizon": 50,
    "limits": {"seconds": 7, "memory_mb": 100},
}
TRAINED = {"name": "ppo", "track": "pretrained", "training_steps": 10}


def test_protocol_round_trips() -> None:
    protocol = Protocol.from_dict(TABLE)
    again = Protocol.from_dict(json.loads(json.dumps(protocol.to_dict())))
    assert again == protocol
    assert again.hash == protocol.hash
    assert protocol.limits == Limits(7, 100)
    assert [entry.label for entry in protocol.agents] == ["gp-ucb", "P"]
    entries = [(entry.label, entry.group) for entry in protocol.envs]
    assert entries == [(TABLE["envs"][0],) * 2, ("PeriodicGP-Madrid-v0:stations=[4,8]", "Madrid")]


def test_protocol_puts_priors_in_the_pretrained_track() -> None:
    prior = {"name": "auto-gp-ucb", "settings": {"prior": "madrid"}}
    place = "agents.auto.auto_gp_ucb:AutoGPUCB:prior=some.json"
    for entry in ("auto-gp-ucb:prior=madrid", place, prior, {**prior, "track": "pretrained"}):
        assert agent_entry(entry).track == "pretrained", entry
    protocol = Protocol.from_dict(TABLE).restricted(agents=["auto-gp-ucb:prior=madrid", "gp-ucb"])
    assert [entry.track for entry in protocol.agents] == ["pretrained", "online"]
    for entry in ("auto-gp-ucb", "auto-gp-ucb:prior=none", "nowhere.py:Agent:prior=madrid"):
        assert agent_entry(entry).track == "online", entry


def test_hash_covers_all_but_names(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = Protocol.from_dict(TABLE)
    named = {"name": "other", "description": "else"}
    assert Protocol.from_dict({**TABLE, **named}).hash == protocol.hash
    other = [
        {"seeds": "0:4"},
        {"horizon": 51},
        {"envs": TABLE["envs"][:1]},
        {"agents": TABLE["agents"][:1]},
        {"limits": {"seconds": 8}},
    ]
    assert len({Protocol.from_dict({**TABLE, **c}).hash for c in other} | {protocol.hash}) == 6
    monkeypatch.setattr("periodic_envs.WORLDS_VERSION", "99.0")
    assert Protocol.from_dict(TABLE).hash != protocol.hash


def test_hash_and_keys_cover_the_data(
    imported_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def identifiers() -> set[str]:
        protocol = Protocol.from_dict(TABLE)
        return {protocol.hash, *(run.key for run in runs_of(protocol) if "Madrid" in run.env)}

    simulated = identifiers()
    monkeypatch.setenv("PERIODIC_GP_DATA", str(imported_folder))
    assert simulated.isdisjoint(identifiers())


@pytest.mark.parametrize("name", protocols.names())
@pytest.mark.usefixtures("peers")
def test_protocols_of_the_package_have_runs(name: str) -> None:
    protocol = Protocol.load(name)
    assert protocol.description
    assert runs_of(replace(protocol, seeds=(0,)))


def test_protocol_madrid_2018_has_24_windows(madrid: Path) -> None:
    protocol = Protocol.load("madrid-2018")
    assert len(protocol.envs) == 24
    assert {entry.group for entry in protocol.envs} == {"Madrid 2018, max", "Madrid 2018, min"}
    assert len(set(protocol.data_fingerprints.values())) == 24


def test_protocol_flights_has_two_windows_per_month() -> None:
    protocol = Protocol.load("flights")
    groups = [entry.group for entry in protocol.envs]
    assert Counter(groups) == {"Flights 2013, ten days": 12, "Flights 2013, four weeks": 12}
    horizons = Counter(setup.horizon for setup in protocol.setups.values())
    assert horizons == {192: 12, 624: 12}
    months = [entry.spec.arguments["start"][:7] for entry in protocol.envs]
    assert set(Counter(months).values()) == {2}
    assert len(set(protocol.data_fingerprints.values())) == 24


def test_protocol_horizon_is_a_default() -> None:
    protocol = Protocol.from_dict(TABLE)
    assert protocol.arguments(protocol.envs[0])["horizon"] == 20  # its own
    assert protocol.arguments(protocol.envs[1])["horizon"] == 50
    long = Protocol.from_dict({**TABLE, "horizon": 100_000, "envs": TABLE["envs"][1:]})
    assert long.arguments(long.envs[0])["horizon"] == 192  # the length of the data


def test_runs_of_replayed_worlds_have_one_seed(madrid: Path) -> None:
    runs = runs_of(Protocol.from_dict(TABLE))
    assert {c.seed for c in runs if c.env.startswith("PeriodicGP-Madrid")} == {0}
    assert {c.seed for c in runs if c.env.startswith("PeriodicGP-Synth")} == {0, 1, 2}


def test_protocol_is_restricted() -> None:
    protocol = Protocol.from_dict(TABLE).restricted(agents=["P", "random"], seeds=[7])
    assert [str(entry.spec) for entry in protocol.agents] == [
        "periodic-gp-ucb:beta=constant:2",
        "random",
    ]
    assert protocol.seeds == (7,)


def test_protocol_expands_online() -> None:
    alone = Protocol.from_dict({**TABLE, "agents": "online"})
    assert [agent.label for agent in alone.agents] == online_names()
    assert not {"ppo", "sac"} & set(online_names())
    extra = "periodic-gp-ucb:time_length_scale=1"
    several = Protocol.from_dict({**TABLE, "agents": ["online", extra]})
    assert [agent.label for agent in several.agents] == [*online_names(), extra]
    assert several.agents == alone.restricted(agents=["online", extra]).agents
    with raises(ProtocolError, "repeated-label"):
        Protocol.from_dict({**TABLE, "agents": ["online", "gp-ucb"]})
    assert Protocol.load("standard").agents == several.agents


LOAD_ALL = """
import sys
from evaluation.specs import MissingPackageError
from evaluation.protocol import Protocol, names
for name in names():
    try:
        Protocol.load(name)
    except MissingPackageError:
        assert name == "peers"
print(*sorted(sys.modules))
"""


def test_protocol_loads_without_agents() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD_ALL], capture_output=True, text=True, check=True
    )
    modules = set(done.stdout.split())
    assert "agents.registry" in modules
    unused = {"periodic_envs", "torch", "scipy", "stable_baselines3"}
    assert not modules & {*unused, "agents.zoo", "agents.gp", "agents.auto", "agents.rl"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"sedes": "0:3"}, "invalid-table"),
        ({"envs": []}, "empty-list"),
        ({"envs": "x"}, "invalid-table"),
        ({"envs": ["PeriodicGP-Synthetic-v0"] * 2}, "repeated-label"),
        ({"envs": [{"id": "x", "args": {}}]}, "invalid-table"),
        ({"envs": ["PeriodicGP-Synth-v0"]}, "unknown-environment"),
        ({"envs": ["PeriodicGP-Synthetic-v0:perod=3"]}, "invalid-argument"),
        ({"envs": [3]}, "invalid-table"),
        ({"agents": ["gp-ubc"]}, "unknown-agent"),
        ({"agents": [{"name": "random", "track": "fast"}]}, "unknown-track"),
        ({"agents": [{"name": "auto-gp-ucb:prior=madrid", "track": "online"}]}, "wrong-track"),
        ({"agents": [{"name": "ppo", "training_steps": 10}]}, "wrong-track"),
        ({"agents": [{**TRAINED, "training_steps": -1}]}, "invalid-table"),
        ({"agents": [TRAINED], "seeds": [TRAINING_SEED]}, "reserved-seeds"),
        ({"agents": [{"name": "random", "envs": ["elsewhere"]}]}, "unknown-environment"),
        ({"agents": ["random", {"name": "random"}]}, "repeated-label"),
        ({"agents": [{"name": "random", "label": "oracle"}]}, "reserved-label"),
        ({"seeds": "0:99999999999999999999"}, "invalid-seeds"),
        ({"seeds": "a:b"}, "invalid-seeds"),
        ({"seeds": [-1]}, "invalid-seeds"),
        ({"seeds": [1, 1]}, "repeated-label"),
        ({"seeds": "5:5"}, "invalid-seeds"),
        ({"horizon": 0}, "invalid-table"),
        ({"limits": {"seconds": 0}}, "invalid-table"),
        ({"limits": {"minutes": 1}}, "invalid-table"),
        ({"name": 3}, "invalid-table"),
    ],
)
def test_protocol_rejects_bad_fields(change: dict, code: str) -> None:
    with raises(ProtocolError, code):
        runs_of(Protocol.from_dict({**TABLE, **change}))


def test_protocol_is_loaded_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('envs = ["PeriodicGP-Synthetic-v0"]\nagents = ["random"]\nseeds = [3, 5]\n')
    protocol = Protocol.load(path)
    assert (protocol.name, protocol.seeds) == ("mine", (3, 5))
    for damaged in (b"envs = [", b"\xff\xfe"):
        path.write_bytes(damaged)
        with raises(ProtocolError, "invalid-toml"):
            Protocol.load(path)


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("0:3", (0, 1, 2)), ("7", (7,)), ("1,4,9", (1, 4, 9)), ([2], (2,))],
)
def test_parse_seeds(text: object, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds
