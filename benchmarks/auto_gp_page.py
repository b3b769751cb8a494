"""The page docs/auto-gp.md and its pictures; the figures come from ``auto_gp.py``."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from agents.auto.refit import refit
from agents.auto.reward_level import line
from agents.auto.structures import candidates
from agents.registry import AgentSpec
from evaluation.protocol.world_spec import WorldSpec
from evaluation.running.play import play

WINDOW = "2017-11-03"
PERIODS = np.arange(6.0, 60.5, 0.5)
COMMAND = "python benchmarks/auto_gp.py"
NOT_TOLD = ", not told"

Array = NDArray[np.float64]


def pictures(docs: Path) -> dict[str, Any]:
    """What both entries learned in one development window; returns the evidence over periods."""
    env = WorldSpec("PeriodicGP-Madrid-v0", {"start": WINDOW}).make()
    names = ("auto-gp-ucb", "auto-gp-ucb:prior=madrid")
    runs = [play(env, AgentSpec.parse(name), 0) for name in names]
    beliefs = [np.stack([run.agent.belief(240.0 + h)[0] for h in range(24)]) for run in runs]  # type: ignore[attr-defined]
    process = env.episode.process
    truth = np.array([[float(process.mean(a, t)) for a in range(24)] for t in range(240)])
    _profiles(docs / "auto-gp-profiles.png", truth.reshape(10, 24, 24).mean(0), *beliefs)
    evidence = _evidence(runs[0])
    _period(docs / "auto-gp-period.png", evidence)
    best = float(PERIODS[int(evidence.argmax())])
    flat = {str(p): float(e) for p, e in zip(PERIODS, evidence, strict=True)}
    return {"best": best, "evidence": flat}


def _profiles(path: Path, *tables: Array) -> None:
    titles = ("measured, mean of ten days", "told nothing: next day", "pretrained: next day")
    figure, axes = plt.subplots(1, 3, figsize=(10, 4), sharey=True, layout="constrained")
    top = float(np.quantile(tables[0], 0.98))
    for axis, table, title in zip(axes, tables, titles, strict=True):
        image = axis.imshow(table.T, aspect="auto", vmin=0, vmax=top, cmap="magma")
        axis.set(title=title, xlabel="hour of day")
    axes[0].set_ylabel("station (arm)")
    figure.colorbar(image, ax=axes, label="NO, ug/m3")
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _evidence(run: Any) -> Array:
    """Log evidence of "both" for each period, on all that the agent saw."""
    agent = run.agent
    past, problem = agent.history, agent._problem
    y, reward_level = agent.scale.forward(past.reward), line(past)
    worlds = [replace(problem, periods=(float(period),)) for period in PERIODS]
    kernels = [candidates(world, reward_level=reward_level)[-1].kernel for world in worlds]
    kernels.append(candidates(problem, season=False, reward_level=reward_level)[-1].kernel)
    fits = [refit(kernel, agent.posterior.actions, past, y, 0.03, move=False) for kernel in kernels]
    values = np.array([fit.log_evidence for fit in fits])
    return values[:-1] - values[-1]


def _period(path: Path, evidence: Array) -> None:
    figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
    axis.plot(PERIODS, evidence)
    axis.axhline(0.0, color="grey", lw=0.8)
    axis.axvline(24.0, color="grey", lw=0.8, ls=":")
    axis.set(xlabel="period, hours", ylabel="log evidence\nagainst no season")
    figure.savefig(path, dpi=80)
    plt.close(figure)


def write_page(figures: dict[str, Any], docs: Path) -> None:
    """Everything that has been computed so far."""
    parts = [INTRODUCTION, _verdicts(figures)]
    makers = {"madrid-2018": _madrid, "core": _core, "untold": _untold}
    makers |= {"ablation": _ablation, "share": _share, "cost": _cost}
    parts += [maker(figures[name]) for name, maker in makers.items() if name in figures]
    if "pictures" in figures:
        parts.append(_seen(figures["pictures"]))
    parts.append(LIMITS)
    (docs / "auto-gp.md").write_text("\n".join(parts), encoding="utf-8")


def _verdicts(figures: dict[str, Any]) -> str:
    """What was aimed at, and what came of it."""
    rows = []
    for row in figures.get("madrid-2018", ()):
        limits = {"auto-gp-ucb": (0.95, 0.85), "auto-gp-ucb:prior=madrid": (0.80, 0.70)}
        if row["goal"] == "max" and row["agent"] in limits:
            most, aim = limits[row["agent"]]
            share = row["static"][0]
            wanted = f"at most {most:.2f}, aim {aim:.2f}"
            what = f"{row['agent']}, Madrid 2018, over best static"
            rows.append([what, wanted, f"{share:.3f}", _reached(share, most, aim)])
    if "core" in figures:
        told = [r for r in figures["core"] if not r["world"].endswith(NOT_TOLD)]
        above = [r["world"] for r in told if r["ratio"][0] > 1.15]
        worst = max(r["ratio"][0] for r in told)
        again = [r["world"] for r in told if "before" in r and r["before"]["ratio"][0] > 1.15]
        word = f"not in {', '.join(above)}" if above else "yes"
        word += f"; in {' and '.join(again)} only with more seeds" if again else ""
        wanted = "at most 1.15 on every core id"
        rows.append(["over the best that is told the truth", wanted, f"{worst:.3f} at worst", word])
    for row in figures.get("core", ()):
        if row["world"].endswith(NOT_TOLD):
            ratio, what = row["ratio"][0], f"{row['world']} the season, over the best that is"
            rows.append([what, "at most 1.25", f"{ratio:.3f}", "yes" if ratio <= 1.25 else "no"])
    if "cost" in figures:
        ratios = [r["ratio"] for r in figures["cost"]]
        text = f"{np.mean(ratios):.1f} on average, {max(ratios):.1f} at worst"
        word = "yes" if max(ratios) <= 5.0 else "on average"
        rows.append(["cost of a step over periodic-gp-ucb's", "at most 5", text, word])
    return "## In short\n\n" + _table(["what", "wanted", "measured", "reached"], rows)


def _reached(value: float, most: float, aim: float) -> str:
    return "the aim" if value <= aim else "yes, not the aim" if value <= most else "no"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "--:|" * (len(heads) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def _interval(values: list[float], digits: int = 2) -> str:
    middle, *ends = (f"{value:.{digits}f}" for value in values)
    return f"{middle} [{', '.join(ends)}]" if ends else middle


def _madrid(rows: list[dict[str, Any]]) -> str:
    text = MADRID
    for goal, title in (("max", "Seeking the most NO"), ("min", "Seeking the least NO")):
        for track, name in (("online", "told nothing"), ("pretrained", "pretrained")):
            mine = [r for r in rows if r["goal"] == goal and r["track"] == track]
            table = [
                [r["agent"], f"{r['regret']:,.0f}", _interval(r["static"]), f"{r['gp']:.2f}"]
                for r in sorted(mine, key=lambda r: r["regret"])
            ]
            heads = ["agent", "regret", "over best static [95 %]", "over gp-ucb"]
            text += f"\n{title}, {name}:\n\n" + _table(heads, table)
        known = [r for r in rows if r["goal"] == goal and r["track"] == "references"]
        shares = [f"{r['agent']} {r['static'][0]:.2f}" for r in known if r["agent"] != "oracle"]
        text += f"\nIn hindsight, over best static: {', '.join(shares)}.\n"
    return text


def _core(rows: list[dict[str, Any]]) -> str:
    heads = [
        "world",
        "seeds",
        "auto-gp-ucb",
        "best told the truth",
        "its regret",
        "ratio [95 %]",
        "<= 1.15",
    ]
    table = [
        [
            r["world"],
            r.get("seeds", "0:10"),
            f"{r['auto']:,.1f}",
            r["best"],
            f"{r['told']:,.1f}",
            _interval(r["ratio"], 3),
            "yes" if r["ratio"][0] <= 1.15 else "no",
        ]
        for r in rows
    ]
    before = [
        f"{r['world']} {_interval(r['before']['ratio'])} on seeds {r['before']['seeds']}"
        for r in rows
        if "before" in r
    ]
    chosen = f"\nRun again with more seeds because of what few had shown: {'; '.join(before)}.\n"
    return CORE + _table(heads, table) + (chosen if before else "")


def _untold(rows: list[dict[str, Any]]) -> str:
    table = [
        [
            r["world"],
            r["agent"],
            f"{r['untold']:,.1f}",
            f"{r['told']:,.1f}",
            _interval(r["ratio"], 3),
        ]
        for r in rows
    ]
    return UNTOLD.format(seeds=rows[0]["seeds"]) + _table(
        ["world", "agent", "not told", "told", "ratio [95 %]"], table
    )


def _ablation(rows: list[dict[str, Any]]) -> str:
    about, *rest = rows
    table = [[r["agent"], f"{r['share']:.3f}", _interval(r["gap"], 0)] for r in rest]
    heads = ["agent", "over best static", "difference per window [95 %]"]
    low, high = (f"{share:.2f}" for share in about["twelve"])
    text = ABLATION.format(
        windows=about["windows"], static=f"{about['static']:,.0f}", low=low, high=high
    )
    return text + _table(heads, table)


def _share(rows: list[dict[str, Any]]) -> str:
    table = [
        [
            f"{r['data']}, {r['runs']} runs",
            f"{r['share']:g}",
            f"{r['regret']:,.0f}",
            _interval(r["ratio"], 3),
        ]
        for r in rows
    ]
    chosen = f"{rows[0]['share']:g}"
    heads = ["data", "share beforehand", "regret per run", f"over that of {chosen} [95 %]"]
    return SHARE.format(chosen=chosen) + _table(heads, table)


def _cost(rows: list[dict[str, Any]]) -> str:
    table = [
        [r["world"], f"{r['auto']:.2f}", f"{r['periodic']:.2f}", f"{r['ratio']:.1f}"] for r in rows
    ]
    mean = np.mean([r["ratio"] for r in rows])
    heads = ["world", "auto-gp-ucb, ms", "periodic-gp-ucb, ms", "ratio"]
    return COST + _table(heads, table) + f"\nMean of the ratios: {mean:.1f}.\n"


def _seen(found: dict[str, Any]) -> str:
    return SEEN.format(window=WINDOW, best=f"{found['best']:g}")


INTRODUCTION = f"""# auto-gp-ucb: an agent that needs to be told nothing

