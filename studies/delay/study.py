"""Runs with and without delay, and the page of them."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.specs import WorldSpec
from evaluation.statistics import paired_ratio
from evaluation.store import Store
from periodic_envs.arrays import Array
from studies.lab import Lab, aloud, regret_by_run
from studies.markdown import markdown_table, shown
from studies.pages import write_page

STUDY = "studies.delay"
WORLDS = ("PeriodicGP-SyntheticDiscrete-v0", "PeriodicGP-RideShare-v0")
AGENTS = (
    "ucb1",
    "sw-ucb",
    "exp3-s",
    "linucb",
    "gp-ucb",
    "tv-gp-ucb",
    "periodic-gp-ucb",
    "auto-gp-ucb",
)
"""One or two of each family."""
DELAYS: dict[str, dict[str, Any]] = {
    "at once": {},
    "1 step": {"delay": 1},
    "5 steps": {"delay": 5},
    "20 steps": {"delay": 20},
    "0 to 10 steps": {"delay_random": 10},
    "20 % lost": {"delay_lost": 0.2},
}
"""Arguments of the world, by what they are called; the first is what others are held against."""
QUICK_SEEDS = "0:4"
TEXT = """# Rewards that come late

In practice the reward of a choice is known only later, when the next choices are made already, and
sometimes never. `periodic_envs.DelayedReward` makes any world so; in a protocol or on the command
line a world is named with `delay`, `delay_random` or `delay_lost` among its arguments
(`PeriodicGP-RideShare-v0:delay=20`). An agent is told each reward when it arrives, with the
observation that the choice was made on. This page is written by

    {command}

Mean total regret without delay, and how many times as large it is with rewards that come 1, 5 or 20
steps late, 0 to 10 steps late at random, or not at all in one of five cases; with 95 % intervals,
paired over seeds {seeds}. The horizon is {horizons};
what has not arrived at its end is never told.

{tables}{findings}
"""


def regrets(lab: Lab[Any], env_id: str, seeds: str) -> dict[str, dict[str, Array]]:
    """Of each agent and kind of delay the regret of each seed, shape (seeds,)."""
    envs = [{"id": env_id, "arguments": d, "label": name} for name, d in DELAYS.items()]
    found = regret_by_run(lab.run(_short(env_id), envs=envs, agents=AGENTS, seeds=seeds))
    return {
        agent: {delay: found.loc[delay, agent].to_numpy() for delay in DELAYS} for agent in AGENTS
    }


def table_of(found: dict[str, dict[str, Array]]) -> str:
    """A line for each agent."""
    first, *others = DELAYS
    rows = []
    for agent, by_delay in found.items():
        base = by_delay[first]
        ratios = [shown(paired_ratio(by_delay[other], base), 2) for other in others]
        rows.append([agent, f"{base.mean():,.1f}", *ratios])
    return markdown_table(["agent", f"regret {first}", *others], rows)


def findings_of(found: dict[str, dict[str, dict[str, Array]]]) -> str:
    """What the tables say of the longest delay, in a line for each world."""
    lines = []
    for env_id, by_agent in found.items():
        late = {agent: by_delay["20 steps"].mean() for agent, by_delay in by_agent.items()}
        best = min(late, key=late.__getitem__)
        dearest = max(late, key=lambda agent: late[agent] / by_agent[agent]["at once"].mean())
        times = late[dearest] / by_agent[dearest]["at once"].mean()
        lines.append(
            f"- {_short(env_id)}: 20 steps late, `{best}` loses least ({late[best]:,.1f}), and "
            f"`{dearest}` suffers most, by a factor of {times:.2f}."
        )
    return "\n".join(lines)


def _short(env_id: str) -> str:
    return env_id.removeprefix("PeriodicGP-")


def main(arguments: list[str] | None = None) -> None:
    """Run, print, and write what is to be written."""
    parser = ArgumentParser(description="What rewards that come late cost.")
    parser.add_argument("--docs", type=Path, help="Folder to write delay.md into.")
    parser.add_argument("--seeds", default="0:20", help="Seeds of the runs, as 0:20.")
    parser.add_argument("--quick", action="store_true", help=f"Try the seeds {QUICK_SEEDS} only.")
    parser.add_argument("--workers", type=int, help="Processes; one per core by default.")
    options = parser.parse_args(arguments)
    seeds = QUICK_SEEDS if options.quick else options.seeds
    with Store(None) as store:
        lab: Lab[Any] = Lab(options, store, workers=options.workers, reporting=aloud, name="delay")
        found = {env_id: regrets(lab, env_id, seeds) for env_id in WORLDS}
        command = f"python -m {STUDY} --docs docs --seeds {seeds}"
        stamp = lab.stamp(command, study=STUDY)
    horizons = " and ".join(f"{WorldSpec(e).make().horizon} in {_short(e)}" for e in WORLDS)
    text = TEXT.format(
        command=command,
        seeds=seeds,
        horizons=horizons,
        tables="".join(f"## {_short(e)}\n\n{table_of(rows)}\n\n" for e, rows in found.items()),
        findings=findings_of(found),
    ).rstrip()
    print(text)
    if options.docs:
        numbers = {
            env_id: {
                agent: {delay: np.round(each, 3).tolist() for delay, each in by_delay.items()}
                for agent, by_delay in by_agent.items()
            }
            for env_id, by_agent in found.items()
        }
        write_page(options.docs, "delay", text + "\n", numbers, [stamp])
