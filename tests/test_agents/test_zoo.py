"""Every registered agent keeps the contract, and each does what its paper says."""

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from agents import AgentSpec, Experience, Problem
from agents.base import MAX_REWARD, Agent
from agents.gp import Decay, Periodic, TimeSquaredExponential
from agents.registry import BUILT_IN, find_class
from agents.testing import KINDS, AgentContract, example_problem, example_reward, observe
from tests.test_agents.playing import arms, fresh, reloaded_agent

SEARCH, SEASONS = "periodic-gp-ucb:period=auto:3:12", "seasons-gp-ucb:periods=[6,15],combine=auto"
FEATURES = example_problem("finite").action_features


@pytest.fixture(scope="module")
def trajectories() -> dict[tuple[str, str], list[Any]]:
    """Actions of undisturbed agents, by text and kind of problem: played once."""
    return {}


@pytest.mark.parametrize("text", [*BUILT_IN, SEARCH, SEASONS])
class TestContract(AgentContract):
    """The contract, for every name in the registry and for two posteriors that others lack."""

    @pytest.fixture(autouse=True)
    def _known(self, text: str, trajectories: dict[tuple[str, str], list[Any]]) -> None:
        self.spec, self.trajectories = AgentSpec.parse(text), trajectories
        takes = getattr(find_class(self.spec.name), "takes", None)
        there = {k: "arms" if example_problem(k).n_actions else "box" for k in KINDS}
        kinds = KINDS if text in BUILT_IN else ("finite", "warm")
        self.problems = tuple(kind for kind in kinds if takes in (None, there[kind]))

    def make(self, problem: Problem, rng: np.random.Generator) -> Agent:
        return self.spec.make(problem, rng)

    def recorded(self, kind: str) -> list[Any]:
        key = (str(self.spec), kind)
        if key not in self.trajectories:
            self.trajectories[key] = super().recorded(kind)
        return self.trajectories[key]


@pytest.mark.parametrize("name", BUILT_IN)
def test_agents_are_documented(name: str) -> None:
    text = inspect.getdoc(find_class(name)) or ""
    assert "Pseudo-code" in text
    assert "Reference" in text or BUILT_IN[name].family == "baselines"


@pytest.mark.parametrize(
    ("name", "clock"),
    [
        ("periodic-gp-ucb", Periodic(6.0, 10.0)),
        ("gp-ucb", None),
        ("c-gp-ucb", TimeSquaredExponential(10.0)),
        ("r-gp-ucb", None),
        ("tv-gp-ucb", Decay(0.03)),
        ("gp-thompson", Periodic(6.0, 10.0)),
    ],
)
def test_agents_have_the_papers_defaults(name: str, clock: object) -> None:
    posterior = fresh(name, "box").posterior
    (term,) = posterior.kernel.terms
    assert term.clocks == (() if clock is None else (clock,))
    assert [k.length_scale for k in term.actions] == [1.0]
    assert posterior.noise_variance == pytest.approx(0.01)


@pytest.mark.parametrize("problem", [example_problem("box"), arms(5, periods=(6.0,))], ids="ab")
def test_r_gp_ucb_forgets_at_the_end_of_a_block(problem: Problem) -> None:
    """Also while it waits for a scale."""
    agent, counts = fresh("r-gp-ucb:block_size=5", problem), []
    for t in range(17):
        action = agent.act(observe(t))
        agent.update(observe(t), action, float(t))
        counts.append(agent.posterior.count)
    assert counts[-7:] == [1, 2, 3, 4, 5, 1, 2]
    agent.update(observe(14), action, 1.0)
    assert agent.posterior.count == 2


def test_r_gp_ucb_computes_its_block_size() -> None:
    """12 * 0.0625 ** (-1/4), below the horizon of 40."""
    assert fresh("r-gp-ucb:block_size=formula,eps=0.0625", "plane").block_size == 24


def test_gp_agents_learn_the_scale_of_rewards_with_known_noise() -> None:
    """Rewards around 500 with a known noise of 10 are learned like any other."""
    known = arms(5, periods=(6.0,), noise_std=10.0, action_features=FEATURES)
    agent = fresh("periodic-gp-ucb:time_length_scale=1", known)
    for t in range(60):
        action = agent.act(observe(t))
        agent.update(observe(t), action, 500.0 + 100.0 * example_reward("finite", action, t))
    assert agent.posterior.noise_variance == pytest.approx((10.0 / agent.scale.scale) ** 2)
    rewards = [example_reward("finite", a, 60) for a in range(5)]
    assert agent.act(observe(60)) == int(np.argmax(rewards))


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - {"random", "sac", "td3"}))
def test_agents_refuse_impossible_input_and_are_unchanged(name: str) -> None:
    problem = replace(example_problem("finite"), noise_std=None, reward_scale=None)
    agent, twin = (fresh(name, problem) for _ in range(2))
    nowhen = (np.array([np.nan, 0.0, 0.0]), np.array([np.inf]), np.empty(0), 30.0, None)
    for t in range(15):
        for observation in nowhen if BUILT_IN[name].family != "generic RL" else ():
            with pytest.raises(ValueError, match="time"):
                agent.act(observation)
        for action, reward in ((0, np.inf), (0, -1e160), (99, 1.0), (-1, 1.0), (2.7, 1.0)):
            with pytest.raises(ValueError, match=r"reward|action"):
                agent.update(observe(t), action, reward)
        arm = agent.act(observe(t))
        assert twin.act(observe(t)) == arm
        for each in (agent, twin):
            each.update(observe(t), arm, 100.0 + arm)