This page is written by `{COMMAND}`; every section names the part of it that makes its figures.

```sh
.venv/bin/periodic-gp play PeriodicGP-RideShare-v0 auto-gp-ucb
.venv/bin/periodic-gp play PeriodicGP-HiddenPeriod-v0 auto-gp-ucb
.venv/bin/periodic-gp play PeriodicGP-Madrid-v0 auto-gp-ucb:prior=madrid
```

What it learns, and how ([agents/auto](../agents/auto)):

- **Structure.** A level, a season, persistence, or both, each with a share that is an arm's own
  and one that all arms have in common. Which of them hold is weighed by evidence, and what is
  improbable is dropped. Where the season is told and the scale is not, each arm also has a slope
  against a running mean of the rewards ([reward_level.py](../agents/auto/reward_level.py)): when
  all are high, some gain more than others.
- **Season.** Its length if the problem tells it. If not, it is searched for among lengths from 5
  steps to a quarter of the run (at least 20, at most 200), exactly as `period=auto` does.
- **Scale.** Rewards as they are or their log1p, by evidence with the Jacobian; then their mean and
  standard deviation.
- **Variances**, the noise and the season's share among them, by maximum a posteriori on the first
  and the newest 48 rewards of its own, at 8, 24, 72, ... rewards (8, 16, 32, ... while no season is
  told): rarer and rarer, at a bounded cost. At most 2,048 observations are kept for it.
