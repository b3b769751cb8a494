"""How many interactions generic RL needs to do as well as Periodic-GP-UCB in its one life.

Runs the protocol ``rl-budget`` (but not what is in the store), prints a table and draws it:

    python -m evaluation.studies.rl_curve [--store rl.sqlite] [--out docs/rl.png]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from evaluation.protocol.protocol import Protocol
from evaluation.results import Results
from evaluation.studies.comparison import Comparison
from evaluation.studies.lab import regrets, study_lab, study_parser
from evaluation.studies.markdown import listed, markdown_table, shown
from evaluation.studies.pictures import BLUE, ORANGE, draw_curve, new_figure
from periodic_envs.files import write_figure

LEARNERS = {"ppo": BLUE, "recurrent-ppo, memory": ORANGE}
GP = "periodic-gp-ucb"
OTHERS = {GP: "-", "best-fixed": ":", "uniform-random": "--"}
"""Agents that need no training, and how their lines are drawn."""


def budgets(results: Results, learner: str) -> dict[int, str]:
    """Labels of a learner by the interactions that it was trained with."""
    entries = results.sweep.protocol["agents"]
    mine = [entry for entry in entries if entry["label"].rpartition(", ")[0] == learner]
    return {entry["training_steps"]: entry["label"] for entry in mine}


def draw(results: Results) -> Figure:
    """Regret against interactions, one panel per world."""
    figure, panels = new_figure(10.0, 4.0, 1, len(results.tasks))
    for axes, world in zip(panels, results.tasks, strict=True):
        regret = Comparison(regrets(results).loc[world])
        for learner, colour in LEARNERS.items():
            known = budgets(results, learner)
            found = [regret.mean(label) for label in known.values()]
            draw_curve(axes, list(known), found, color=colour, label=learner)
        for name, style in OTHERS.items():
            axes.axhline(regret.mean(name).estimate, color="black", linestyle=style, label=name)
        axes.set(title=world, xscale="log", xlabel="interactions in training", ylim=(0.0, None))
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("regret over 200 steps")
    figure.axes[-1].legend(frameon=False, fontsize=8)
    return figure


def table(found: Comparison, labels: Sequence[str]) -> str:
    """Regret of each agent, and what it is above that of Periodic-GP-UCB."""
    rows = [[name, shown(found.mean(name), 0), shown(found.minus(name, GP), 0)] for name in labels]
    return markdown_table(["agent, interactions", "regret", f"minus {GP}"], rows)


def main() -> None:
    """Run, print, draw."""
    parser = study_parser(__doc__ or "", store="rl.sqlite")
    parser.add_argument("--out", type=Path, default=Path("docs/rl.png"), help="The picture.")
    options = parser.parse_args()
    with study_lab("rl", options) as lab:
        results = lab.sweep(Protocol.load("rl-budget"))
        write_figure(draw(results), options.out)
        labels = [label for name in LEARNERS for label in budgets(results, name).values()]
        for world in results.tasks:
            found = Comparison(regrets(results).loc[world])
            print(f"\n{world}: {listed({name: found.mean(name) for name in OTHERS}, 0)}\n")
            print(table(found, labels))
    print(f"\nDrew {options.out}")


if __name__ == "__main__":
    main()
