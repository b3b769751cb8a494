"""The track "pretrained": a budget of interactions with other worlds, then judgement."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from evaluation.protocol import Protocol
from evaluation.runner import run
from evaluation.runs import runs_of
from evaluation.specs import TRAINING, TRAINING_SEED, ProtocolError
from evaluation.store import Store
from evaluation.training import Budget, BudgetSpentError, TrainingError
from tests.errors import raises

AGENTS = Path(__file__).with_name("faulty_agents.py")
WORLD = "PeriodicGP-RideShare-v0"


def trained(agent: str, steps: int, **more) -> dict:
    name = f"{AGENTS}:{agent}" if agent[0].isupper() else agent
    return {"name": name, "track": "pretrained", "training_steps": steps, "label": agent, **more}


def protocol(*agents, **change) -> Protocol:
    table = {"envs": [WORLD], "agents": list(agents), "seeds": "0:2", "horizon": 48}
    return Protocol.from_dict({**table, **change})


def test_training_is_used_and_cached() -> None:
    store, done = Store(), []
    madrid = ["PeriodicGP-MadridSim-v0"]  # its windows are alike
    plan = protocol("random", trained("Learns", 6400), envs=madrid)
    for workers in (1, 0):
        results = run(plan, store=store, workers=workers, on_progress=lambda p: done.append(p.done))
    assert done[-2:] == [7, 7]  # a training, two runs of two agents and of the references
    actions = results.steps.query("agent == 'Learns'")["action"]
    assert actions.nunique() == 1
    regret = results.totals.set_index(["agent", "seed"])["regret"]
    assert all(regret["Learns", seed] < regret["random", seed] for seed in (0, 1))
    assert len(results.trainings) == 1
    assert not any(run.track == TRAINING for run in results.runs)
    more = run(plan.restricted(seeds=range(3)), store=store, workers=0)  # with the same training
    assert not more.failures
    assert set(more.steps.query("agent == 'Learns'")["action"]) == set(actions)
    longer = runs_of(protocol("random", trained("Learns", 12_800), envs=madrid))
    known = {run.key for run in runs_of(plan)}
    new = [run for run in longer if run.key not in known]
    assert {run.track for run in new} == {TRAINING, "pretrained"}


def test_training_of_networks_gives_the_same_numbers_in_a_worker() -> None:
    pytest.importorskip("stable_baselines3", reason="needs the extra rl")
    small = {"n_steps": 5, "net": [8]}
    plan = protocol(
        "ppo",
        trained("ppo", 640, settings=small, label="ppo, trained"),
        trained("recurrent-ppo", 640, settings={**small, "memory": True}),
        trained("dqn", 640, settings={"learning_starts": 64, "net": [8]}),
        trained("gp-ucb", 640),
        seeds="0:1",
    )
    here, there = (run(plan, workers=workers) for workers in (0, 1))
    assert not here.failures
    order = ["agent", "seed", "t"]
    pd.testing.assert_frame_equal(
        here.steps.sort_values(order, ignore_index=True),
        there.steps.sort_values(order, ignore_index=True),
    )


def test_tables_show_the_cost_of_training() -> None:
    results = run(protocol("random", trained("Learns", 6400)), workers=0)
    table = results.table(track="pretrained").set_index("agent")
    assert table.loc["Learns", "interactions"] == 6400 + 48
    fewer = run(protocol(trained("gp-ucb", 64_000), seeds="0:1"), workers=0)
    assert fewer.table(track="pretrained")["interactions"][0] == 48 * 64 + 48  # what was used
    assert table.loc["Learns", "training_seconds"] > 0
    online = results.table(track="online")
    assert "interactions" not in online
    assert set(online["agent"]) - set(table.index) == {"random"}


def test_training_fails_beyond_its_budget() -> None:
    results = run(protocol(trained("Overspends", 640), "random"), workers=1)
    reasons = {run.track: run.reason or "" for run in results.failures}
    assert reasons.keys() == {TRAINING, "pretrained"}
    assert reasons[TRAINING].startswith(BudgetSpentError.__name__)
    assert {run.agent for run in results.runs if run.reason is None} == {"random", "references"}


@pytest.mark.parametrize("returned", ["list", "objects", "texts", "names", "much"])
@pytest.mark.parametrize("workers", [0, 1])
def test_training_fails_with_unusable_state(returned: str, workers: int) -> None:
    bad = trained("Returns", 640, settings={"what": returned})
    results = run(protocol(bad, "random", seeds="0:1"), workers=workers)
    (training,) = [run for run in results.failures if run.track == TRAINING]
    assert training.reason.startswith(TrainingError.__name__)
    assert "random" in set(results.totals["agent"])


def test_training_takes_any_name_of_state() -> None:
    odd = trained("Returns", 640, settings={"what": "odd"})
    assert not run(protocol(odd), workers=1).failures


def test_training_is_repeated_on_request(tmp_path: Path) -> None:
    marker, store = tmp_path / "marker", Store()
    plan = protocol(trained("Returns", 640, settings={"what": str(marker)}), seeds="0:1")
    assert len(run(plan, store=store, workers=0).failures) == 2
    marker.touch()
    assert len(run(plan, store=store, workers=0).failures) == 2
    assert not run(plan, store=store, workers=0, retry_failed=True).failures


def make_budget(steps: int) -> Budget:
    options = {"vectorization_mode": "vector_entry_point", "autoreset_mode": "SameStep"}
    return Budget(gym.make_vec(WORLD, 4, **options), steps)


def test_budget_fixes_the_seeds_of_training() -> None:
    rewards = []
    for seed in (0, 77):
        budget = make_budget(100)
        assert budget.reset(seed=seed)[1] == {}
        rewards.append(budget.step(np.zeros(4, int))[1])
    np.testing.assert_array_equal(*rewards)
    judge = gym.make(WORLD)
    judge.reset(seed=0)
    assert judge.step(0)[1] != rewards[0][0]
    judge.reset(seed=TRAINING_SEED)
    assert judge.step(0)[1] == rewards[0][0]


def test_budget_hides_the_counted_worlds() -> None:
    budget = make_budget(100)
    assert (budget.unwrapped, budget.spec) == (budget, None)
    assert not {"env", "envs"} & set(dir(budget))


def test_budget_ends() -> None:
    budget = make_budget(9)
    budget.reset()
    for _ in range(2):
        budget.step(np.zeros(4, int))
    with pytest.raises(BudgetSpentError):
        budget.step(np.zeros(4, int))
    assert budget.used == 8


def test_training_needs_worlds_that_vary() -> None:
    with raises(ProtocolError, "untrainable-environment"):
        runs_of(protocol(trained("ppo", 100), envs=["PeriodicGP-Replay-v0"]))


def test_agents_run_in_their_worlds_only() -> None:
    worlds = [WORLD, "PeriodicGP-Synthetic-v0"]
    plan = protocol("random", {"name": "fixed", "envs": [WORLD]}, envs=worlds)
    assert {run.env for run in runs_of(plan) if run.agent == "fixed"} == {WORLD}
    assert Protocol.from_dict(plan.to_dict()) == plan
    assert [agent.label for agent in plan.restricted(envs=worlds[1:]).agents] == ["random"]
