"""Tests of the commands ``decide``."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from periodic_decisions import Decider
from tests.console import Result, call, error_of
from tests.test_decisions.test_deciding import kiosk, table

QUICK = ("--agent", "periodic-gp-ucb:time_length_scale=1")
PLAN = ["time", "arm", "expected", "low", "high", "mean_so_far", "trial"]
INIT = ("init", "k", "--arms", "billing", "--arms", "sales", "--step", "1h", "--seasons", "1 day")


def decide(folder: Path, *words: str) -> Result:
    """Return the result of a command that succeeds."""
    result = call("decide", *words, cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def json_of(folder: Path, *words: str) -> Any:
    """Return the JSON output of a command."""
    return json.loads(decide(folder, *words, "--json").stdout)


def learn(folder: Path, *words: str) -> str:
    """Learn from a table and return the number of new rewards."""
    return str(decide(folder, "learn", *words).stdout.split()[1])


def test_decide_from_init_to_retire_arm(tmp_path: Path) -> None:
    table(7).to_csv(tmp_path / "past.csv")
    decide(tmp_path, *INIT, *QUICK, "--timezone", "Europe/Madrid", "--objective", "min")
    assert learn(tmp_path, "k", "past.csv") == "336"
    choice = json_of(tmp_path, "ask", "k", "--at", "2026-11-16 00:00")
    assert (choice["arm"], choice["probability"]) == ("sales", 1.0)
    assert choice["time"] == "2026-11-16 00:00:00+01:00"
    decide(tmp_path, "tell", "k", choice["id"], "-12.5")
    assert error_of("decide", "tell", "k", choice["id"], "1", cwd=tmp_path) == "known-reward"
    later = json_of(tmp_path, "ask", "k", "--at", "2026-11-16 12:00")
    assert later["arm"] == "billing"
    assert later["interval"][0] < 12.0 < later["interval"][1]
    decide(tmp_path, "log", "k", "log.csv")
    log = pd.read_csv(tmp_path / "log.csv", index_col="choice_id")["reward"]
    assert log[choice["id"]] == -12.5
    assert log.isna()[later["id"]]
    decide(tmp_path, "plan", "k", "--at", "2026-11-17", "--steps", "30", "--csv", "plan.csv")
    plan = pd.read_csv(tmp_path / "plan.csv")
    assert (list(plan), len(plan)) == (PLAN, 30)
    decide(tmp_path, "add-arm", "k", "chat")
    decide(tmp_path, "retire-arm", "k", "sales")
    assert Decider.load(tmp_path / "k").arms == ("billing", "chat")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (INIT, "file-exists"),
        (("init", "z", *INIT[2:], "--agent", "qqqq"), "unknown-agent"),
        (("ask", "none"), "file-not-found"),
        (("ask", "k", "--at", "soon"), "invalid-time"),
        (("ask", "k", "--at", "2020-01-01"), "before-start"),
        (("tell", "k", "1-000000", "3"), "unknown-choice"),
        (("tell", "k", "1-000000", "nan"), "unknown-choice"),
        (("plan", "k", "--picture", "plan.doc"), "unknown-file-type"),
        (("learn", "k", "none.csv"), "file-not-found"),
        (("plan", "k", "--steps", "0"), "out-of-range"),
        (("log", "k", "nowhere/log.csv"), "cannot-write"),
    ],
)
def test_decide_reports_mistakes_and_keeps_the_file(
    tmp_path: Path, words: tuple[str, ...], code: str
) -> None:
    kiosk(start="2026-11-01").save(tmp_path / "k")
    before = (tmp_path / "k").read_bytes()
    assert error_of("decide", *words, cwd=tmp_path) == code
    assert (tmp_path / "k").read_bytes() == before


def test_decide_ask_and_tell_import_no_pandas(tmp_path: Path) -> None:
    decider = kiosk(agent="auto-gp-ucb")
    choice = decider.choose("2026-11-16")
    decider.save(tmp_path / "k")
    for words in (["ask", "k"], ["tell", "k", choice.id, "3"]):
        code = (
            "import atexit, sys\n"
            "atexit.register(lambda: print('MODULES', *sys.modules))\n"
            f"sys.argv = ['periodic-gp', 'decide', *{words!r}]\n"
            "from periodic_decisions.cli import main\nmain()"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        modules = set(done.stdout.rpartition("MODULES ")[2].split())
        assert "numpy" in modules
        assert not modules & {"pandas", "pyarrow", "matplotlib", "scipy.stats"}
    assert len(Decider.load(tmp_path / "k").log) == 2


def test_decide_open_lists_choices(tmp_path: Path) -> None:
    decider = kiosk()
    first, second = decider.choose("2026-11-16 09:00"), decider.choose("2026-11-16 10:00")
    decider.save(tmp_path / "k")
    decide(tmp_path, "tell", "k", first.id, "3")
    waiting = {"choice_id": second.id, "time": "2026-11-16 10:00:00", "arm": second.arm}
    assert json_of(tmp_path, "open", "k") == [waiting]
    decide(tmp_path, "tell", "k", second.id, "3")
    assert json_of(tmp_path, "open", "k") == []


def test_decide_log_overwrites_only_if_asked(tmp_path: Path) -> None:
    kiosk().save(tmp_path / "k")
    (tmp_path / "log.csv").write_text("mine")
    plan = ("plan", "k", "--at", "2026-11-05", "--csv", "log.csv")
    for words in (("log", "k", "log.csv"), plan):
        assert error_of("decide", *words, cwd=tmp_path) == "file-exists"
    assert (tmp_path / "log.csv").read_text() == "mine"
    decide(tmp_path, "log", "k", "log.csv", "--overwrite")
    assert (tmp_path / "log.csv").read_text().startswith("time,arm,")


def test_decide_plan_draws_a_picture(tmp_path: Path) -> None:
    decider = kiosk()
    decider.learn(table(3))
    decider.save(tmp_path / "k")
    decide(tmp_path, "plan", "k", "--at", "2026-11-05", "--steps", "3", "--picture", "plan.png")
    assert (tmp_path / "plan.png").stat().st_size > 1000


def test_decide_learn_skips_known_rewards(tmp_path: Path) -> None:
    table(2).assign(other=1.0).to_csv(tmp_path / "past.csv")
    decide(tmp_path, *INIT, *QUICK)
    assert "'other'" in decide(tmp_path, "learn", "k", "past.csv").stderr
    assert learn(tmp_path, "k", "past.csv") == "0"
    assert learn(tmp_path, "k", "past.csv", "--again") == "96"


def test_decide_learn_reads_messy_files(tmp_path: Path) -> None:
    """The options are those of ``data check``; logs may have additional columns."""
    (tmp_path / "messy.csv").write_bytes(
        "Zeit;Züri;Genf\n01.03.2026 00:00;1,5;2,5\n01.03.2026 01:00;defekt;3,5\n".encode("cp1252")
    )
    words = ("--arms", "Züri", "--arms", "Genf", "--step", "1h", "--seasons", "1 day")
    decide(tmp_path, "init", "k1", *words)
    assert error_of("decide", "learn", "k1", "messy.csv", cwd=tmp_path) == "not-a-number"
    assert learn(tmp_path, "k1", "messy.csv", "--na-values", "defekt") == "3"
    rows = [f"2026-03-0{i},{'ab'[i % 2]},{i},north" for i in range(1, 8)]
    (tmp_path / "sold.csv").write_text("\n".join(["day,product,sold,store", *rows]))
    (tmp_path / "log.csv").write_text("\n".join(["time,arm,reward,store", *rows]))
    columns = ("--arm-column", "product", "--reward-column", "sold")
    for name, file, options in (("k2", "sold.csv", columns), ("k3", "log.csv", ())):
        decide(tmp_path, "init", name, *("--arms", "a", "--arms", "b", "--step", "1 day"))
        assert learn(tmp_path, name, file, *options) == "7"
