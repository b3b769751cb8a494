"""How many interactions generic RL needs to do as well as Periodic-GP-UCB in its one life.

Runs the protocol ``rl-budget`` (but not what is in the store), prints a table and draws it:

    python benchmarks/rl_curve.py [--store rl.sqlite] [--out docs/rl.png]
"""

import argparse
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

import evaluation
from evaluation.cli.progress import Reporter
from evaluation.results import Results
from evaluation.statistics import Interval, mean_interval, paired_difference

LEARNERS = {"ppo": "#0072B2", "recurrent-ppo, memory": "#D55E00"}
GP = "periodic-gp-ucb"


def regrets(results: Results, world: str) -> pd.DataFrame:
    """A row for each seed, a column for each agent."""
    mine = results.totals[results.totals["env"] == world]
    return mine.pivot(index="seed", columns="agent", values="regret")


def budgets(results: Results, learner: str) -> dict[int, str]:
    """Labels of a learner by the interactions that it was trained with."""
    entries = results.sweep.protocol["agents"]
    mine = [entry for entry in entries if entry["label"].rpartition(", ")[0] == learner]
    return {entry["training_steps"]: entry["label"] for entry in mine}


def draw(results: Results) -> Figure:
    """Regret against interactions, one panel per world."""
    figure = Figure(figsize=(10.0, 4.0), dpi=100, layout="constrained")
    for axes, world in zip(figure.subplots(1, len(results.tasks)), results.tasks, strict=True):
        frame = regrets(results, world)
        for learner, colour in LEARNERS.items():
            known = budgets(results, learner)
            found = [mean_interval(frame[label].to_numpy()) for label in known.values()]
            axes.plot(list(known), [f.estimate for f in found], "o-", color=colour, label=learner)
            low, high = [f.low for f in found], [f.high for f in found]
            axes.fill_between(list(known), low, high, color=colour, alpha=0.15)
        for name, style in ((GP, "-"), ("best-fixed", ":"), ("uniform-random", "--")):
            axes.axhline(frame[name].mean(), color="black", linestyle=style, label=name)
        axes.set(title=world, xscale="log", xlabel="interactions in training", ylim=(0.0, None))
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("regret over 200 steps")
    figure.axes[-1].legend(frameon=False, fontsize=8)
    return figure


def written(interval: Interval) -> str:
    """A figure with its interval."""
    return f"{interval.estimate:,.0f} [{interval.low:,.0f}, {interval.high:,.0f}]"


def main() -> None:
    """Run, print, draw."""
    parser = argparse.ArgumentParser(description="Regret of generic RL against interactions.")
    parser.add_argument("--store", default="rl.sqlite")
    parser.add_argument("--out", type=Path, default=Path("docs/rl.png"))
    arguments = parser.parse_args()
    with Reporter(quiet=False, title="rl-budget") as report:
        results = evaluation.run("rl-budget", store=arguments.store, on_progress=report)
    for world in results.tasks:
        frame = regrets(results, world)
        print(f"\n{world}: {GP} {written(mean_interval(frame[GP].to_numpy()))}, random choice")
        print(
            f"{frame['uniform-random'].mean():,.0f}, best fixed {frame['best-fixed'].mean():,.0f}\n"
        )
        print(f"| agent, interactions | regret | minus {GP} |\n|---|--:|--:|")
        for learner in LEARNERS:
            for label in budgets(results, learner).values():
                gap = paired_difference(frame[label].to_numpy(), frame[GP].to_numpy())
                difference = written(Interval(gap.estimate, gap.low, gap.high))
                mean = written(mean_interval(frame[label].to_numpy()))
                print(f"| {label} | {mean} | {difference} |")
    draw(results).savefig(arguments.out)
    print(f"\nDrew {arguments.out}")


if __name__ == "__main__":
    main()
