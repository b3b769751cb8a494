"""Every registered agent keeps the contract, and each does what its paper says."""

import inspect
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from agents import AgentSpec, Experience, Problem, load, make_agent
from agents.base import MAX_REWARD, Agent
from agents.gp import Decay, Periodic, TimeSquaredExponential
from agents.registry import BUILT_IN, find_class
from agents.testing import KINDS, AgentContract, example_problem, example_reward, observe

GP_AGENTS = [
    "c-gp-ucb",
    "et-gp-ucb",
    "gp-thompson",
    "gp-ucb",
    "pe-gp-ucb",
    "periodic-gp-ucb",
    "r-gp-ucb",
    "sw-gp-ucb",
    "switching-gp-ucb",
    "tv-gp-ucb",
    "ui-tvbo",
    "w-dbo",
    "wgp-ucb",
]


@pytest.mark.parametrize("name", BUILT_IN)
class TestContract(AgentContract):
    """The contract, for every name in the registry."""

    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.name = name
        takes = getattr(find_class(name), "takes", None)
        there = {k: "arms" if example_problem(k).n_actions else "box" for k in KINDS}
        self.problems = tuple(kind for kind in KINDS if takes in (None, there[kind]))

    def make(self, problem: Problem, rng: np.random.Generator) -> Agent:
        return AgentSpec(self.name).make(problem, rng)


@pytest.mark.parametrize("name", BUILT_IN)
def test_documentation(name: str) -> None:
    text = inspect.getdoc(find_class(name)) or ""
    assert "Pseudo-code" in text
    first = text.partition("\n")[0]
    assert len(first) <= 100
    assert first.endswith(".")
    pseudo = text.partition("::")[2].strip("\n").split("\n\n")[0].splitlines()
    assert len(pseudo) <= 8
    if name in GP_AGENTS:
        assert "Reference:" in text
        assert "Deviations from the paper" in text


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
def test_defaults_are_the_papers(name: str, clock: object) -> None:
    agent = make_agent(name, example_problem("box"), np.random.default_rng(0))
    (term,) = agent.posterior.kernel.terms
    assert term.clocks == (() if clock is None else (clock,))
    assert [k.length_scale for k in term.actions] == [1.0]
    assert agent.posterior.noise_variance == pytest.approx(0.01)


@pytest.mark.parametrize("name", ["periodic-gp-ucb", "gp-thompson", "phase-ucb"])
def test_seasons_are_learned(name: str) -> None:
    """In a world that repeats, regret in the last seasons is far below that of the first."""
    problem = example_problem("finite")
    settings = {} if name == "phase-ucb" else {"time_length_scale": 1.0}
    agent = AgentSpec(name, settings).make(problem, np.random.default_rng(0))
    noise = np.random.default_rng(1).normal(0, 0.1, 120)
    regrets = []
    for t in range(120):
        action = agent.act(observe(t))
        rewards = [example_reward("finite", a, t) for a in range(5)]
        regrets.append(max(rewards) - rewards[action])
        agent.update(observe(t), action, rewards[action] + noise[t])
    assert sum(regrets[-30:]) < 0.2 * sum(regrets[:30])


def test_r_gp_ucb_forgets_at_the_end_of_a_block() -> None:
    agent = make_agent("r-gp-ucb:block_size=5", example_problem("box"), np.random.default_rng(0))
    counts = []
    for t in range(12):
        action = agent.act(observe(t))
        agent.update(observe(t), action, 1.0)
        counts.append(agent.posterior.count)
    assert counts == [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2]
    agent.update(observe(9), action, 1.0)
    assert agent.posterior.count == 2


def test_r_gp_ucb_forgets_though_it_waits_for_a_scale() -> None:
    problem = example_problem("finite")
    unscaled = Problem(problem.action_space, problem.observation_space, periods=(6.0,))
    agent = make_agent("r-gp-ucb:block_size=4", unscaled, np.random.default_rng(0))
    for t in range(10):
        agent.update(observe(t), agent.act(observe(t)), float(t))
    assert agent.posterior.count == 2