@pytest.mark.parametrize("action", [[np.nan, 0.0], [0.0], [5.0, 0.0], np.zeros(4), "left"])
def test_agents_refuse_impossible_vectors(action: Any) -> None:
    with pytest.raises(ValueError, match="action"):
        fresh("gp-ucb", "plane").update(observe(0), action, 1.0)


@pytest.mark.parametrize("name", ["auto-gp-ucb", "gp-ucb", "periodic-gp-ucb:period=auto", "ucb1"])
def test_agents_survive_the_largest_reward(name: str, tmp_path: Path) -> None:
    agent = fresh(name, replace(example_problem("warm"), warm_start=None))
    for t in range(30):
        action = agent.act(observe(t))
        agent.update(observe(t), action, MAX_REWARD if t in (5, 20) else float(t % 3))
    assert reloaded_agent(agent, tmp_path).act(observe(30)) == agent.act(observe(30))


@pytest.mark.parametrize(
    "changes",
    [
        {"action_space": spaces.Box(0, 10, (1,))},
        {"action_space": spaces.Discrete(3, start=1)},
        {"action_space": spaces.MultiDiscrete([2, 2])},
        {"action_features": np.zeros((3, 1))},
        {"noise_std": -1.0},
        {"horizon": 0},
        {"periods": 24},
        {"periods": (0.0,)},
        {"reward_scale": (0.0, 0.0)},
        {"action_half_width": 0.0},
    ],
    ids=str,
)
def test_problem_refuses_impossible_values(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        replace(example_problem("arms"), **changes)


def test_experience_is_made_from_lists() -> None:
    past = Experience([0, 1], [2, 3], [1.0, float("nan")])
    assert past.reward.dtype == np.float64
    fresh("gp-ucb:fit_warm_start=true", replace(example_problem("warm"), warm_start=past))
    for actions, rewards in (([2], [1.0, 2.0]), ([0, 1], [np.nan, -1e160])):
        with pytest.raises(ValueError, match="reward"):
            Experience([0, 1], actions, rewards)


def test_gp_agents_fit_the_warm_start() -> None:
    plain, fitted = (fresh(f"tv-gp-ucb:fit_warm_start={flag}", "warm") for flag in (False, True))
    assert plain.posterior.kernel != fitted.posterior.kernel
    assert fitted.posterior.log_evidence > plain.posterior.log_evidence


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("seasons-gp-ucb", "periods=[24]"),
        ("pe-gp-ucb", "periods=[12,24]"),
        ("switching-gp-ucb", "period=24"),
        ("phase-ucb", "period=24"),
        ("linucb", "period=24"),
    ],
)
def test_agents_need_a_period(name: str, setting: str) -> None:
    problem = replace(example_problem("finite"), periods=())
    with pytest.raises(ValueError, match="period"):
        fresh(name, problem)
    fresh(f"{name}:{setting}", problem)


@pytest.mark.parametrize(
    ("period", "best", "low", "high"),
    [
        ("auto", 6.0, 5.0, 20.0),
        ("auto:4:50", 6.0, 4.0, 50.0),
        ("about:9", 9.0, 5.0, 20.0),
    ],
)
def test_period_search_covers_its_range(period: str, best: float, low: float, high: float) -> None:
    periods, weights = fresh(f"periodic-gp-ucb:period={period}", "arms").period_belief()
    assert weights[periods == best] == pytest.approx(1 / 3)
    assert weights.sum() == pytest.approx(1.0)
    assert (np.diff(periods) >= 0).all()
    assert low < periods.min()
    assert periods.max() < high


def test_periods_are_believed_or_searched_for() -> None:
    np.testing.assert_array_equal(fresh("periodic-gp-ucb").period_belief(), ([6.0], [1.0]))
    unknown = replace(example_problem("box"), periods=())
    assert fresh("periodic-gp-ucb", unknown).posterior.name.startswith("period-search")


