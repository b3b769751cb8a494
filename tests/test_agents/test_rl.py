"""Generic RL: what networks see, the loop turned inside out, the batch adapter, training."""

import random
import re
import runpy
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from agents import AgentSpec, Problem, UnknownAgentError, make_agent
from agents.base import Trainable
from agents.registry import find_class
from agents.rl.view import MAX_SCALED_REWARD, RunningRewardScale, View
from agents.testing import AgentContract, example_problem, example_reward, observe

torch = pytest.importorskip("torch", reason="needs the extra rl")
pytest.importorskip("stable_baselines3")

from stable_baselines3.common.vec_env import DummyVecEnv  # noqa: E402

import periodic_envs  # noqa: E402, F401 (the adapter is tested on real worlds)
from agents.rl.loop import Loop, OwnGlobalState, WaitingEnv  # noqa: E402
from agents.rl.vec_env import BatchEnv  # noqa: E402
from periodic_envs.vector import AutoresetMode  # noqa: E402 (Gymnasium 1.0 has none)

EXAMPLES = Path(__file__).parents[2] / "examples"


# --- what networks see -----------------------------------------------------------------------


def test_observations_are_brought_to_unit_size() -> None:
    view = View(example_problem("finite"), memory=False)
    seen = view(np.stack([observe(0), observe(10)]))
    assert seen.dtype == np.float32
    np.testing.assert_allclose(seen[0], [-1.0, 1.0, 0.0])
    assert (np.abs(seen) <= 1.0).all()
    assert view.space.contains(seen[1])


@pytest.mark.parametrize(("kind", "action"), [("finite", [3]), ("plane", [[0.5, -0.25]])])
def test_memory_is_the_last_action_and_its_reward(kind: str, action: list) -> None:
    view = View(example_problem(kind), memory=True)
    (before,), (after,) = view(observe(1)[None]), view(observe(1)[None], action, [0.75])
    assert (before[3:] == 0.0).all()
    expected = [0, 0, 0, 1, 0, 0.75] if kind == "finite" else [0.5, -0.25, 0.75]
    np.testing.assert_allclose(after[3:], expected)
    assert view.size == len(after)


def test_rewards_are_scaled_by_what_was_seen() -> None:
    rewards = np.random.default_rng(0).gamma(2.0, 30.0, 300)
    scale = RunningRewardScale()
    for part in np.split(rewards, [1, 5, 100]):
        scale.update(part)
    expected = (rewards - rewards.mean()) / rewards.std()
    np.testing.assert_allclose(
        scale(rewards), np.clip(expected, -MAX_SCALED_REWARD, MAX_SCALED_REWARD)
    )
    other = RunningRewardScale()
    other.state = scale.state
    assert other(50.0) == scale(50.0)
    assert RunningRewardScale()(3.0) == 3.0


# --- the loop --------------------------------------------------------------------------------


def test_the_loop_is_a_conversation() -> None:
    env = WaitingEnv(spaces.Box(-1, 1, (1,)), spaces.Discrete(9))
    told = []

    def learn() -> None:
        observation, _ = env.reset()
        for action in range(3):
            told.append(float(observation[0]))
            observation, reward, *_ = env.step(action)
            told.append(reward)

    loop = Loop(learn)
    assert [loop.go_on(float(t), np.array([t / 10])) for t in range(3)] == [0, 1, 2]
    with pytest.raises(RuntimeError, match="the learning loop has ended"):
        loop.go_on(3.0, np.array([0.3]))
    assert told == [0.0, 1.0, 0.1, 2.0, 0.2, 3.0]


def test_global_random_numbers_are_left_alone() -> None:
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    expected = random.random(), np.random.rand(), float(torch.rand(1))  # noqa: NPY002
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    quarters = OwnGlobalState(7)
    with quarters:
        inside = float(torch.rand(1))
    assert (random.random(), np.random.rand(), float(torch.rand(1))) == expected  # noqa: NPY002
    with OwnGlobalState(7):
        assert float(torch.rand(1)) == inside


@pytest.mark.parametrize("name", ["ppo", "dqn"])
def test_one_life_is_enough_for_an_easy_problem(name: str) -> None:
    """Five arms, one far better than the others: after 300 steps most choices are right."""
    problem = example_problem("arms")
    agent = make_agent(name, problem, np.random.default_rng(0))
    chosen = []
    for t in range(300):
        action = agent.act(observe(t % 50))
        agent.update(observe(t % 50), action, float(action == 3))
        chosen.append(action)
    assert np.mean(np.array(chosen[-50:]) == 3) > 0.7


