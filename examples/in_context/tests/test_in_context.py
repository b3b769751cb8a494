"""Tests of in-context-ucb: prior, network in NumPy and torch, weights, and episodes."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from periodic_in_context.agent import InContextUCB
from periodic_in_context.batches import Batch, draw_batch
from periodic_in_context.behaviour import live
from periodic_in_context.network import Network, Reader
from periodic_in_context.prior import _fading, _season, draw_world
from periodic_in_context.relations import arm_relations, time_relations
from periodic_in_context.tokens import FIRST_SCALE, MAX_SCALED_REWARD
from periodic_in_context.weights import (
    MAX_BYTES,
    SHIPPED,
    WeightsError,
    flattened,
    read_weights,
    unflattened,
    write_weights,
)

import periodic_envs  # noqa: F401 (registers the worlds for training)
from agents import AgentSpec, Experience, load, make_agent
from agents.base import MAX_REWARD, Trainable
from agents.testing import example_problem, example_reward, observe


def agent_for(kind: str = "finite", seed: int = 0, **settings: object) -> InContextUCB:
    return InContextUCB(example_problem(kind), np.random.default_rng(seed), **settings)


# --- training data ---------------------------------------------------------------------------


def test_a_season_repeats_and_what_fades_does_not() -> None:
    rng = np.random.default_rng(0)
    season = _season(rng, np.eye(300), 48, 12.0)
    np.testing.assert_allclose(season[:12], season[12:24], atol=1e-9)
    assert season.std() == pytest.approx(1.0, abs=0.1)  # at least 4 standard errors for 300 arms
    fading = _fading(rng, np.eye(300), 400)
    assert fading[0].std() == pytest.approx(1.0, abs=0.2)
    assert fading[-1].std() == pytest.approx(1.0, abs=0.2)


def test_worlds_are_of_many_kinds_and_finite() -> None:
    rng = np.random.default_rng(0)
    draws = [draw_world(rng, 7, 50) for _ in range(200)]
    for draw in draws:
        assert draw.mean.shape == draw.noise.shape == (50, 7)
        assert np.isfinite(draw.mean).all()
        assert (draw.noise >= 0).all()
    for told in ("features", "period", "known_noise"):
        assert 0 < sum(getattr(draw, told) is None for draw in draws) < 200, told
    assert 0 < sum(draw.known_scale for draw in draws) < 200


def test_who_makes_the_histories_sees_rewards_only() -> None:
    """Choices and rewards stay the same if the means of all arms that were not chosen change."""
    rng = np.random.default_rng(3)
    draws = [draw_world(rng, 6, 60) for _ in range(8)]
    lives = live(np.random.default_rng(1), draws)
    changed = []
    for draw, life in zip(draws, lives, strict=True):
        mean = draw.mean + 5.0 + rng.standard_normal(draw.mean.shape)
        chosen = np.arange(60), life.arms
        mean[chosen] = draw.mean[chosen]
        best = np.arange(life.warm)  # a warm start may use the best arms, and is marked
        mean[best] = draw.mean[best]
        changed.append(replace(draw, mean=mean))
    again = live(np.random.default_rng(1), changed)
    assert any(life.warm for life in lives)
    for life, same in zip(lives, again, strict=True):
        np.testing.assert_array_equal(life.arms, same.arms)
        np.testing.assert_array_equal(life.rewards, same.rewards)


def test_a_batch_asks_about_what_is_not_known_yet() -> None:
    batch = draw_batch(np.random.default_rng(0), 4)
    lives, steps = batch.rewards.shape
    assert batch.content.shape[:2] == batch.arms.shape == batch.times.shape
    np.testing.assert_array_equal(batch.times[:, steps:], batch.counts)
    assert (batch.content[:, steps:, :3] == 0.0).all()  # queries contain no reward
    assert (batch.content[:, :steps, 1] == 1.0).all()
    assert np.abs(batch.targets).max() <= MAX_SCALED_REWARD
    assert lives == 4


def test_relations_are_zero_for_the_same_and_fall() -> None:
    places = np.linspace(0.0, 10.0, 5)[:, None]
    for features in (None, places):
        table = arm_relations(5, features)
        assert (table[np.arange(5), np.arange(5)] == 0.0).all()
        assert (table <= 0.0).all()
        assert table[0, 1].sum() < 0.0
    assert (np.diff(arm_relations(5, places)[0, :, 4]) < 0).all()
    lags = time_relations(np.array([0.0, 12.0, 24.0]), 24.0)
    assert (lags[0] == 0.0).all()
    np.testing.assert_allclose(lags[2, 4:], 0.0, atol=1e-6)  # the phase is equal one day later
    assert lags[1, 4] == -2.0
    assert (time_relations(np.arange(5.0), None)[:, 3:] == 0.0).all()


# --- the network -----------------------------------------------------------------------------


def answers_of(batch: Batch, life: int, weights: dict) -> tuple[np.ndarray, np.ndarray]:
    """Return answers to all queries of an episode by the network in NumPy, step by step."""
    steps = batch.rewards.shape[1]
    reader = Reader(Network(weights), batch.arm_table[life], 12.0, steps)
    found = np.zeros((2, batch.counts.shape[1]))
    for q in np.argsort(batch.counts[life], kind="stable"):
        while reader.count < batch.counts[life, q]:
            i = reader.count
            token, reward = batch.content[life, i], float(batch.rewards[life, i])
            reader.read(token, int(batch.arms[life, i]), float(i), reward)
        t = float(batch.times[life, steps + q])
        mean, deviation = reader.ask(batch.content[life, steps + q], t)
        arm = batch.arms[life, steps + q]
        found[:, q] = mean[arm], np.log(deviation[arm])
    return found[0], found[1]


def test_numpy_computes_what_torch_does() -> None:
    torch = pytest.importorskip("torch", reason="needs the extra rl")
    from periodic_in_context.model import Model
    from periodic_in_context.sizes import Sizes
    from periodic_in_context.train import arrays_of

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Model(Sizes(16, 4, 2, 24))
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, 0.0, 0.3)
    batch = draw_batch(np.random.default_rng(1), 2)
    steps = batch.rewards.shape[1]
    lags = np.stack([time_relations(np.arange(steps + 1), 12.0)] * 2)
    batch = batch._replace(lag_table=lags)
    with torch.no_grad():
        expected = model(batch)
    for life in range(2):
        found = answers_of(batch, life, arrays_of(model))
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs[life].numpy(), atol=1e-5)


def test_the_past_is_seen_and_the_future_is_not() -> None:
    """In training, the network has the complete episode as input and must mask later decisions.

    (The network in NumPy receives only past decisions; another test compares the two networks.)
    """
    torch = pytest.importorskip("torch", reason="needs the extra rl")
    from periodic_in_context.model import Model
    from periodic_in_context.sizes import sizes_of

    batch = draw_batch(np.random.default_rng(2), 1)
    steps = batch.rewards.shape[1]
    weights = read_weights()
    model = Model(sizes_of(weights))
    model.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
    half = int(np.median(batch.counts))
    content, rewards = batch.content.copy(), batch.rewards.copy()
    content[:, half:steps, 0], rewards[:, half:] = 3.0, 3.0
    with torch.no_grad():
        before, after = (
            np.stack([answer[0].numpy() for answer in model(each)])
            for each in (batch, batch._replace(content=content, rewards=rewards))
        )
    early = batch.counts[0] <= half
    assert 0 < early.sum() < len(early)
    np.testing.assert_array_equal(before[:, early], after[:, early])
    assert (before[:, ~early] != after[:, ~early]).any(axis=0).all()


@pytest.mark.parametrize("features", [True, False])
def test_arms_have_no_names(features: bool) -> None:
    """Predictions do not depend on the numbering of the arms."""
    problem = example_problem("finite")
    order = np.array([3, 0, 4, 1, 2])
    if not features:
        problem = replace(problem, action_features=None)
        other = problem
    else:
        assert problem.action_features is not None
        other = replace(problem, action_features=problem.action_features[np.argsort(order)])
    one, two = (InContextUCB(p, np.random.default_rng(0)) for p in (problem, other))
    for t in range(20):
        one.update(observe(t), t % 5, example_reward("finite", t % 5, t))
        two.update(observe(t), int(order[t % 5]), example_reward("finite", t % 5, t))
    for mine, theirs in zip(one.belief(20.0), two.belief(20.0), strict=True):
        np.testing.assert_allclose(mine, theirs[order], atol=1e-5)


# --- training --------------------------------------------------------------------------------


def test_training_is_the_same_twice() -> None:
    pytest.importorskip("torch", reason="needs the extra rl")
    from periodic_in_context.sizes import Sizes
    from periodic_in_context.train import LAST_SHARE, train

    losses: list[float] = []
    small, steps = Sizes(8, 2, 1, 8), LAST_SHARE  # one of the steps is in the last part
    found = [
        train(steps, 0, sizes=small, lives=1, report=lambda done, loss, model: losses.append(loss))
        for _ in range(2)
    ]
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name], err_msg=name)
    assert losses[:steps] == losses[steps:]
    assert len(set(losses)) == steps


def test_the_command_writes_weights_that_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="needs the extra rl")
    from periodic_in_context.train import main

    out = tmp_path / "own.safetensors"
    main(["--out", str(out), "--steps", "1", "--seed", "5"])
    assert "1 of 1 steps" in capsys.readouterr().out
    assert {n: a.shape for n, a in read_weights(out).items()} == {
        n: a.shape for n, a in read_weights().items()
    }
    said = json.loads(out.with_suffix(".json").read_text())
    assert said["command"].endswith("train --out own.safetensors --steps 1 --seed 5")
    assert {"sha256", "torch", "numpy", "python"} <= set(said)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "weights.bin"], "--out must end in .safetensors, got 'weights.bin'"),
        (
            ["--out", "no/such/w.safetensors"],
            "--out must be in an existing folder, got 'no/such/w.safetensors'",
        ),
        (["--out", "w.safetensors", "--steps", "0"], "--steps must be a whole number of at least"),
    ],
)
def test_a_training_that_could_not_be_kept_is_refused(arguments: list[str], message: str) -> None:
    from periodic_in_context.train import main

    with pytest.raises(SystemExit, match=message):
        main(arguments)


# --- the weights -----------------------------------------------------------------------------


def test_shipped_weights_say_how_they_were_made() -> None:
    from periodic_in_context.train import STEPS

    said = json.loads(SHIPPED.with_suffix(".json").read_text())
    expected = "python -m periodic_in_context.train --out weights.safetensors"
    assert said["command"] == f"{expected} --steps {STEPS} --seed 0"
    assert said["steps_done"] == STEPS
    assert SHIPPED.stat().st_size <= MAX_BYTES
    weights = read_weights()
    assert all(not array.flags.writeable for array in weights.values())
    again = unflattened(flattened(weights))
    assert all((again[name] == weights[name]).all() for name in weights)
    with pytest.raises(
        WeightsError, match=r"expected all weights in one flat array, got shape \(3,\)"
    ):
        unflattened(np.zeros(3, np.float32))


def test_weights_that_are_not_as_said_are_refused(tmp_path: Path) -> None:
    path, good = tmp_path / "w.safetensors", {"a": np.ones(3, np.float32)}
    with pytest.raises(WeightsError, match=r"cannot read the weights .*w.safetensors"):
        read_weights(path)
    write_weights(path, good, {"command": "none"})
    assert read_weights(path)["a"].tolist() == [1.0, 1.0, 1.0]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    other = tmp_path / "other.safetensors"
    other.write_bytes(bytes(data))
    other.with_suffix(".json").write_text(path.with_suffix(".json").read_text())
    with pytest.raises(WeightsError, match="do not match the SHA-256 in their JSON file"):
        read_weights(other)
    for bad, message in (
        (
            {"a": np.array([np.nan])},
            "must be finite float32 numbers, but the array 'a' contains other values",
        ),
        ({"a": np.zeros(MAX_BYTES)}, "are larger than"),
    ):
        with pytest.raises(WeightsError, match=message):
            write_weights(path, bad, {})
    assert read_weights.__wrapped__(path)["a"].tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(WeightsError, match=r"the weights lack the array 'embed.weight'"):
        Network(good)


# --- episodes --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["finite", "arms"])
def test_seasons_are_learned(kind: str) -> None:
    """Regret in the last seasons is far below regret in the first seasons."""
    agent = agent_for(kind)
    noise = np.random.default_rng(1).normal(0, 0.1, 120)
    regrets = []
    for t in range(120):
        action = agent.act(observe(t))
        rewards = [example_reward(kind, a, t) for a in range(5)]
        regrets.append(max(rewards) - rewards[action])
        agent.update(observe(t), action, rewards[action] + noise[t])
    assert sum(regrets[-30:]) < 0.3 * sum(regrets[:30])


def test_rewards_of_any_unit_lead_to_the_same_choices() -> None:
    problem = replace(example_problem("arms"), reward_scale=None, noise_std=None)
    choices = []
    for unit, zero in ((1.0, 0.0), (1000.0, -500.0)):
        agent = InContextUCB(problem, np.random.default_rng(0))
        actions = []
        for t in range(40):
            actions.append(agent.act(observe(t)))
            reward = example_reward("arms", actions[-1], t)
            agent.update(observe(t), actions[-1], zero + unit * reward)
        choices.append(actions)
    assert choices[0] == choices[1]
    # No arm is repeated before a scale is known.
    assert len(set(choices[0][:FIRST_SCALE])) == FIRST_SCALE


def test_memory_is_bounded() -> None:
    agent = agent_for(window=32)
    for t in range(100):
        agent.update(observe(t), t % 5, example_reward("finite", t % 5, t))
        assert 1 <= len(agent._history) <= 32
        assert agent._reader.count == len(agent._history)
    assert agent._history[-1][0] == 99.0


def test_a_warm_start_is_read() -> None:
    problem = example_problem("warm")
    assert problem.warm_start is not None
    agent = InContextUCB(problem, np.random.default_rng(0))
    assert agent._reader.count == 12
    assert agent._mean == pytest.approx(problem.warm_start.reward.mean())
    worse = Experience(
        problem.warm_start.t, problem.warm_start.action, problem.warm_start.reward * 0
    )
    flat = InContextUCB(replace(problem, warm_start=worse), np.random.default_rng(0))
    assert np.isfinite(flat.belief(12.0)).all()
    assert not np.allclose(agent.belief(12.0)[0], flat.belief(12.0)[0])


def test_width_is_how_much_it_explores() -> None:
    tried = []
    for width in (0.0, 3.0):
        agent = agent_for("arms", width=width)
        for t in range(30):
            agent.update(observe(t), agent.act(observe(t)), 0.0)
        tried.append(len({row[1] for row in agent._history}))
    assert tried[1] == 5
    assert np.isnan(agent_for("warm").belief(0.0)[0]).sum() == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": -1}, "width must be finite and not negative, got -1"),
        ({"window": 0}, "window must be a whole number of at least 1, got 0"),
        ({"window": 7}, "window must be at least 8, got 7"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AgentSpec("in-context-ucb", settings).make(
            example_problem("finite"), np.random.default_rng(0)
        )


def test_a_box_is_refused_in_a_sentence() -> None:
    problem = example_problem("box")
    assert isinstance(problem.action_space, spaces.Box)
    with pytest.raises(ValueError, match="in-context-ucb requires finitely many actions, got Box"):
        make_agent("in-context-ucb", problem, np.random.default_rng(0))
    many = replace(example_problem("arms"), action_space=spaces.Discrete(1_001))
    with pytest.raises(ValueError, match="in-context-ucb supports at most 1,000 arms, got 1001"):
        InContextUCB(many, np.random.default_rng(0))


def test_the_largest_rewards_are_survived() -> None:
    agent = InContextUCB(
        replace(example_problem("warm"), warm_start=None), np.random.default_rng(0)
    )
    for t in range(30):
        reward = MAX_REWARD if t in (5, 20) else float(t % 3)
        agent.update(observe(t), agent.act(observe(t)), reward)
    assert np.isfinite(agent.belief(30.0)).all()


PLAYED = """
import sys
import agents
unwanted = ("periodic_in_context", "safetensors.torch")
assert not any(name.startswith(unwanted) for name in sys.modules)
import numpy as np
from agents.testing import example_problem, observe
place, problem = "periodic_in_context.agent:InContextUCB", example_problem("finite")
agent = agents.make_agent(place, problem, np.random.default_rng(0))
agent.update(observe(0), agent.act(observe(0)), 1.0)
print([name for name in sys.modules if name.startswith(("torch", "stable_baselines3", "scipy"))])
"""


def test_playing_needs_no_torch() -> None:
    done = subprocess.run([sys.executable, "-c", PLAYED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_a_saved_agent_goes_on_after_it_has_forgotten(tmp_path: Path) -> None:
    agent = agent_for(window=20)
    for t in range(37):
        agent.update(observe(t), agent.act(observe(t)), float(t % 7))
    agent.save(tmp_path / "agent")
    again = load(tmp_path / "agent")
    for t in range(37, 60):
        np.testing.assert_array_equal(agent.belief(t), again.belief(t))
        action = agent.act(observe(t))
        assert action == again.act(observe(t))
        for each in (agent, again):
            each.update(observe(t), action, float(t % 7))


# --- training in worlds ----------------------------------------------------------------------


def worlds(copies: int) -> gym.vector.VectorEnv:
    made = gym.make_vec(
        "PeriodicGP-SyntheticDiscrete-v0",
        copies,
        vectorization_mode="vector_entry_point",
        autoreset_mode="SameStep",
        n_actions=5,
        horizon=24,
    )
    made.reset(seed=0)
    return made


def test_it_can_be_trained_in_worlds_and_keeps_what_it_learned(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra rl")
    assert issubclass(InContextUCB, Trainable)
    problem = replace(example_problem("finite"), horizon=24)
    rngs = [np.random.default_rng(0) for _ in range(2)]
    found = [
        InContextUCB.train(problem, worlds(16), steps=800, rng=rng, settings={"width": 1.0})
        for rng in rngs
    ]
    (weights,), (again,) = (list(learned.values()) for learned in found)
    np.testing.assert_array_equal(weights, again)
    assert weights.shape == flattened(read_weights()).shape
    assert (weights != flattened(read_weights())).any()
    agent = InContextUCB.after_training(problem, np.random.default_rng(0), found[0], {})
    plain = agent_for()
    for each in (agent, plain):
        for t in range(10):
            each.update(observe(t), t % 5, example_reward("finite", t % 5, t))
    assert (agent.belief(10.0)[0] != plain.belief(10.0)[0]).any()
    agent.save(tmp_path / "agent")
    np.testing.assert_array_equal(load(tmp_path / "agent").belief(10.0), agent.belief(10.0))


def test_too_little_to_be_trained_with_is_refused() -> None:
    pytest.importorskip("torch", reason="needs the extra rl")
    problem, rng = example_problem("finite"), np.random.default_rng(0)
    with pytest.raises(
        ValueError, match="at least 16 steps in each of two worlds, got 30 in total"
    ):
        InContextUCB.train(problem, worlds(2), steps=30, rng=rng, settings={})
    with pytest.raises(ValueError, match="in-context-ucb requires finitely many actions"):
        InContextUCB.train(example_problem("box"), worlds(2), steps=30, rng=rng, settings={})