def test_telling_the_noise_does_not_fix_the_scale() -> None:
    """Rewards around 500 with a known noise of 10 are learned like any other."""
    problem = example_problem("finite")
    known_noise = Problem(
        problem.action_space,
        problem.observation_space,
        periods=(6.0,),
        noise_std=10.0,
        action_features=problem.action_features,
    )
    agent = make_agent("periodic-gp-ucb:time_length_scale=1", known_noise, np.random.default_rng(0))
    for t in range(60):
        action = agent.act(observe(t))
        agent.update(observe(t), action, 500.0 + 100.0 * example_reward("finite", action, t))
    assert agent.posterior.noise_variance == pytest.approx((10.0 / agent.scale.scale) ** 2)
    rewards = [example_reward("finite", a, 60) for a in range(5)]
    assert agent.act(observe(60)) == int(np.argmax(rewards))


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - {"random", "sac", "td3"}))
def test_impossible_news_is_refused_and_changes_nothing(name: str) -> None:
    problem = example_problem("finite")
    unscaled = Problem(problem.action_space, problem.observation_space, periods=(6.0,))
    agents = [make_agent(name, unscaled, np.random.default_rng(0)) for _ in range(2)]
    for t in range(25):
        for action, reward in ((0, np.inf), (0, -1e160), (99, 1.0), (-1, 1.0), (2.7, 1.0)):
            with pytest.raises(ValueError, match=r"finite|whole number"):
                agents[1].update(observe(t), action, reward)
        chosen = [agent.act(observe(t)) for agent in agents]
        assert chosen[0] == chosen[1]
        for agent in agents:
            agent.update(observe(t), chosen[0], 100.0 + chosen[0])


@pytest.mark.parametrize("name", ["auto-gp-ucb", "gp-ucb", "periodic-gp-ucb:period=auto", "ucb1"])
def test_a_huge_reward_is_refused_and_the_largest_is_survived(name: str, tmp_path: Path) -> None:
    problem = replace(example_problem("warm"), warm_start=None)
    agent = make_agent(name, problem, np.random.default_rng(0))
    for t in range(30):
        action = agent.act(observe(t))
        with pytest.raises(ValueError, match=r"at most 1e\+100 in magnitude, .* got 1e\+160 at t"):
            agent.update(observe(t), action, 1e160)
        agent.update(observe(t), action, MAX_REWARD if t in (5, 20) else float(t % 3))
    agent.save(tmp_path / "agent")
    assert load(tmp_path / "agent").act(observe(30)) == agent.act(observe(30))


def test_a_huge_reward_of_the_past_is_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 1e\+100 in magnitude, .* got -1e\+160 at t = 1"):
        Experience([0, 1, 2], [0, 1, 0], [np.nan, -1e160, 1.0])


@pytest.mark.parametrize("name", sorted({*GP_AGENTS, "auto-gp-ucb", "ucb1", "phase-ucb"}))
def test_an_impossible_observation_is_refused_and_changes_nothing(name: str) -> None:
    agent, twin = (
        make_agent(name, example_problem("finite"), np.random.default_rng(0)) for _ in range(2)
    )
    for t in range(3):
        for wrong in (np.array([np.nan, 0.0, 0.0]), np.array([np.inf]), np.empty(0), 30.0, None):
            with pytest.raises(ValueError, match="a vector with a finite time first, got"):
                agent.act(wrong)
        assert agent.act(observe(t)) == twin.act(observe(t))
        for each in (agent, twin):
            each.update(observe(t), t, float(t))


def test_impossible_box_actions_are_refused() -> None:
    agent = make_agent("gp-ucb", example_problem("plane"), np.random.default_rng(0))
    for action in ([np.nan, 0.0], [0.0], [5.0, 0.0], np.zeros(4), "left"):
        with pytest.raises(ValueError, match=r"an action is a vector \(2,\)"):
            agent.update(observe(0), action, 1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"action_space": spaces.Box(0, 10, (1,))}, "Discrete.n. or Box"),
        ({"action_space": spaces.Discrete(3, start=1)}, "must start at 0"),
        ({"action_space": spaces.MultiDiscrete([2, 2])}, "Discrete.n. or Box"),
        ({"action_features": np.zeros((3, 1))}, "a row for each action"),
        ({"noise_std": -1.0}, "noise_std must not be negative"),
        ({"horizon": 0}, "horizon must be at least 1"),
        ({"periods": 24}, "periods is a tuple"),
        ({"periods": (0.0,)}, "periods must be positive"),
        ({"reward_scale": (0.0, 0.0)}, "positive deviation"),
        ({"action_half_width": 0.0}, "action_half_width must be positive"),
    ],
    ids=str,
)
def test_impossible_problems_are_refused(changes: dict, message: str) -> None:
    good = example_problem("arms")
    with pytest.raises(ValueError, match=message):
        replace(good, **changes)


