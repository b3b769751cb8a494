"""Windows of tables: the agent beside what else one would take, over references in hindsight."""

from __future__ import annotations

from evaluation.results import Results
from evaluation.specs import REFERENCES
from periodic_envs.arrays import Array
from studies.flagship import AUTO, FlagshipLab, Rows, ratio_of
from studies.flagship.table_windows import DEVELOPMENT, Windows, other_windows

SHORTLIST = (
    AUTO,
    "seasons-gp-ucb",
    "switching-gp-ucb",
    "periodic-gp-ucb",
    "periodic-gp-ucb:time_length_scale=1",
    "gp-ucb",
    "gp-thompson",
    "linucb",
    "lints",
    "phase-ucb",
    "phase-ts",
    "thompson",
    "ucb1",
    "fixed",
    "random",
)
"""Who is judged: of each family of the zoo those that come first somewhere."""
HINDSIGHT = "best-per-phase"
"""The reference that stands below the agents."""
FIXED, UNIFORM = "best-fixed", "uniform-random"


def tables(lab: FlagshipLab) -> Rows:
    """The development tables, or those of the command line."""
    asked = other_windows(lab.size) if lab.size.table else there(DEVELOPMENT)
    worlds = [world for windows in asked for world in windows.worlds()]
    if not worlds:
        return []
    results = lab.run("tables", envs=worlds, agents=SHORTLIST)
    return [row for windows in asked for row in _rows(results, windows)]


def there(asked: tuple[Windows, ...]) -> list[Windows]:
    """Those whose file is there; what is missing is said."""
    missing = dict.fromkeys(windows.file for windows in asked if not windows.file.is_file())
    for file in missing:
        print(f"There is no table {file.name} in ../shared/data/tables: its rows are left out.")
    return [windows for windows in asked if windows.file not in missing]


def _rows(results: Results, windows: Windows) -> Rows:
    """Of every agent the regret over the best fixed arm's, over random's, and late in the run."""
    fixed, uniform = (_steps(results, windows, name) for name in (FIXED, UNIFORM))
    about = {"task": windows.name, "windows": len(fixed), "steps": windows.steps}
    about |= {"warm": windows.warm, "period": list(windows.period)}
    rows = []
    for agent in (*SHORTLIST, HINDSIGHT):
        regret = _steps(results, windows, agent)
        late = 2 * regret.shape[1] // 3
        ratios = {
            "fixed": ratio_of(regret.sum(1), fixed.sum(1)),
            "random": ratio_of(regret.sum(1), uniform.sum(1)),
        }
        if fixed[:, late:].any():  # else the best fixed arm loses nothing there
            ratios["last"] = ratio_of(regret[:, late:].sum(1), fixed[:, late:].sum(1))
        rows.append({**about, "agent": agent, **ratios})
    return rows


def _steps(results: Results, windows: Windows, agent: str) -> Array:
    """Regret of each window and step, windows in their order."""
    reference = agent in (FIXED, UNIFORM, HINDSIGHT)
    curves = results.curves(windows.name, agent, REFERENCES if reference else "online")
    order = sorted(range(len(curves.names)), key=curves.names.__getitem__)
    return curves.regret[order]
