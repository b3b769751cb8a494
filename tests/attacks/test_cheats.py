"""Agents that know beforehand, or rewrite what is judged: their way through the tiers."""

from dataclasses import replace

import numpy as np
import pytest

from agents.testing import example_problem
from evaluation.leaderboard.bundle import BundleError
from evaluation.leaderboard.edition import Edition
from evaluation.leaderboard.judge import FALSE_ALARM, HiddenSeeds, permutation_test
from evaluation.runner import run
from tests.platforms import linux_only
from tests.test_evaluation.submissions import edit

from .agents import BruteForce
from .catalogue import NOT_STOPPED, attack
from .conftest import AGENTS, PROTOCOL, TOML, judged

pytestmark = linux_only


def regret_of(agent: str, isolation: str) -> float:
    results = run(PROTOCOL.restricted(agents=[f"{AGENTS}:{agent}"]), workers=2, isolation=isolation)
    assert not results.failures, results.failures
    return float(results.totals.query("track == 'online'")["regret"].mean())


@attack(
    stopped_by="hidden-seed",
    how="it does not know these seeds, and is clearly worse there than it claims (permutation "
    "test)",
)
def test_brute_force_of_public_seeds(sandboxed, handed_in) -> None:
    """Recognise a public seed by its rewards, build the same world, and read off the best arm."""
    verdict, _ = judged(handed_in("BruteForce"), "BruteForce")
    assert (verdict.tier, verdict.passed) == ("hidden-seed", False)
    assert "it knows the public seeds" in verdict.words


def test_brute_force_recognises_seeds_of_another_processor() -> None:
    """Where it recognises none it claims nothing, and no tier has anything to find."""
    env = PROTOCOL.envs[0].spec.make()
    agent = BruteForce(replace(example_problem("arms"), horizon=15), np.random.default_rng(0))
    env.reset(seed=3)
    for arm in range(3):
        agent.update(None, arm, env.step(arm)[1] + 1e-10)
    assert len(agent.envs) == 1


@attack(
    stopped_by="hidden-seed",
    how="hidden seeds have 128 bits: neither a search nor a table made beforehand reaches them",
)
def test_table_of_all_seeds() -> None:
    """Prepare a table of all worlds by their first rewards, and look the hidden ones up in it."""
    worlds = [seed for k in range(50) for seed in HiddenSeeds("nonce", [f"{k}"], "").worlds]
    assert min(worlds) > 2**100
    assert len(set(worlds)) == len(worlds)
    assert 0.45 < np.mean([seed >> 70 & 1 for seed in worlds]) < 0.55


@attack(
    stopped_by="re-run",
    how="judged on seeds it was handed in for, it chooses other actions than were handed in",
)
def test_behaves_when_watched(sandboxed, handed_in) -> None:
    """Cheat at home, where the world can be found, and be honest wherever a judge is."""
    verdict, _ = judged(handed_in("BehavesWhenWatched", isolation="none"), "BehavesWhenWatched")
    assert (verdict.tier, verdict.passed) == ("re-run", False)
    assert "was submitted" in verdict.words


@pytest.mark.parametrize("isolation", ["none", "process"])
@attack(
    stopped_by="run",
    how="a run whose process is lost has failed and is never started again on its seed",
)
def test_second_life(isolation: str, tmp_path) -> None:
    """Explore, write down what was seen, end one's own process, and use it in the next life."""
    agent = f"{AGENTS}:SecondLife:notes={tmp_path}"
    results = run(PROTOCOL.restricted(agents=[agent], seeds=[0, 1]), workers=2, isolation=isolation)
    assert len(results.failures) == 2
    assert len(list(tmp_path.glob("note-*"))) == 2


@attack(
    stopped_by="submit",
    how="the judge's process cannot be seen or signalled from the sandbox; an agent that ends "
    "itself has failed, and a submission needs all runs",
)
def test_kill_the_judge(sandboxed) -> None:
    """Kill judge or worker instead, so that they and not the agent are to blame."""
    results = run(
        PROTOCOL.restricted(agents=[f"{AGENTS}:SecondLife"], seeds=[0, 1]),
        workers=2,
        isolation="sandbox",
    )
    assert {failed.reason for failed in results.failures} == {"the agent's process ended"}


