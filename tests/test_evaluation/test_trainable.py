"""training_steps of an agent that cannot be trained: refused before anything is run."""

from pathlib import Path

import pytest

import evaluation
from evaluation.protocol import Protocol
from evaluation.running.trainable import check_trainings
from evaluation.specs import ProtocolError

CODE = """
raise RuntimeError("this file must not be imported to read it")
from elsewhere import Strange


class Weights:
    def act(self, observation): ...
    def update(self, observation, action, reward): ...


class Half(Weights):
    @classmethod
    def train(cls, problem, envs, *, steps, rng, settings): ...


class Whole(Half, object):
    @staticmethod
    def after_training(problem, rng, learned, settings): ...


class Plain(Whole):
    def train(self, problem, envs, *, steps, rng, settings): ...


class Assigned(Weights):
    train = classmethod(print)
    after_training: object = classmethod(print)


class Inherits(Strange):
    pass


@decorated
class Decorated:
    pass


class Sometimes:
    if True:
        def train(): ...
"""


def trained(folder: Path, agent: str) -> Protocol:
    (folder / "mine.py").write_text(CODE)
    name = agent if agent.islower() else f"{folder / 'mine.py'}:{agent}"
    entry = {"name": name, "label": agent, "track": "pretrained", "training_steps": 640}
    envs = ["PeriodicGP-SyntheticDiscrete-v0:horizon=5"]
    return Protocol.from_dict({"envs": envs, "agents": [entry], "seeds": "0:2"})


@pytest.mark.parametrize(
    "agent", ["Whole", "Assigned", "Inherits", "Decorated", "Sometimes", "Nobody", "ppo", "gp-ucb"]
)
def test_what_can_be_trained_or_cannot_be_read_is_left_alone(tmp_path: Path, agent: str) -> None:
    check_trainings(trained(tmp_path, agent))


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        ("Weights", r"'Weights' .* no train\(\) and no after_training\(\); if it was .* elsewhere"),
        ("Half", r"'Half' .* its class has no after_training\(\);"),
        ("Plain", r"train\(\) of 'Plain' must be a @classmethod"),
        ("ucb1", "'ucb1' has training_steps, but ucb1 cannot be trained"),
    ],
)
def test_what_cannot_be_trained_is_refused(tmp_path: Path, agent: str, sentence: str) -> None:
    with pytest.raises(ProtocolError, match=sentence):
        evaluation.run(trained(tmp_path, agent), workers=0)
