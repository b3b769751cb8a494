"""Content for the page without a sweep: reproducible, of any size, with hostile names."""

from typing import Any

import numpy as np

from evaluation.columns import page_columns
from evaluation.plots import colour_of, dashes_of

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "=cmd()",
    "a-very-long-name-of-an-agent-that-nobody-would-ever-write-but-somebody-will-" * 2,
    "<!--%{x}<b>&amp;\u2028",
)
"""Names that untrusted users may give their agents."""

GOOD_NAMES = (
    "periodic-gp-ucb",
    "periodic-gp-ucb:time_length_scale=1",
    "gp-thompson",
    "phase-ucb",
    "c-gp-ucb",
    "tv-gp-ucb",
    "gp-ucb",
    "r-gp-ucb",
    "fixed",
    "random",
)
WORLDS = (
    "Synthetic",
    "SyntheticDiscrete",
    "Stationary",
    "Piecewise",
    "Switching",
    "AlmostPeriodic",
    "MultiSeason",
    "HiddenPeriod",
    "Contextual",
    "RideShare",
    "MadridSim",
    "Madrid",
    "Replay",
)
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK"
    "+kcQAAAABJRU5ErkJggg=="
)
"""An image of one pixel."""
TIERS = ("hidden-seed", "re-run", "replayed")


def content(
    *, agents: int = 8, envs: int = 4, steps: int = 200, hostile: bool = False, seed: int = 0
) -> dict[str, Any]:
    """A page of three boards: verified, self-reported and an empty one."""
    names = _names(agents, hostile)
    return {
        "title": "periodic-gp leaderboard",
        "subtitle": "Edition 2026, protocol standard",
        "facts": [
            ["Protocol hash", "3f9a52c07be1"],
            ["Edition opened", "2026-11-16"],
            ["Worlds", str(envs)],
            ["Seeds", "0 to 9"],
        ],
        "notes": [
            "Regret is what an agent loses against the best action of every step. Agents meet the "
            "same worlds and the same noise, so that differences between two rows are paired."
        ],
        "boards": [
            board("Verified", names, envs, steps, TIERS, seed),
            board("Self-reported", names[:3], envs, steps, ("self-reported",), seed + 1),
            board("Pretrained", [], envs, steps, TIERS, seed + 2),
        ],
        "remarks": ["The maintainers ran these agents again."],
    }


def _names(agents: int, hostile: bool) -> list[str]:
    known = [*GOOD_NAMES, *(f"submitted-agent-{i}" for i in range(agents))][:agents]
    if hostile:
        known[1 : 1 + len(HOSTILE)] = HOSTILE
    return known[:agents]


def sparse() -> dict[str, Any]:
    """Return minimal content: two rows of one name, without bands, pairs and season."""
    made = content(agents=3, envs=1, steps=5)
    only = made["boards"][0]
    only.update(references=[], pairs={"envs": [None], "all": None})
    only["envs"][0].update(picture=None, period=None, about="")
    for row in only["rows"]:
        row.update(tier=None, link=None, profile=None, provenance=[], authors="", agent="alone")
        row["normalised"] = [row["normalised"][0], None, None]
        row["envs"][0]["curve"].update(low=None, high=None)
        row["envs"][0]["by_phase"] = [None, 0.5, None]
    only["rows"][2].update(agent="nothing", envs=[None])
    return {**made, "boards": [only], "facts": [], "notes": []}


def board(
    title: str,
    names: list[str],
    envs: int,
    steps: int,
    tiers: tuple[str, ...],
    seed: int,
) -> dict[str, Any]:
    """One board; the later a name comes, the worse it is, more or less."""
    rng = np.random.default_rng(seed)
    skill = np.sort(rng.uniform(0.12, 1.05, len(names)))
    worlds = [_env(k, steps) for k in range(envs)]
    runs = skill[:, None, None] * rng.lognormal(0.0, 0.25, (len(names), envs, 1))
    runs = runs * rng.lognormal(0.0, 0.12, (len(names), envs, 10))
    scale = rng.uniform(60.0, 900.0, envs)
    rows = [
        _row(i, name, runs[i], scale, steps, tiers, rng, last=i == len(names) - 1)
        for i, name in enumerate(names)
    ]
    return {
        "title": title,
        "columns": [column.about() for column in page_columns("overall")],
        "world_columns": [column.about() for column in page_columns("task")],
        "envs": worlds,
        "thresholds": np.linspace(0.0, 1.0, 51).tolist(),
        "rows": rows,
        "references": [_reference("best-fixed", 0.8, scale, steps)] if rows else [],
        "pairs": {
            "envs": [_differences(names, runs[:, k] * scale[k]) for k in range(envs)],
            "all": _differences(names, runs.mean(axis=1)) if names else None,
        },
    }


