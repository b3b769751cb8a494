"""What generic RL does in one life and after training, and how much training it needs.

    python -m studies.rl [online pretrained budget] [--docs docs] [--store rl.sqlite]
                                    [--workers 2]

The parts ``online`` and ``pretrained`` are the tracks of the protocol ``rl``, ``budget`` is the
protocol ``rl-budget``; what is in the store is not run again. With ``--docs`` the tables are
written into their places in DOCS/rl.md, too, and the picture of the budget into DOCS/rl.png.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from matplotlib.figure import Figure

from evaluation.plots import agent_styles
from evaluation.protocol import Protocol
from evaluation.results import Results
from evaluation.specs import REFERENCE_ROWS
from periodic_envs.files import write_figure
from studies.comparison import Comparison
from studies.lab import regrets, study_lab, study_parser
from studies.markdown import listed, markdown_table, shown
from studies.pages import require_parts, write_part
from studies.pictures import draw_curve, new_figure

PAGE, PICTURE, STUDY = "rl.md", "rl.png", "studies.rl"
LEARNERS = ("ppo", "recurrent-ppo, memory")
BASELINES = ("auto-gp-ucb", "periodic-gp-ucb")
"""What trained agents are compared with, at its defaults."""
UNTRAINED = (*BASELINES, "periodic-gp-ucb:time_length_scale=1", "auto-gp-ucb:prior=madrid")
"""Agents that are not trained in the worlds; some are not in all of them."""
REFERENCES = {"best-fixed": ":", "uniform-random": "--"}
"""What regret is compared with, and how its lines are drawn."""


def track_text(results: Results, track: str) -> str:
    """Normalised regret and training: a row for each agent, the best first, references last."""
    trained = {e["label"]: e["training_steps"] for e in results.sweep.protocol["agents"]}
    table = results.table(track=track)
    shares = table.pivot(index="agent", columns="task", values="normalised")[[*results.tasks]]
    order = sorted(shares.index, key=lambda a: (a in REFERENCE_ROWS, shares.loc[a].mean(), a))
    learned = [agent for agent in order if trained.get(agent)]
    rows = [
        [
            agent if agent not in REFERENCE_ROWS else f"*{agent}*",
            *("" if share != share else f"{share:.2f}" for share in shares.loc[agent]),
            *([f"{trained[agent]:,}" if agent in learned else ""] if learned else []),
        ]
        for agent in order
    ]
    worlds = [task.removeprefix("PeriodicGP-").removesuffix("-v0") for task in results.tasks]
    training = ["interactions in training"] if learned else []
    return markdown_table(["normalised regret", *worlds, *training], rows)


def budgets(results: Results, learner: str) -> dict[int, str]:
    """Labels of a learner by the interactions that it was trained with."""
    entries = results.sweep.protocol["agents"]
    mine = [entry for entry in entries if entry["label"].rpartition(", ")[0] == learner]
    return {entry["training_steps"]: entry["label"] for entry in mine}


def draw(results: Results) -> Figure:
    """Regret against interactions, one panel per world."""
    figure, panels = new_figure(12.5, 4.0, 1, len(results.tasks))
    styles, named = agent_styles([*LEARNERS, *BASELINES]), {task: task for task in results.tasks}
    for axes, world in zip(panels, results.tasks, strict=True):
        regret = Comparison(regrets(results).loc[world])
        for learner in LEARNERS:
            known = budgets(results, learner)
            found = [regret.mean(label) for label in known.values()]
            draw_curve(axes, list(known), found, color=styles[learner]["color"], label=learner)
        for name in _untrained(results, world):
            plain, _, settings = name.partition(":")
            look = {"color": styles[plain]["color"], "linestyle": "-." if settings else "-"}
            axes.axhline(regret.mean(name).estimate, **look, label=name)
        for name, dashes in REFERENCES.items():
            axes.axhline(regret.mean(name).estimate, color="0.5", linestyle=dashes, label=name)
        axes.set(
            title=named[world], xscale="log", xlabel="interactions in training", ylim=(0.0, None)
        )
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("regret over 200 steps")
    lines, labels = figure.axes[-1].get_legend_handles_labels()  # all take part in the last world
    figure.legend(lines, labels, loc="outside right upper", frameon=False, fontsize=8)
    return figure


def budget_text(results: Results) -> str:
    """A table for each world, and beside it what needs no training."""
    labels = [label for name in LEARNERS for label in budgets(results, name).values()]
    parts = []
    for world in results.tasks:
        found = Comparison(regrets(results).loc[world])
        beside = (*_untrained(results, world), *REFERENCES)
        others = listed({name: found.mean(name) for name in beside}, 0)
        parts += [f"{world}: {others}", _budget_table(found, labels)]
    return "\n\n".join(parts)


def _budget_table(found: Comparison, labels: Sequence[str]) -> str:
    """Regret of each agent, and what it is above those that are not trained."""
    rows = [
        [
            name,
            *(shown(x, 0) for x in (found.mean(name), *(found.minus(name, b) for b in BASELINES))),
        ]
        for name in labels
    ]
    minus = [f"minus {baseline}" for baseline in BASELINES]
    return markdown_table(["agent, interactions", "regret", *minus], rows)


def _untrained(results: Results, world: str) -> list[str]:
    """The agents that are not trained and take part in a world."""
    entries = {entry["label"]: entry for entry in results.sweep.protocol["agents"]}
    return [name for name in UNTRAINED if world in (entries[name]["envs"] or [world])]


PARTS: dict[str, tuple[str, Callable[[Results], str]]] = {
    "online": ("rl", partial(track_text, track="online")),
    "pretrained": ("rl", partial(track_text, track="pretrained")),
    "budget": ("rl-budget", budget_text),
}
"""Of each part the protocol, and how its results are written."""


def main(arguments: list[str] | None = None) -> None:
    """Run, print, and write what is to be written."""
    parser = study_parser(__doc__ or "", store="rl.sqlite", parts=list(PARTS), page=PAGE)
    options = parser.parse_args(arguments)
    chosen = options.parts or list(PARTS)
    with study_lab("rl", options) as lab:
        if options.docs:
            require_parts(options.docs / PAGE, chosen)
        for name in chosen:
            protocol, written = PARTS[name]
            results = lab.sweep(Protocol.load(protocol))
            text = written(results)
            print(f"\n{text}")
            stamp = lab.stamp(f"python -m {STUDY} {name} --docs docs", study=STUDY, part=name)
            if options.docs:
                write_part(options.docs / PAGE, text, stamp)
                if name == "budget":
                    write_figure(draw(results), options.docs / PICTURE)


if __name__ == "__main__":
    main()