- **What others' choices tell.** If past decisions were the best of their moments, all other arms
  were worth no more then. Whether they were is decided by evidence, too (against choices at
  random); each bound then enters the belief by moment matching
  ([censored.py](../agents/gp/posteriors/censored.py)).
- **Exploration.** Half of the paper's beta, but at least 1, where the scale of the rewards is not
  told; the paper's schedule where it is. There the candidates are those of the paper and its
  discussion: level, season, drifting season, persistence; where there are contexts, level and
  season with them and without.

Two entries, in two tracks that are never ranked together: **told nothing** but the season, which
has the 48 warm-start pairs that everyone has, and **pretrained** (`prior=madrid`), which also has
7.7 kB of summary statistics of 2016 and 2017 that `python benchmarks/madrid_prior.py` writes: a
profile per station, covariances between stations, persistence. (The harness's own door to training
offers interactions with worlds of the same kind; a replay of 2018 would train on what is judged,
and only the other years may be learned from. So the file is shipped.)
"""

MADRID = f"""
## Madrid 2018

Twelve windows from the 3rd of each month, ten days, two of them warm start
(`{COMMAND} madrid-2018`). Regret over all windows, as a share of the best static station's in
hindsight, and of GP-UCB's. Intervals are over windows.

**This is not a blind test.** Earlier versions of the agent were judged here, too, and one of the
figures made us look again: 0.853 with beta = 1; 0.991 with the growing beta of today and a fixed
share of the season of 0.75; 0.885 with a fixed share of 0.25; 0.980 with one that is learned, of
0.35 beforehand. After that came slopes against the reward level, and more structures are kept in
the average; both were chosen on 2016 and 2017 alone.
Such jumps are mostly chance (see "What each part brings" for how little twelve windows tell), and
the figure below is the last of five.
"""

CORE = f"""
## The core worlds

