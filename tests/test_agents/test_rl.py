"""Generic RL: what networks see, the loop turned inside out, the batch adapter, training."""

import random
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from agents import AgentSpec, Problem, UnknownAgentError
from agents.base import Trainable
from agents.registry import find_class
from agents.rl.view import View
from agents.testing import AgentContract, example_problem, observe
from tests.errors import raises
from tests.test_agents.playing import fresh

torch = pytest.importorskip("torch", reason="needs the extra rl")
pytest.importorskip("stable_baselines3")

from stable_baselines3.common.vec_env import DummyVecEnv  # noqa: E402

import periodic_envs  # noqa: E402, F401 (the adapter is tested on real worlds)
from agents.rl.loop import Loop, OwnGlobalState, WaitingEnv  # noqa: E402
from agents.rl.vec_env import BatchEnv  # noqa: E402
from periodic_envs.vector import AutoresetMode  # noqa: E402 (Gymnasium 1.0 has none)

EXAMPLES = Path(__file__).parents[2] / "examples"
WORLD = "PeriodicGP-SyntheticDiscrete-v0"


# --- what networks see -----------------------------------------------------------------------


def test_view_scales_observations_to_unit_size() -> None:
    view = View(example_problem("finite"), memory=False)
    seen = view(np.stack([observe(0), observe(10)]))
    assert seen.dtype == np.float32
    np.testing.assert_allclose(seen[0], [-1.0, 1.0, 0.0])
    assert (np.abs(seen) <= 1.0).all()
    assert view.space.contains(seen[1])


@pytest.mark.parametrize(("kind", "action"), [("finite", [3]), ("plane", [[0.5, -0.25]])])
def test_view_remembers_the_last_action_and_its_reward(kind: str, action: list) -> None:
    view = View(example_problem(kind), memory=True)
    (before,), (after,) = view(observe(1)[None]), view(observe(1)[None], action, [0.75])
    assert (before[3:] == 0.0).all()
    expected = [0, 0, 0, 1, 0, 0.75] if kind == "finite" else [0.5, -0.25, 0.75]
    np.testing.assert_allclose(after[3:], expected)
    assert view.size == len(after)


# --- the loop --------------------------------------------------------------------------------


def test_loop_passes_rewards_and_observations_on() -> None:
    env = WaitingEnv(spaces.Box(-1, 1, (1,)), spaces.Discrete(9))
    passed = []

    def learn() -> None:
        observation, _ = env.reset()
        for action in range(3):
            passed.append(float(observation[0]))
            observation, reward, *_ = env.step(action)
            passed.append(reward)

    loop = Loop(learn)
    assert [loop.go_on(float(t), np.array([t / 10])) for t in range(3)] == [0, 1, 2]
    with pytest.raises(RuntimeError):
        loop.go_on(3.0, np.array([0.3]))
    assert passed == [0.0, 1.0, 0.1, 2.0, 0.2, 3.0]


def test_own_global_state_leaves_global_generators_alone() -> None:
    def draw() -> tuple[float, ...]:
        return random.random(), np.random.rand(), float(torch.rand(1))  # noqa: NPY002

    with OwnGlobalState(7):
        first, following = draw(), draw()
    with OwnGlobalState(7):
        assert draw() == first
        with OwnGlobalState(8):
            assert draw() != following
        assert draw() == following