BAD_SETTINGS = {
    "period": [
        *("periodic-gp-ucb:period=0", "periodic-gp-ucb:period=auto:5", "phase-ucb:period=inf"),
        *("periodic-gp-ucb:period=auto:9:2", "periodic-gp-ucb:period=auto:9:9"),
        *("periodic-gp-ucb:period=auto:-1:9", "periodic-gp-ucb:period=about:-3"),
        *("periodic-gp-ucb:period=about:nan", "phase-ucb:period=0", "fourier-linucb:period=0"),
        "lints:period=0",
    ],
    "auto:LOW:HIGH": ["periodic-gp-ucb:period=about:x"],
    "periods": [
        *("seasons-gp-ucb:periods=[]", "seasons-gp-ucb:periods=day", "seasons-gp-ucb:periods=[0]"),
        *("seasons-gp-ucb:periods=[24,24]", "seasons-gp-ucb:periods=[24,-1]"),
        *("pe-gp-ucb:periods=[]", "pe-gp-ucb:periods=day", "pe-gp-ucb:periods=[0]"),
    ],
    "at most 4": ["seasons-gp-ucb:periods=[1,2,3,4,5]"],
    "combine": ["seasons-gp-ucb:combine=mix"],
    "bracket": ["seasons-gp-ucb:periods=[24,168", "seasons-gp-ucb:periods=24]"],
    "decays": [f"switching-gp-ucb:decays={value}" for value in ("2", "[]", "[1]")],
    "context_length_scale": [f"gp-ucb:context_length_scale={value}" for value in (0, -1)],
    "time_length_scale": [
        *("c-gp-ucb:time_length_scale=0", "c-gp-ucb:time_length_scale=x"),
        *("w-dbo:time_length_scale=0", "periodic-gp-ucb:time_length_scale=0"),
        *("periodic-gp-ucb:time_length_scale=1e-9", "seasons-gp-ucb:time_length_scale=1e-9"),
        *("switching-gp-ucb:time_length_scale=1e-9", "pe-gp-ucb:time_length_scale=1e-9"),
        "w-dbo:time_kernel=periodic,time_length_scale=1e-9",
    ],
    "twice": ["auto-gp-ucb:beta=1,beta=2"],
    "colon": ["periodic-gp-ucb:"],
    "length": ["periodic-gp-ucb:length_scale=-1", "gp-ucb:length_scale=abc"],
    "paper, steady": ["periodic-gp-ucb:beta=loud"],
    "action_kernel": ["gp-ucb:action_kernel=rbf"],
    "time_kernel": ["w-dbo:time_kernel=sine"],
    "engine": ["gp-ucb:engine=steam", "sw-gp-ucb:engine=state-space", "w-dbo:engine=auto"],
    "noise_variance": ["gp-ucb:noise_variance=0", "gp-ucb:noise_variance=x"],
    "eps": ["tv-gp-ucb:eps=1.5", "r-gp-ucb:block_size=formula,eps=0"],
    "block_size": ["r-gp-ucb:block_size=0", "r-gp-ucb:block_size=true"],
    "fit_warm_start": ["gp-ucb:fit_warm_start=maybe"],
    "warm start": ["gp-ucb:fit_warm_start=true"],
    "together": ["gp-ucb:prior_mean=3"],
    "scale positive": ["gp-ucb:prior_mean=3,prior_scale=0"],
    "restart_on": ["gp-ucb:restart_on=3"],
    "too many phases": ["phase-ucb:period=1e12"],
    "box_arms": ["fixed:box_arms=0"],
    "transform": ["auto-gp-ucb:transform=cube", "auto-gp-ucb:prior=madrid,transform=log1p"],
    "window": [
        *("sw-gp-ucb:window=0", "sw-ucb:window=0", "sw-linucb:window=0"),
        "model-reuse-ucb:window=0",
    ],
    "variation": [
        *("sw-gp-ucb:variation=0", "d-linucb:variation=0", "sw-linucb:variation=-1"),
        "rexp3:variation=x",
    ],
    "gamma": ["wgp-ucb:gamma=1.5", "d-ucb:gamma=1", "periodic-exp4:gamma=2"],
    "delta": [
        *("et-gp-ucb:delta=0", "pe-gp-ucb:delta=2", "d-linucb:delta=1", "siri:delta=2"),
    ],
    "forgetting": ["ui-tvbo:forgetting=1"],
    "alpha": ["w-dbo:alpha=-1"],
    "xi": ["ucb1:xi=0", "kl-ucb:xi=1", "sw-ts:xi=1"],
    "scale": ["ucb1:scale=-1"],
    "divergence": ["kl-ucb:divergence=kl"],
    "restart": ["glr-ucb:restart=never"],
    "detector": ["master:detector=0"],
    "discount": ["d-linucb:discount=0"],
    "regulariser": ["d-linucb:regulariser=0", "linucb:regulariser=0"],
    "width": ["d-linucb:width=-1", "linucb:width=-1"],
    "record": ["dlinucb-pool:record=0"],
    "tolerance": ["dlinucb-pool:tolerance=2"],
    "level": ["model-reuse-ucb:level=0", "fourier-period-ucb:level=0"],
    "noise": ["linucb:noise=-1", "lints:noise=1"],
    "harmonics": ["linucb:harmonics=0", "fourier-linucb:harmonics=0"],
    "first_pulls": ["lints:first_pulls=-1"],
    "max_period": ["periodic-exp4:max_period=0", "ramanujan-ucb:max_period=1000"],
    "bonus": ["ramanujan-ucb:bonus=-1"],
    "stage_one": ["fourier-period-ucb:stage_one=0"],
}
"""A word of the message, and settings that are refused with it."""


@pytest.mark.parametrize(
    ("text", "word"), [(text, word) for word, texts in BAD_SETTINGS.items() for text in texts]
)
def test_agents_refuse_bad_settings(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        fresh(text, "box")