def _env(k: int, steps: int) -> dict[str, Any]:
    name = WORLDS[k] if k < len(WORLDS) else f"Extra{k}"
    return {
        "name": f"PeriodicGP-{name}-v0",
        "about": "A smooth reward over one action that comes back every season.",
        "picture": None if k == 2 else PICTURE,
        "simulated": False,
        "runs": 10,
        "t": list(range(1, steps + 1)),
        "period": None if k == 3 else 20.0,
    }


def _row(
    i: int,
    name: str,
    runs: np.ndarray,
    scale: np.ndarray,
    steps: int,
    tiers: tuple[str, ...],
    rng: np.random.Generator,
    *,
    last: bool,
) -> dict[str, Any]:
    """The last row has nulls wherever they are allowed."""
    cells: list[dict[str, Any] | None] = [
        _cell(runs[k], scale[k], steps, rng) for k in range(len(scale))
    ]
    if last and len(cells) > 1:
        cells[1] = None
    low, high = np.quantile(runs.mean(axis=0), [0.05, 0.95])
    return {
        "agent": name,
        "look": [colour_of(i), dashes_of(i)],
        "rank": None if last else i + 1,
        "tier": None if last and tiers == TIERS else tiers[i % len(tiers)],
        "authors": "" if last else "A. Author, B. Author",
        "link": "javascript:alert(1)" if i == 1 else f"https://example.org/agents/{i}",
        "normalised": [None] * 3 if last else [float(runs.mean()), float(low), float(high)],
        "mean_rank": [None] * 3
        if last
        else [1.0 + i * 0.9, None if i == 2 else 0.8 + i * 0.9, 1.4 + i],
        "ms_per_step": None if last else float(rng.lognormal(-0.5, 1.2)),
        "envs": cells,
        "profile": None if last else _profile(runs),
        "provenance": [
            ["Source SHA-256", rng.bytes(32).hex()],
            ["Submitted", "2026-11-14"],
            ["Python", "3.11.9"],
            ["Platform", "Linux x86_64, 2 cores"],
            ["Verdicts", "well-formed, replayed, re-run (12 runs), hidden-seed (12 runs)"],
        ],
    }


def _cell(runs: np.ndarray, scale: float, steps: int, rng: np.random.Generator) -> dict[str, Any]:
    estimate, spread = float(runs.mean()), float(1.96 * runs.std(ddof=1) / np.sqrt(len(runs)))
    band = [estimate, estimate - spread, estimate + spread]
    bend = min(estimate, 1.0)
    grown = np.linspace(0.0, 1.0, steps + 1)[1:] ** (0.35 + 0.65 * bend)
    mean = grown * estimate * scale * (1 + 0.02 * np.sin(np.arange(steps) / 3.2))
    width = grown * spread * scale
    phase = np.linspace(0.0, 2 * np.pi, 20, endpoint=False)
    return {
        "normalised": band,
        "regret": [x * scale for x in band],
        "runs": 10,
        "curve": {
            "mean": mean.tolist(),
            "low": (mean - width).tolist(),
            "high": (mean + width).tolist(),
        },
        "by_phase": (
            estimate * (1 + 0.5 * np.sin(phase + rng.uniform(0, 6.3)) * rng.uniform(0.2, 1))
        ).tolist(),
    }


def _profile(runs: np.ndarray) -> dict[str, list[float]]:
    thresholds = np.linspace(0.0, 1.0, 51)
    above = ((1.0 - runs.ravel())[:, None] > thresholds).mean(axis=0)
    return {
        "mean": above.tolist(),
        "low": np.clip(above - 0.06, 0, 1).tolist(),
        "high": np.clip(above + 0.06, 0, 1).tolist(),
    }


def _reference(name: str, level: float, scale: np.ndarray, steps: int) -> dict[str, Any]:
    line = np.linspace(0.0, 1.0, steps + 1)[1:] * level
    cells = [
        {
            "normalised": [level] * 3,
            "regret": [level * size] * 3,
            "runs": 10,
            "curve": dict.fromkeys(("mean", "low", "high"), (line * size).tolist()),
        }
        for size in scale.tolist()
    ]
    return {"agent": name, "envs": cells}


def _differences(names: list[str], values: np.ndarray) -> dict[str, Any]:
    """``values`` has shape (rows, runs)."""
    gaps = values[:, None] - values[None]
    mean, spread = gaps.mean(axis=2), 1.96 * gaps.std(axis=2) / np.sqrt(gaps.shape[2])
    p = np.exp(-np.abs(mean) / np.maximum(spread, 1e-9))
    tables = {"difference": mean, "low": mean - spread, "high": mean + spread, "p": p}
    diagonal = np.eye(len(names), dtype=bool)
    matrices = {name: np.where(diagonal, None, table).tolist() for name, table in tables.items()}
    return {"agents": names, **matrices}
