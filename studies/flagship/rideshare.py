"""RideShare, two weeks and fifteen: the mean, the median and the worst runs."""

from __future__ import annotations

import numpy as np

from studies.flagship import AUTO, FlagshipLab, Rows, ratio_of

WORLD = "PeriodicGP-RideShare-v0"
RUNS = ((336, "0:30"), (2520, "0:10"))
"""Steps, and seeds that judge."""
DEVELOPMENT_RUNS = ((336, "1000:1030"), (2520, "1000:1010"))
"""Steps, and seeds that the agent may be developed on."""
AGENTS = (AUTO, "linucb", "lints", "periodic-gp-ucb:time_length_scale=1")


def rideshare(lab: FlagshipLab) -> Rows:
    """Regret as a share of random choice's."""
    rows = []
    for steps, seeds in RUNS:
        results = lab.run(
            f"rideshare-{steps}", envs=[WORLD], agents=AGENTS, seeds=seeds, horizon=steps
        )
        regret = results.regrets(WORLD)
        uniform = regret["uniform-random"].to_numpy()
        for agent in AGENTS:
            mine = regret[agent].to_numpy()
            share = np.sort(mine / uniform)
            row = {"steps": steps, "seeds": seeds, "agent": agent}
            row |= {"random": ratio_of(mine, uniform), "median": float(np.median(share))}
            rows.append(row | {"worst": share[:-3:-1].tolist()})
    return rows