def test_experience_from_lists() -> None:
    past = Experience([0, 1], [2, 3], [1.0, float("nan")])
    assert past.reward.dtype == np.float64
    problem = replace(example_problem("warm"), warm_start=past)
    make_agent("gp-ucb:fit_warm_start=true", problem, np.random.default_rng(0))
    with pytest.raises(ValueError, match="equal length, got 2, 1 and 2"):
        Experience([0, 1], [2], [1.0, 2.0])


def test_r_gp_ucb_formula() -> None:
    agent = make_agent(
        "r-gp-ucb:block_size=formula,eps=0.0625", example_problem("plane"), np.random.default_rng(0)
    )
    assert agent.block_size == 24  # 12 * 0.0625 ** (-1/4), below the horizon of 40


def test_late_rewards_lead_to_the_same_belief() -> None:
    problem = example_problem("finite")
    for name in ("periodic-gp-ucb", "gp-ucb", "c-gp-ucb", "tv-gp-ucb"):
        beliefs = []
        for order in (range(8), (5, 2, 7, 0, 3, 1, 6, 4)):
            agent = make_agent(name, problem, np.random.default_rng(0))
            for t in order:
                agent.update(observe(t), t % 5, float(t))
            beliefs.append(np.array(agent.belief(8.0)))
        np.testing.assert_allclose(*beliefs, atol=1e-8)


def test_missing_rewards_change_no_belief() -> None:
    for name in GP_AGENTS:
        agent = make_agent(name, example_problem("finite"), np.random.default_rng(0))
        agent.update(observe(0), 1, 0.3)
        before = agent.belief(1.0)
        agent.update(observe(1), 2, float("nan"))
        np.testing.assert_array_equal(before, agent.belief(1.0))


def test_rewards_of_any_scale() -> None:
    """With unknown noise, rewards in other units lead to the same choices."""
    problem = example_problem("warm")
    past = problem.warm_start
    assert past is not None
    for start in (past, None):
        choices = []
        for offset, scale in ((0.0, 1.0), (-500.0, 1000.0)):
            warm_start = None if start is None else Experience(past.t, past.action, past.reward)
            if warm_start is not None:
                warm_start = Experience(past.t, past.action, offset + scale * past.reward)
            changed = Problem(
                problem.action_space,
                problem.observation_space,
                horizon=40,
                periods=(6.0,),
                action_features=problem.action_features,
                warm_start=warm_start,
            )
            agent = make_agent("periodic-gp-ucb", changed, np.random.default_rng(0))
            actions = []
            for t in range(12, 40):
                action = agent.act(observe(t))
                reward = 50.0 + 10.0 * example_reward("warm", action, t)
                agent.update(observe(t), action, offset + scale * reward)
                actions.append(action)
            choices.append(actions)
        assert choices[0] == choices[1]


def test_fit_to_the_warm_start_changes_the_kernel() -> None:
    problem = example_problem("warm")
    plain, fitted = (
        make_agent(f"tv-gp-ucb:fit_warm_start={flag}", problem, np.random.default_rng(0))
        for flag in ("false", "true")
    )
    assert plain.posterior.kernel != fitted.posterior.kernel
    assert fitted.posterior.log_evidence > plain.posterior.log_evidence
    with pytest.raises(ValueError, match="fit_warm_start needs a problem with a warm start"):
        make_agent("gp-ucb:fit_warm_start=true", example_problem("box"), np.random.default_rng(0))