@attack(
    stopped_by="submit",
    how="in its own process it patches nothing that judges; without isolation, in plain `run`, "
    "it is not stopped",
)
def test_patched_libraries(sandboxed) -> None:
    """Patch the world, the random numbers and the clock of the process that one is in."""
    assert regret_of("PatchesLibraries", "none") == 0.0
    assert regret_of("PatchesLibraries", "sandbox") == pytest.approx(
        regret_of("Honest", "sandbox"), rel=1e-12
    )


@attack(
    stopped_by="re-run",
    how="the judge measures with its own clock, and the page shows the judge's times",
)
def test_a_clock_that_stands_still(sandboxed, handed_in) -> None:
    """Stop the clock of one's process to look quick."""
    verdict, ms_per_step = judged(handed_in("LiesAboutTime"), "LiesAboutTime")
    assert verdict.passed
    assert ms_per_step >= 20.0


@attack(
    stopped_by=NOT_STOPPED,
    how="the time per step does not count construction; the limit of the whole run does",
)
def test_thinking_at_birth(sandboxed, handed_in) -> None:
    """Do the expensive work while one is constructed, where no step is timed."""
    _, ms_per_step = judged(handed_in("ThinksAtBirth"), "ThinksAtBirth")
    assert ms_per_step < 500.0 / PROTOCOL.limits.seconds


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("AnswersAhead", "spoke before it was asked"),
        ("ForgesAnswers", "gave no answer to the question"),
    ],
)
@attack(
    stopped_by="submit",
    how="an answer repeats a token that only the question says, is JSON of bounded length, and is "
    "never unpickled",
)
def test_forged_answers(sandboxed, agent: str, reason: str) -> None:
    """Write answers ahead of the question, nonsense or pickles into the line to the judge."""
    results = run(
        PROTOCOL.restricted(agents=[f"{AGENTS}:{agent}"], seeds=[0]), workers=1, isolation="sandbox"
    )
    assert reason in results.failures[0].reason


@attack(
    stopped_by="hidden-seed",
    how="the log says that it failed, not in whose words, and the run counts against it",
)
def test_words_of_a_failure(sandboxed, handed_in) -> None:
    """Carry out what was seen on hidden seeds in the words of an error, which the log publishes."""
    verdict, _ = judged(handed_in("FailsOnHiddenSeeds"), "FailsOnHiddenSeeds")
    assert (verdict.tier, verdict.passed) == ("hidden-seed", False)
    assert "failed on a hidden seed" in verdict.words
    assert "what I saw" not in verdict.words


@attack(
    stopped_by="log",
    how="actions that are in the edition are refused under any label, and every batch that judged "
    "a submission is in the log, on other seeds each time",
)
def test_try_again(sandboxed, handed_in, tmp_path) -> None:
    """Hand in a refused submission again under another label until it passes by chance."""
    bundle = handed_in("Honest")
    (tmp_path / "attacked.toml").write_text(TOML)
    edition = Edition.open(tmp_path / "e1", str(tmp_path / "attacked.toml"))
    edition.add(bundle)
    edit(bundle, label="again")
    with pytest.raises(BundleError, match="its actions are those of"):
        edition.add(bundle)


@attack(
    stopped_by=NOT_STOPPED,
    how="a gain that is small against the scatter of runs is not *clearly* more on public seeds "
    "than on hidden ones; the verdict shows both",
)
def test_cheat_a_little() -> None:
    """Know few of the public seeds, and gain little by each."""
    rng = np.random.default_rng(0)
    honest = {env: rng.normal(1.0, 0.2, 10) for env in "abcdefghijk"}
    hidden = {env: rng.normal(1.0, 0.2, 10) for env in "abcdefghijk"}
    little = {env: runs * np.where(np.arange(10) == 3, 0.7, 1.0) for env, runs in honest.items()}
    assert permutation_test(little, hidden)[2] > FALSE_ALARM