200 steps (`{COMMAND} core`), against the agent of the zoo with the least regret there (all that are
told the season, contexts, scale and noise). Where this agent is not told the season, the others
still are. Nothing was set on these seeds. Rows may be computed one by one (`--worlds`): those of
worlds that tell the scale are older than the last changes, which do not touch them.

"""

UNTOLD = f"""
## Not told the season

The same worlds with and without the season's length (`reveal_period`), 200 steps, seeds {{seeds}}
(`{COMMAND} untold --seeds {{seeds}}`), for this agent and for
`periodic-gp-ucb:time_length_scale=1`, which then searches, too. `Replay-v0` is the example of
demand that comes with the package, 672 hours without a warm start, on which this agent was
developed; it is one run, the same for all seeds. `Stationary` has no season: telling one misleads.

"""

ABLATION = f"""
## What each part brings

On {{windows}} windows of 2016 and 2017 on which everything was developed
(`{COMMAND} ablation`), so these figures are optimistic; they begin every five days and overlap, so
the intervals are somewhat too short. The best static station has a regret of {{static}} per window.
**Twelve windows tell little**: of twelve drawn from these, nine draws in ten have `auto-gp-ucb`
between {{low}} and {{high}} of the best static station. Differences are to `auto-gp-ucb` (or to the
pretrained entry), paired by window: above zero, the part that was taken away helps, or the other
exploration is worse. The pretrained entry learned from 2016 is judged on 2017, and the other way
round.

"""

SHARE = f"""
## The season's share

How much of what sets an arm apart comes and goes with the season is learned. The share that is
assumed beforehand was chosen on data that judge nothing (`{COMMAND} share`): windows of 2016 and
2017, one every five days, so that they overlap; and seeds from 1000 on. {{chosen}} was chosen
before there was a reward level and an average over structures, when Madrid liked a large one
least and the others liked it best. Today 0.5 would do as well or better; it was left as it is, so
as not to look
at 2018 once more.

"""

COST = f"""
## Cost

CPU time per step over 192 steps, construction and refits included, five seeds
(`{COMMAND} cost`).

"""

SEEN = f"""
## What it learned about Madrid

The window from {{window}} (`{COMMAND} pictures`): what both entries expect of the next day at every
station, beside what was measured. (The first with the reward level of the last hour, all day.)

![Profiles by station](auto-gp-profiles.png)

The log evidence of a season of each length, on what the told-nothing agent saw, against none; the
best is {{best}} hours.

![Evidence over the period](auto-gp-period.png)
"""

LIMITS = """
## Limits

- A season that nobody told is searched for one at a time: no second one, and none that drifts
  where the scale is told. Time is counted in steps. What others' choices tell is not used then, and
  rebuilding the belief takes seconds where there are many arms.
- "Told nothing" is told how long a season is; not told that either, see above.
- Contexts count where the scale of the rewards is told. The posterior then grows with time.
- Structures are chosen on few rewards: of 60 worlds without a season (60 rewards, noise of 0.3),
  nothing but a season was kept in 9 (`tests/test_agents/test_auto.py`). Refits look again.
- The pretrained prior is about NO: on other pollutants it misleads. It has no months or weekdays,
  since an agent sees neither.
- Tried on Madrid 2016 and 2017 and left out, since nothing was clearly better there:
  mixtures of seasonal profiles, covariances by maximum likelihood, spreads by hour, two speeds of
  persistence, looking ahead, other exploration, other transformations; some 90 variants, by scripts
  that are not kept. Rounding errors alone move either entry by 0.01 there.
"""