def test_engines_can_be_forced_and_agree() -> None:
    problem = example_problem("finite")
    agents = [
        make_agent(f"periodic-gp-ucb:engine={engine}", problem, np.random.default_rng(0))
        for engine in ("state-space", "incremental")
    ]
    assert [a.posterior.name.split()[0] for a in agents] == ["state-space", "incremental"]
    for t in range(30):
        actions = [agent.act(observe(t)) for agent in agents]
        assert actions[0] == actions[1]
        for agent in agents:
            agent.update(observe(t), actions[0], example_reward("finite", actions[0], t))
    np.testing.assert_allclose(agents[0].belief(30.0), agents[1].belief(30.0), atol=1e-8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("periodic-gp-ucb:period=0", "period"),
        ("periodic-gp-ucb:period=auto:5", "auto:LOW:HIGH or about:TAU, got 'auto:5'"),
        ("periodic-gp-ucb:period=auto:9:2", "period needs LOW below HIGH, got 'auto:9:2'"),
        ("periodic-gp-ucb:period=auto:9:9", "period needs LOW below HIGH, got 'auto:9:9'"),
        ("periodic-gp-ucb:period=auto:-1:9", "period needs LOW and HIGH positive and finite"),
        ("periodic-gp-ucb:period=about:x", "numbers in auto:LOW:HIGH and about:TAU"),
        ("periodic-gp-ucb:period=about:-3", "needs TAU positive and finite, got 'about:-3'"),
        ("periodic-gp-ucb:period=about:nan", "needs TAU positive and finite, got 'about:nan'"),
        ("seasons-gp-ucb:periods=[]", r"periods is a list of numbers, \[1,2\], got \[\]"),
        ("seasons-gp-ucb:periods=day", r"periods is a list of numbers, \[1,2\], got 'day'"),
        ("seasons-gp-ucb:periods=[24,24]", "periods must differ from one another"),
        ("seasons-gp-ucb:periods=[24,-1]", "periods must be positive and finite, got -1"),
        ("seasons-gp-ucb:periods=[24,168", "bracket or a quote is without its other"),
        ("seasons-gp-ucb:periods=24]", "bracket or a quote is without its other"),
        ("pe-gp-ucb:periods=[]", "periods is a list of numbers"),
        ("switching-gp-ucb:decays=2", r"decays must lie in \[0, 1\), got 2"),
        ("gp-ucb:context_length_scale=0", "context_length_scale must be positive"),
        ("gp-ucb:context_length_scale=-1", "context_length_scale must be positive"),
        ("c-gp-ucb:time_length_scale=0", "time_length_scale must be positive"),
        ("w-dbo:time_length_scale=0", "time_length_scale must be positive"),
        ("periodic-gp-ucb:time_length_scale=0", "^time_length_scale must be positive"),
        ("periodic-gp-ucb:time_length_scale=1e-9", "time_length_scale must be at least 0.01"),
        ("seasons-gp-ucb:time_length_scale=1e-9", "time_length_scale must be at least 0.01"),
        ("switching-gp-ucb:time_length_scale=1e-9", "time_length_scale must be at least 0.01"),
        ("pe-gp-ucb:time_length_scale=1e-9", "time_length_scale must be at least 0.01"),
        ("w-dbo:time_kernel=periodic,time_length_scale=1e-9", "must be at least 0.01"),
        ("auto-gp-ucb:beta=1,beta=2", "the setting 'beta' is given twice"),
        ("periodic-gp-ucb:", "nothing stands behind the last colon of 'periodic-gp-ucb:'"),
        ("periodic-gp-ucb:length_scale=-1", "length"),
        ("periodic-gp-ucb:beta=loud", "choose paper, steady, printed, finite, box"),
        ("gp-ucb:action_kernel=rbf", "action_kernel must be one of se, matern, linear, got 'rbf'"),
        ("gp-ucb:engine=steam", "engine must be one of auto, .* got 'steam'"),
        ("gp-ucb:noise_variance=0", "noise_variance must be positive"),
        ("tv-gp-ucb:eps=1.5", "eps"),
        ("r-gp-ucb:block_size=0", "block_size must be a whole number"),
        ("r-gp-ucb:block_size=true", "block_size must be a whole number"),
        ("r-gp-ucb:block_size=formula,eps=0", "eps must lie in"),
        ("gp-ucb:length_scale=abc", "length_scale is a number, got 'abc'"),
        ("c-gp-ucb:time_length_scale=x", "time_length_scale is a number, got 'x'"),
        ("gp-ucb:noise_variance=x", "noise_variance is a number, got 'x'"),
        ("gp-ucb:fit_warm_start=maybe", "fit_warm_start is true or false, got 'maybe'"),
        ("gp-ucb:prior_mean=3", "given together"),
        ("gp-ucb:prior_mean=3,prior_scale=0", "positive scale"),
        ("phase-ucb:period=0", "period must be positive"),
        ("phase-ucb:period=inf", "period must be positive"),
        ("phase-ucb:period=1e12", "too many phases"),
        ("fixed:box_arms=0", "box_arms must be a whole number"),
    ],
)
def test_bad_settings(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_agent(text, example_problem("box"), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("lone", "listed"),
    [
        ("seasons-gp-ucb:periods=24", "seasons-gp-ucb:periods=[24]"),
        ("switching-gp-ucb:decays=0.1", "switching-gp-ucb:decays=[0.1]"),
        ("pe-gp-ucb:periods=24", "pe-gp-ucb:periods=[24]"),
    ],
)
def test_a_lone_number_is_a_list_of_one(lone: str, listed: str) -> None:
    problem = example_problem("finite")
    both = [make_agent(text, problem, np.random.default_rng(0)) for text in (lone, listed)]
    assert both[0].posterior.name == both[1].posterior.name


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("seasons-gp-ucb", "periods=[24]"),
        ("pe-gp-ucb", "periods=[12,24]"),
        ("switching-gp-ucb", "period=24"),
        ("phase-ucb", "period=24"),
    ],
)
def test_who_needs_a_period_says_which_setting_gives_one(name: str, setting: str) -> None:
    problem = replace(example_problem("finite"), periods=())
    with pytest.raises(
        ValueError, match="or choose periodic-gp-ucb:period=auto or auto-gp-ucb"
    ) as e:
        make_agent(name, problem, np.random.default_rng(0))
    assert f":{setting} behind its name" in str(e.value)
    make_agent(f"{name}:{setting}", problem, np.random.default_rng(0))


