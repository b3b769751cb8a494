"""Files that transcripts use, by the names in ``$ prepare NAME``."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evaluation.leaderboard.edition import LOG
from evaluation.leaderboard.submission import submit
from evaluation.protocol import Protocol
from evaluation.store import Store
from periodic_decisions import Decider
from periodic_envs.worlds.replay import EXAMPLE
from tests.test_envs import portal_files
from tests.test_evaluation import faulty_agents, stores, submissions

ROOT = Path(__file__).parents[2]
SMALL = 'envs = ["PeriodicGP-{}-v0"]\nagents = ["random"]\nseeds = "0:2"\nhorizon = 5\n'


def example(folder: Path) -> None:
    """Copy the example table."""
    shutil.copy(EXAMPLE, folder / "demand.csv")


def small_table(folder: Path) -> None:
    """Write a table of two arms and three steps."""
    (folder / "two.csv").write_text("t,a,b\n0,1,2\n1,2,1\n2,1,2\n")


def failing_agents(folder: Path) -> None:
    """Copy the agents that fail."""
    shutil.copy(faulty_agents.__file__, folder)


def results(folder: Path) -> None:
    """Write a store with invented runs of two agents."""
    with Store(folder / "results.sqlite") as store:
        store.begin(stores.PROTOCOL, stores.RUNS)
        for place, run in enumerate(stores.RUNS):
            store.save(stores.a_record(run, 1.0 + place))


def failures(folder: Path) -> None:
    """Write a store in which every run failed."""
    with Store(folder / "failures.sqlite") as store:
        store.begin(stores.PROTOCOL, stores.RUNS)
        for run in stores.RUNS:
            store.save(stores.a_record(run, reason="it hung"))


def protocols(folder: Path) -> None:
    """Write the protocol of the bundles, and two that an edition cannot have."""
    (folder / "small.toml").write_text(submissions.TOML)
    (folder / "few-runs.toml").write_text(SMALL.format("SyntheticDiscrete"))
    (folder / "replay.toml").write_text(SMALL.format("Replay"))


def bundle(folder: Path, agent: str = "random") -> None:
    """Write a bundle, and its protocol."""
    protocols(folder)
    shutil.rmtree(folder / "bundle", ignore_errors=True)
    protocol = Protocol.load(folder / "small.toml")
    how = {"authors": ["A. Author"], "isolation": "none", "workers": 0}
    submit(submissions.entry(agent, "Mine"), protocol, folder / "bundle", **how)


def own_agent(folder: Path) -> None:
    """Write a bundle of an agent that is not in this package."""
    shutil.copy(ROOT / "examples" / "custom_agent.py", folder)
    bundle(folder, f"{folder}/custom_agent.py:EpsilonGreedy")


def changed_log(folder: Path) -> None:
    """Change a line in the log of an edition."""
    log = folder / "leaderboard" / "e1" / LOG
    log.write_text(log.read_text().replace('"time":"2', '"time":"3', 1))


def past_rewards(folder: Path) -> None:
    """Write tables to learn from: two days, and the same with an unknown arm, or a conflict."""
    times = pd.date_range("2026-11-14", periods=48, freq="h")
    arms = {"billing": times.hour % 12, "sales": 12 - times.hour % 12}
    table = pd.DataFrame(arms, index=times.rename("time"))
    table.to_csv(folder / "past.csv")
    table.assign(other=1).to_csv(folder / "other.csv")
    table.rename(columns={"sales": "chat"}).to_csv(folder / "chat.csv")
    pd.concat([table, table[:1] + 1]).to_csv(folder / "twice.csv")


def decider(folder: Path) -> None:
    """Write a decider with the open choice 1-000000."""
    past_rewards(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secrets.randbelow", lambda _: 0)
        kiosk = Decider(["billing", "sales"], step="1h", seasons=["1 day"], agent="ucb1")
        kiosk.choose("2026-11-16 09:00")
        kiosk.save(folder / "kiosk")


def decision_log(folder: Path) -> None:
    """Write logs of twenty days, one of them without overlap, with a schedule and tables."""
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-01-01", periods=480, freq="h")
    arms, morning = rng.integers(0, 2, 480), times.hour < 12
    rewards = np.where(arms == 0, morning, ~morning) + rng.integers(0, 2, 480)
    log = pd.DataFrame({"time": times, "arm": np.array(["billing", "sales"])[arms]})
    log = log.assign(reward=rewards, probability=0.5)
    log.to_csv(folder / "log.csv", index=False)
    log.assign(time=range(480)).to_csv(folder / "steps.csv", index=False)
    log[:72].to_csv(folder / "short.csv", index=False)
    log.assign(probability=2.0).to_csv(folder / "wrong.csv", index=False)
    log[(arms == 0) | ~morning].to_csv(folder / "mornings.csv", index=False)
    hours = [f"{hour:02}:00,{'billing' if hour < 12 else 'sales'}" for hour in range(24)]
    (folder / "plan.csv").write_text("\n".join(["when,arm", *hours]))
    (folder / "nights.csv").write_text("\n".join(["when,arm", *hours[:6]]))


def tables(folder: Path) -> None:
    """Write a European table, a long one with gaps, one with faults, and a season of two steps."""
    days = pd.date_range("2024-03-29", periods=72, freq="h")
    words = ["closed" if i % 30 == 7 else f"{5 - 4 * (i % 24 // 12)},5" for i in range(72)]
    shops = pd.DataFrame({"Zeitpunkt": days.strftime("%d.%m.%Y %H:%M"), "Köln": words, "Bonn": "3"})
    shops.to_csv(folder / "shops.csv", index=False, sep=";", encoding="cp1252")
    goods = pd.DataFrame({"day": range(60), "ice": [5, 1] * 30, "soup": [2, 3] * 30, "price": 1})
    goods.to_csv(folder / "goods.csv", index=False)
    long = goods.drop(columns="price").melt("day", var_name="product", value_name="sales")
    long = pd.concat([long[long.index % 23 != 22], long[:2]]).assign(note="-")
    long.to_csv(folder / "long.csv", index=False)
    rows = "2026-01-01 00:00,1,x y\n2026-01-01 01:00,2,3\n2026-01-01 02:00,2,3\n"
    (folder / "words.csv").write_text("time,a,b\n" + rows)
    (folder / "months.csv").write_text("time,a,b\n2010-01,1,2\n2010-02,2,3\n2010-03,3,4\n")


def measurements(folder: Path) -> None:
    """Write files of the Madrid portal, a damaged one, and other files."""
    (folder / "files").mkdir()
    (folder / "files" / "march.csv").write_bytes(portal_files.csv(portal_files.csv_line()))
    (folder / "files" / "notes.txt").write_text("hello")
    (folder / "cut.csv").write_bytes(portal_files.csv(portal_files.csv_line()[:50]))
    (folder / "page.zip").write_text("<html>")


PREPARE: dict[str, Callable[[Path], object]] = {
    "demand.csv": example,
    "two.csv": small_table,
    "tables": tables,
    "measurements": measurements,
    "faulty_agents.py": failing_agents,
    "results.sqlite": results,
    "failures.sqlite": failures,
    "text.sqlite": lambda folder: (folder / "text.sqlite").write_text("hello" * 1000),
    "protocols": protocols,
    "bundle": bundle,
    "forged-regret": lambda folder: submissions.edit_run(folder / "bundle", 0, regret=1e308),
    "forged-step": lambda folder: submissions.change_step(folder / "bundle", "4", 5, 50),
    "forged-label": lambda folder: submissions.edit(folder / "bundle", label="two\nlines"),
    "own-agent": own_agent,
    "changed-log": changed_log,
    "decider": decider,
    "decision-log": decision_log,
}