@pytest.mark.parametrize(("name", "kind"), [("ppo", "arms"), ("dqn", "arms"), ("td3", "box")])
def test_rl_agents_learn_an_easy_problem_in_one_run(name: str, kind: str) -> None:
    """Arm 3 is far better than the others, or the best place is 0.5; some rewards are lost."""
    agent, rewards = fresh(name, kind), []
    for t in range(300):
        action = agent.act(observe(t % 50))
        rewards.append(float(action == 3) if kind == "arms" else -abs(float(action[0]) - 0.5))
        if t % 20 != 10:
            agent.update(observe(t % 50), action, float("nan") if t % 20 == 5 else rewards[-1])
    assert np.mean(rewards[-60:]) > (0.7 if kind == "arms" else np.mean(rewards[:60]) + 0.1)
    assert agent._model.num_timesteps >= 250


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("ppo:n_step=8", "box", "n_step"),
        ("dqn", "box", "dqn"),
        ("sac", "finite", "sac"),
        ("ppo:memory=maybe", "box", "memory"),
        *(
            (f"ppo:{setting}=1", "box", setting)
            for setting in ("device", "seed", "policy", "env", "verbose")
        ),
    ],
)
def test_rl_agents_refuse_bad_settings(text: str, kind: str, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        fresh(text, kind)


def test_rl_imports_torch_late_and_names_the_missing_extra(tmp_path: Path) -> None:
    """Everything else works without torch."""
    (tmp_path / "torch.py").write_text("raise ImportError('there is no torch')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import numpy as np, evaluation.cli.sweeps, agents.rl.algorithms\n"
        "from agents import make_agent, names, describe\n"
        "from agents.testing import example_problem\n"
        "assert all(describe(name) for name in names())\n"
        "make_agent('gp-ucb', example_problem('box'), np.random.default_rng(0))\n"
        "make_agent('ppo', example_problem('box'), np.random.default_rng(0))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "periodic-gp[rl]" in done.stderr.strip().splitlines()[-1]


# --- the batch adapter -----------------------------------------------------------------------


def worlds(world: str, copies: int, **arguments: Any) -> gym.vector.VectorEnv:
    options = {"vectorization_mode": "vector_entry_point", "autoreset_mode": "SameStep"}
    return gym.make_vec(world, copies, **{**options, **arguments})


@pytest.mark.parametrize(
    "world",
    [WORLD, "PeriodicGP-Contextual-v0", "PeriodicGP-Synthetic-v0"],
)
def test_batch_env_equals_dummy_vec_env(world: str) -> None:
    """Same observations, rewards and ends, over several episodes."""
    ours = BatchEnv(worlds(world, 3, horizon=7))
    theirs = DummyVecEnv([lambda: gym.make(world, horizon=7)] * 3)
    ours.seed(5)
    theirs.seed(5)
    np.testing.assert_allclose(ours.reset(), theirs.reset())
    space = ours.action_space
    space.seed(0)
    for _ in range(20):
        actions = np.stack([space.sample() for _ in range(3)])
        batch, other = ours.step(actions), theirs.step(actions)
        for a, b in zip(batch[:3], other[:3], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        for a, b in zip(batch[3], other[3], strict=True):
            assert set(a) <= {"terminal_observation", "TimeLimit.truncated"}  # no regret
            assert ("terminal_observation" in a) == ("terminal_observation" in b)
            if a:
                np.testing.assert_allclose(a["terminal_observation"], b["terminal_observation"])
                assert a["TimeLimit.truncated"] == b["TimeLimit.truncated"]


def test_batch_env_refuses_what_it_lacks() -> None:
    with pytest.raises(ValueError, match="SameStep"):
        BatchEnv(worlds(WORLD, 2, autoreset_mode="NextStep"))
    adapter = BatchEnv(worlds(WORLD, 2))
    assert adapter.env_is_wrapped(gym.Wrapper) == [False, False]
    assert adapter.get_attr("num_envs") == [2, 2]
    for method in (adapter.set_attr, adapter.env_method):
        with pytest.raises(AttributeError):
            method("x", 1)


# --- training --------------------------------------------------------------------------------


class TwoArms(gym.vector.VectorEnv):
    """Four copies of a world in which the second of two arms is good; episodes of ten steps."""

    num_envs = 4
    single_observation_space = spaces.Box(0.0, 10.0, (1,))
    single_action_space = spaces.Discrete(2)
    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012
    steps = 0

    def __init__(self) -> None:
        self.action_space = spaces.MultiDiscrete([2] * 4)

    def reset(self, *, seed=None, options=None):
        return np.zeros((4, 1), np.float32), {}

    def step(self, actions):
        self.steps += 4
        done = self.steps % 40 == 0
        now = np.full((4, 1), self.steps // 4 % 10, np.float32)
        final = {"final_obs": np.full((4, 1), 10.0)} if done else {}
        over, rewards = np.full(4, done), np.asarray(actions, dtype=np.float64)
        return now, rewards, np.zeros(4, bool), over, final


PROBLEM = Problem(spaces.Discrete(2), TwoArms.single_observation_space, horizon=10)


@pytest.mark.parametrize(
    "text", ["ppo:n_steps=20,batch_size=80", "dqn:learning_starts=40,train_freq=4"]
)
def test_trained_agents_know_the_best_arm_from_the_first_step(text: str) -> None:
    spec, worlds = AgentSpec.parse(text), TwoArms()
    trained = find_class(spec.name)
    assert isinstance(trained, Trainable)
    learned = [
        trained.train(PROBLEM, w, steps=1600, rng=np.random.default_rng(0), settings=spec.settings)
        for w in (worlds, TwoArms())
    ]
    assert worlds.steps <= 1600
    for name in learned[0]:  # deterministic
        np.testing.assert_array_equal(learned[0][name], learned[1][name])
    assert all(array.dtype.kind in "fiub" for array in learned[0].values())
    agent = spec.make(PROBLEM, np.random.default_rng(1), learned[0])
    chosen = [agent.act(np.array([float(t)])) for t in range(10)]
    assert chosen == [1] * 10
    agent.update(np.array([9.0]), 1, 1.0)
    assert agent.act(np.array([5.0])) == 1


def test_training_refuses_too_few_steps_and_untrainable_agents() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="steps"):
        find_class("ppo").train(PROBLEM, TwoArms(), steps=100, rng=rng, settings={})
    with raises(UnknownAgentError, "not-trainable"):
        AgentSpec("random").make(PROBLEM, rng, {"x": np.zeros(1)})


def test_gp_agent_trains_its_hyper_parameters() -> None:
    """It finds those that made the worlds (band of about three times the spread)."""
    one = gym.make(WORLD, noise_std=0.3).unwrapped
    problem = Problem(
        one.action_space,
        one.observation_space,
        observation_fields=one.observation_fields,
        horizon=200,
        periods=(20.0,),
        action_features=one.public.action_features,
    )
    spec = AgentSpec.parse("periodic-gp-ucb:time_length_scale=3,length_scale=3")
    learned = spec.trainable().train(
        problem,
        worlds(WORLD, 8, noise_std=0.3),
        steps=800,
        rng=np.random.default_rng(0),
        settings=spec.settings,
    )
    agent = spec.make(problem, np.random.default_rng(1), learned)
    (term,) = agent.kernel.terms
    for kernel in (*term.actions, *term.clocks):
        assert kernel.length_scale == pytest.approx(1.0, rel=0.25)
    assert (term.clocks[0].period, agent.posterior.count) == (20.0, 0)
    assert agent.posterior.noise_variance == pytest.approx(0.09, rel=0.5)


# --- another library -------------------------------------------------------------------------


def test_example_of_plain_torch_keeps_the_contract() -> None:
    contract = AgentContract()
    contract.problems = ("finite", "arms", "warm")
    contract.make = runpy.run_path(str(EXAMPLES / "torch_agent.py"))["ActorCritic"]
    for name in dir(contract):
        if name.startswith("test_") and "saved" not in name:
            getattr(contract, name)()


def test_example_of_training_plays_both_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["train_ppo.py", "--steps", "3072"])
    names = runpy.run_path(str(EXAMPLES / "train_ppo.py"))
    assert (names["who"], names["truncated"]) == ("choosing at random", True)