@pytest.mark.parametrize("name", ["ppo", "dqn", "sac"])
def test_a_lost_reward_does_not_end_learning(name: str) -> None:
    problem = example_problem("box" if name == "sac" else "finite")
    agent = make_agent(name, problem, np.random.default_rng(0))
    for t in range(60):
        action = agent.act(observe(t))
        reward = float("nan") if t % 20 == 5 else 1.0
        if t % 20 != 10:  # some are never told
            agent.update(observe(t), action, reward)
    assert agent._model.num_timesteps >= 50


@pytest.mark.parametrize("name", ["sac", "td3", "a2c"])
def test_one_life_is_enough_for_an_easy_line(name: str) -> None:
    """The reward falls with the distance to 0.5: later choices are better than the first ones."""
    agent = make_agent(name, example_problem("box"), np.random.default_rng(0))
    gained = []
    for t in range(300):
        action = agent.act(observe(t % 50))
        gained.append(-abs(float(action[0]) - 0.5))
        agent.update(observe(t % 50), action, gained[-1])
    assert np.mean(gained[-60:]) > np.mean(gained[:60]) + 0.1


def test_settings_are_checked() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(UnknownAgentError, match="ppo has no setting 'n_step'; it takes memory"):
        make_agent("ppo:n_step=8", example_problem("box"), rng)
    with pytest.raises(ValueError, match="dqn is for finitely many actions"):
        make_agent("dqn", example_problem("box"), rng)
    with pytest.raises(ValueError, match="sac is for a box"):
        make_agent("sac", example_problem("finite"), rng)
    with pytest.raises(ValueError, match="memory is true or false"):
        make_agent("ppo:memory=maybe", example_problem("box"), rng)
    for reserved in ("device=cpu", "seed=3", "policy=MlpPolicy", "env=x", "verbose=1"):
        with pytest.raises(UnknownAgentError, match="ppo has no setting"):
            make_agent(f"ppo:{reserved}", example_problem("box"), rng)
    assert make_agent("dqn:tau=0.5", example_problem("finite"), rng)._model.batch_size == 32
    agent = make_agent("ppo:n_steps=8,batch_size=8,net=[4]", example_problem("box"), rng)
    assert agent._model.n_steps == 8
    assert agent._model.gamma == 0.0


def test_without_the_extra_it_is_said_in_a_sentence(tmp_path: Path) -> None:
    """Everything else works without torch."""
    (tmp_path / "torch.py").write_text("raise ImportError('there is no torch')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import numpy as np, evaluation.cli.sweeps\n"
        "from agents import make_agent, names, describe\n"
        "from agents.testing import example_problem\n"
        "assert all(describe(name) for name in names())\n"
        "make_agent('gp-ucb', example_problem('box'), np.random.default_rng(0))\n"
        "make_agent('ppo', example_problem('box'), np.random.default_rng(0))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith(
        "this agent needs torch and stable-baselines3, which come with periodic-gp[rl]: "
        'in the project, pip install -c constraints.txt -e ".[rl]"'
    )


def test_torch_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, evaluation.cli.sweeps, agents.rl.algorithms; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# --- the batch adapter -----------------------------------------------------------------------


def batch(world: str, copies: int, **arguments) -> BatchEnv:
    options = {"vectorization_mode": "vector_entry_point", "autoreset_mode": "SameStep"}
    return BatchEnv(gym.make_vec(world, copies, **options, **arguments))


