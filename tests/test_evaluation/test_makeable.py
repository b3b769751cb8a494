"""What is wrong with an agent or its settings is said before anything is run."""

from pathlib import Path

import pytest

import evaluation
from evaluation.protocol.entries import ProtocolError
from evaluation.protocol.protocol import Protocol
from evaluation.running.makeable import check_settings
from evaluation.running.trainable import check_trainings

MODULE = """
import functools
from somewhere import Elsewhere

class Base:
    def __init__(self, problem, rng, window=10, *, decay=0.9): ...
    def act(self, observation): ...

class Whole(Base):
    def update(self, observation, action, reward): ...

class Needy(Whole):
    def __init__(self, problem, rng, size): ...

class Open(Whole):
    def __init__(self, problem, rng, **anything): ...

class Foreign(Elsewhere):
    pass

class Dynamic:
    def __new__(cls, problem, rng): ...
    def __getattr__(self, name): ...

class Conditional:
    if True:
        def act(self, observation): ...

class Bare:
    def act(self, observation): ...
    def update(self, observation, action, reward): ...

class Alone(Bare):
    def __init__(self, problem): ...

class ByName(Bare):
    def __init__(self, problem, *, rng): ...

class HandedOn:
    def __init__(self, *given): ...

class Patched:
    def act(self, observation): ...

Patched.update = made

class Wrapped:
    pass

Wrapped = functools.partial(Wrapped)

class Unpacked(HandedOn):
    act, update = made, made

def made(problem, rng, width=1): ...

raise RuntimeError("it must not be imported")
"""


def protocol(tmp_path: Path, *agents: object) -> Protocol:
    (tmp_path / "mine.py").write_text(MODULE)
    place = f"{tmp_path / 'mine.py'}:"
    return Protocol.from_dict(
        {
            "name": "one",
            "envs": ["PeriodicGP-SyntheticDiscrete-v0"],
            "agents": [a.replace("mine:", place) if isinstance(a, str) else a for a in agents],
            "seeds": "0:1",
        }
    )


@pytest.mark.parametrize(
    "agent",
    [
        "mine:Whole",
        "mine:Whole:window=3,decay=0.5",
        "mine:Needy:size=3",
        "mine:Open:anything=3",
        "mine:Foreign:anything=3",
        "mine:Dynamic",
        "mine:Conditional",
        "mine:Patched",
        "mine:Wrapped",
        "mine:Unpacked",
        "mine:made:width=3",
        "gp-ucb",
        "periodic-gp-ucb:time_length_scale=1",
        "ppo:n_steps=8",
    ],
)
def test_what_is_right_or_cannot_be_read_is_left_alone(tmp_path: Path, agent: str) -> None:
    check_settings(protocol(tmp_path, agent))


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        ("mine:Whole:windw=3", "there is no setting 'windw' of .*; did you mean 'window'?"),
        ("mine:Whole:dcay=3", "did you mean 'decay'?"),
        ("mine:Needy", "Needy needs a setting: .*Needy:size=..."),
        ("mine:Base", r"has no update\(\); an agent has act\(\) and update\(\)"),
        ("mine:Bare", r"Bare' cannot be made: .*def __init__\(self, problem, rng\)"),
        ("mine:Alone", "cannot be made"),
        ("mine:ByName", "cannot be made"),
        ("gp-ucb:lenth_scale=1", "of gp-ucb; did you mean 'length_scale'?"),
    ],
)
def test_what_is_wrong_is_refused(tmp_path: Path, agent: str, sentence: str) -> None:
    with pytest.raises(ProtocolError, match=sentence):
        check_settings(protocol(tmp_path, agent))
    with pytest.raises(ProtocolError, match=sentence):
        evaluation.run(protocol(tmp_path, agent), workers=0)


def test_who_is_made_by_its_training_needs_no_other_maker(tmp_path: Path) -> None:
    entry = {"name": f"{tmp_path / 'mine.py'}:Bare", "track": "pretrained", "training_steps": 9}
    check_settings(protocol(tmp_path, entry))


@pytest.mark.parametrize("name", ["ppo", "ppo:n_steps=8"])
def test_who_learned_nothing_is_not_pretrained(tmp_path: Path, name: str) -> None:
    entry = {"name": name, "track": "pretrained"}
    with pytest.raises(ProtocolError, match="give it training_steps, or leave track out"):
        check_trainings(protocol(tmp_path, entry))
    check_trainings(protocol(tmp_path, {"name": "gp-ucb:noise_std=0.2", "track": "pretrained"}))