def test_a_given_scale_counts_more_than_the_warm_start() -> None:
    warm = example_problem("warm")
    one = Experience(warm.warm_start.t[:1], warm.warm_start.action[:1], warm.warm_start.reward[:1])
    problem = replace(warm, warm_start=one)
    text = "gp-ucb:prior_mean=90,prior_scale=3,length_scale=0.01"
    mean, deviation = make_agent(text, problem, np.random.default_rng(0)).belief(0.0)
    np.testing.assert_allclose(np.delete(mean, one.action), 90.0)
    np.testing.assert_allclose(np.delete(deviation, one.action), 3.0)
    assert mean[one.action] < 80.0


def test_a_period_that_nobody_tells_is_searched_for() -> None:
    problem = example_problem("box")
    unscaled = Problem(problem.action_space, problem.observation_space, noise_std=0.1)
    agent = make_agent("periodic-gp-ucb", unscaled, np.random.default_rng(0))
    assert agent.posterior.name.startswith("period-search")
    make_agent("periodic-gp-ucb:period=12.5", unscaled, np.random.default_rng(0))
    with pytest.raises(ValueError, match="needs a period and the problem tells none"):
        make_agent("phase-ucb", unscaled, np.random.default_rng(0))


class TestSearchContract(AgentContract):
    """The contract, for an agent that learns the period."""

    problems = ("finite", "box", "warm")

    def make(self, problem: Problem, rng: np.random.Generator) -> Agent:
        return make_agent("periodic-gp-ucb:period=auto:3:12", problem, rng)


@pytest.mark.parametrize(
    ("period", "given", "low", "high"),
    [
        ("auto", 6.0, 5.0, 20.0),
        ("auto:4:50", 6.0, 4.0, 50.0),
        ("about:9", 9.0, 5.0, 20.0),
    ],
)
def test_what_a_search_is_given(period: str, given: float, low: float, high: float) -> None:
    problem = replace(example_problem("arms"), horizon=40)
    agent = make_agent(f"periodic-gp-ucb:period={period}", problem, np.random.default_rng(0))
    periods, weights = agent.period_belief()
    assert weights[periods == given] == pytest.approx(1 / 3)
    assert weights.sum() == pytest.approx(1.0)
    assert (np.diff(periods) >= 0).all()
    assert low < periods.min()
    assert periods.max() < high
    certain = make_agent("periodic-gp-ucb", problem, np.random.default_rng(0)).period_belief()
    np.testing.assert_array_equal(certain, ([6.0], [1.0]))


def test_a_wrong_period_is_unlearned() -> None:
    """Told 8 where 6 is true; at a fixed seed, in a world of little noise."""
    problem = replace(example_problem("finite"), periods=(8.0,))
    agent = make_agent(
        "periodic-gp-ucb:period=auto,time_length_scale=1", problem, np.random.default_rng(0)
    )
    noise = np.random.default_rng(1).normal(0, 0.1, 60)
    for t in range(60):
        action = agent.act(observe(t))
        agent.update(observe(t), action, example_reward("finite", action, t) + noise[t])
    periods, weights = agent.period_belief()
    assert weights[np.abs(periods - 6.0) < 0.2].sum() > 0.99