@pytest.mark.parametrize(
    "world",
    ["PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-Contextual-v0", "PeriodicGP-Synthetic-v0"],
)
def test_the_adapter_equals_dummy_vec_env(world: str) -> None:
    """Same observations, rewards and ends, over several episodes."""
    ours = batch(world, 3, horizon=7)
    theirs = DummyVecEnv([lambda: gym.make(world, horizon=7)] * 3)
    ours.seed(5)
    theirs.seed(5)
    np.testing.assert_allclose(ours.reset(), theirs.reset())
    space = ours.action_space
    space.seed(0)
    for _ in range(20):
        actions = np.stack([space.sample() for _ in range(3)])
        mine, other = ours.step(actions), theirs.step(actions)
        for a, b in zip(mine[:3], other[:3], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        for a, b in zip(mine[3], other[3], strict=True):
            assert set(a) <= {"terminal_observation", "TimeLimit.truncated"}  # no regret
            assert ("terminal_observation" in a) == ("terminal_observation" in b)
            if a:
                np.testing.assert_allclose(a["terminal_observation"], b["terminal_observation"])
                assert a["TimeLimit.truncated"] == b["TimeLimit.truncated"]


def test_memory_begins_anew_with_an_episode() -> None:
    world, options = "PeriodicGP-SyntheticDiscrete-v0", {"autoreset_mode": "SameStep"}
    envs = gym.make_vec(world, 2, vectorization_mode="vector_entry_point", horizon=3, **options)
    problem = Problem(spaces.Discrete(50), envs.single_observation_space)
    adapter = BatchEnv(envs, view=View(problem, memory=True), scale=RunningRewardScale())
    adapter.seed(0)
    fields = envs.single_observation_space.shape[0]
    assert (adapter.reset()[:, fields:] == 0).all()
    for step in range(3):
        seen, _, done, infos = adapter.step(np.array([4, 9]))
        remembered = seen if step < 2 else np.stack([i["terminal_observation"] for i in infos])
        assert remembered[0, fields + 4] == remembered[1, fields + 9] == 1.0
    assert done.all()
    assert (seen[:, fields:] == 0).all()


def test_other_ways_of_starting_anew_are_refused() -> None:
    envs = gym.make_vec(
        "PeriodicGP-SyntheticDiscrete-v0", 2, vectorization_mode="vector_entry_point"
    )
    with pytest.raises(ValueError, match="autoreset_mode=\"SameStep\", got 'NextStep'"):
        BatchEnv(envs)
    adapter = batch("PeriodicGP-SyntheticDiscrete-v0", 2)
    assert adapter.env_is_wrapped(gym.Wrapper) == [False, False]
    assert adapter.get_attr("num_envs") == [2, 2]
    with pytest.raises(AttributeError, match="no attributes of their own"):
        adapter.set_attr("x", 1)
    with pytest.raises(AttributeError, match="no methods of their own"):
        adapter.env_method("x")


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
def test_what_is_trained_is_known_from_the_first_step(text: str) -> None:
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


def test_too_small_a_budget_is_refused() -> None:
    with pytest.raises(ValueError, match="100 steps are too few for one round of ppo"):
        find_class("ppo").train(
            PROBLEM, TwoArms(), steps=100, rng=np.random.default_rng(0), settings={}
        )


def test_agents_that_cannot_be_trained_say_so() -> None:
    with pytest.raises(UnknownAgentError, match=r"random cannot be trained: it has no train\(\)"):
        AgentSpec("random").make(PROBLEM, np.random.default_rng(0), {"x": np.zeros(1)})


def test_a_gp_agent_trains_its_hyper_parameters() -> None:
    """What it learns is what made the worlds (band of about three times the spread)."""
    world = "PeriodicGP-SyntheticDiscrete-v0"
    options = {"vectorization_mode": "vector_entry_point", "autoreset_mode": "SameStep"}
    envs = gym.make_vec(world, 8, noise_std=0.3, **options)
    one = gym.make(world, noise_std=0.3).unwrapped
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
        problem, envs, steps=1600, rng=np.random.default_rng(0), settings=spec.settings
    )
    agent = spec.make(problem, np.random.default_rng(1), learned)
    (term,) = agent.kernel.terms
    assert term.actions[0].length_scale == pytest.approx(1.0, rel=0.25)
    assert term.clocks[0].length_scale == pytest.approx(1.0, rel=0.25)
    assert term.clocks[0].period == 20.0
    assert agent.posterior.noise_variance == pytest.approx(0.09, rel=0.5)
    assert agent.posterior.count == 0


# --- another library -------------------------------------------------------------------------


def test_a_single_file_agent_of_plain_torch() -> None:
    found = runpy.run_path(str(EXAMPLES / "torch_agent.py"))["ActorCritic"]
    problems = ("finite", "arms", "warm")
    contract = type("Contract", (AgentContract,), {"problems": problems})()
    contract.make = found
    for name in dir(contract):
        if name.startswith("test_") and "saved" not in name:
            getattr(contract, name)()
    problem = example_problem("finite")
    agent = found(problem, np.random.default_rng(0))
    gained = []
    for t in range(600):
        action = agent.act(observe(t % 50))
        gained.append(example_reward("finite", action, t % 50))
        agent.update(observe(t % 50), action, gained[-1])
    assert np.mean(gained[-100:]) > np.mean(gained[:100])


def test_the_example_of_training(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is short, and it runs (here with a small budget)."""
    code = compile((EXAMPLES / "train_ppo.py").read_text(), "train_ppo.py", "exec")
    lines = (EXAMPLES / "train_ppo.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 40
    monkeypatch.setattr("sys.argv", ["train_ppo.py", "--help"])
    with pytest.raises(SystemExit, match="0"):
        exec(code, {"__doc__": ""})
    assert "(100000)" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["train_ppo.py", "--steps", "3072"])
    exec(code, {})
    out = capsys.readouterr().out
    for who in ("PPO", "choosing at random"):
        assert re.search(rf"regret of {who} over twelve days: [\d,]+", out)
