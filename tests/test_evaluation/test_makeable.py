"""What is wrong with an agent or its settings is said before anything is run."""

from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import evaluation
from agents.base import Problem
from agents.registry import AgentSpec
from evaluation.protocol import Protocol
from evaluation.running.makeable import check_settings
from evaluation.running.trainable import check_trainings
from evaluation.specs import ProtocolError

USUAL = """
class Base:
    takes = "arms"
    def __init__(self, problem, rng, window=10, *, decay=0.9): ...
    def act(self, observation): ...

class Whole(Base):
    \"\"\"Has all it needs.\"\"\"
    def update(self, observation, action, reward): ...

class Needy(Whole):
    def __init__(self, problem, rng, size): ...

class Open(Whole):
    def __init__(self, problem, rng, **anything): ...

class Bare:
    def act(self, observation): ...
    def update(self, observation, action, reward): ...

class Alone(Bare):
    def __init__(self, problem): ...

class ByName(Bare):
    def __init__(self, problem, *, rng): ...

def made(problem, rng, width=1): ...

raise RuntimeError("it must not be imported")
"""
START = """
import dataclasses, functools
def act(self, observation): return 0
def update(self, observation, action, reward): ...
def init(self, problem, rng, width=1): ...
class Plain:
    def __init__(self, problem, rng): ...
    def act(self, observation): return 0
    def update(self, observation, action, reward): ...
"""
UNUSUAL = {
    "methods are unpacked": """
        class Mine:
            def __init__(self, problem, rng, width=1): ...
            act, update = act, update
    """,
    "methods are given to the agent": """
        class Mine:
            def __init__(self, problem, rng, width=1):
                self.act, self.update = Plain(problem, rng).act, print
    """,
    "methods come later": """
        class Mine:
            def __init__(self, problem, rng, width=1): ...
        Mine.act, Mine.update = act, update
    """,
    "methods are set by name": """
        class Mine:
            def __init__(self, problem, rng, width=1): ...
        for method in (act, update):
            setattr(Mine, method.__name__, method)
    """,
    "methods are looked up": """
        class Mine:
            def __init__(self, problem, rng, width=1): ...
            def __getattr__(self, name): return functools.partial(globals()[name], self)
    """,
    "methods stand under an if": """
        class Mine:
            def __init__(self, problem, rng, width=1): ...
            if True:
                act, update = act, update
    """,
    "methods are a subclass's gift": """
        class Hook:
            def __init_subclass__(cls): cls.act, cls.update = act, update
        class Mine(Hook):
            def __init__(self, problem, rng, width=1): ...
    """,
    "the maker is assigned": """
        class Mine(Plain):
            __init__ = init
    """,
    "the maker is new": """
        class Mine(Plain):
            def __init__(self, problem, rng, width=1): ...
            def __new__(cls, *given, **settings): return object.__new__(cls)
    """,
    "the maker is there twice": """
        class Mine(Plain):
            def __init__(self): ...
            def __init__(self, problem, rng, width=1): ...
    """,
    "the class is there twice": """
        class Mine: ...
        class Mine(Plain):
            def __init__(self, problem, rng, width=1): ...
    """,
    "the class is wrapped": """
        class Mine(Plain):
            def __init__(self, problem, rng, size, width=1): ...
        Mine = functools.partial(Mine, size=3)
    """,
    "the class is decorated": """
        @dataclasses.dataclass
        class Mine(Plain):
            problem: object
            rng: object
            width: int = 1
    """,
    "two classes share a base": """
        class Left(Plain): ...
        class Right(Plain):
            def __init__(self, problem, rng, width=1): ...
        class Mine(Left, Right): ...
    """,
    "a base has another name there": """
        from other import Mine as Theirs
        class Mine(Theirs):
            def __init__(self, problem, rng, width=1): ...
            def update(self, observation, action, reward): ...
    """,
}


def protocol(tmp_path: Path, *agents: object) -> Protocol:
    (tmp_path / "mine.py").write_text(USUAL)
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
        "mine:made:width=3",
        "gp-ucb",
        "periodic-gp-ucb:time_length_scale=1",
        "ppo:n_steps=8",
    ],
)
def test_what_is_right_is_left_alone(tmp_path: Path, agent: str) -> None:
    check_settings(protocol(tmp_path, agent))


@pytest.mark.parametrize("source", UNUSUAL.values(), ids=UNUSUAL)
@pytest.mark.parametrize("settings", ["", ":width=3"])
def test_what_can_be_made_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, settings: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "other.py").write_text(
        "class Mine:\n    def __init__(self, problem, rng): ...\n    def act(self, seen): ...\n"
    )
    (tmp_path / "odd.py").write_text(START + dedent(source))
    text = f"{tmp_path / 'odd.py'}:Mine{settings}"
    problem = Problem.__new__(Problem)  # these agents look at nothing
    AgentSpec.parse(text).make(problem, np.random.default_rng(0))
    check_settings(protocol(tmp_path, text))


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
