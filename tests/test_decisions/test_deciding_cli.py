"""Tests of the commands ``decide``."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from periodic_decisions import Decider
from tests.test_decisions.test_deciding import kiosk, table
from tests.test_evaluation.test_cli import call

QUICK = ("--agent", "periodic-gp-ucb:time_length_scale=1")
PLAN = ["time", "arm", "expected", "low", "high", "mean_so_far", "trial"]
INIT = ("init", "k", "--arms", "billing", "--arms", "sales", "--step", "1h", "--seasons", "1 day")


def decide(folder: Path, *words: str, fails: bool = False) -> str:
    """Return the output of a command."""
    done = call("decide", *words, cwd=folder)
    assert done.returncode == int(fails), done.stdout + done.stderr
    return " ".join((done.stderr if fails else done.stdout).split())


def test_decide_from_init_to_retire_arm(tmp_path: Path) -> None:
    table(7).to_csv(tmp_path / "past.csv")
    said = decide(tmp_path, *INIT, *QUICK, "--timezone", "Europe/Madrid", "--objective", "min")
    assert said.startswith(
        "Created k: billing, sales, every 1 hour Next: periodic-gp decide learn k "
    )
    assert decide(tmp_path, "learn", "k", "past.csv") == "Learned 336 rewards from past.csv"
    answer = json.loads(decide(tmp_path, "ask", "k", "--at", "2026-11-16 00:00", "--json"))
    assert (answer["arm"], answer["probability"]) == ("sales", 1.0)
    assert answer["time"] == "2026-11-16 00:00:00+01:00"
    assert decide(tmp_path, "tell", "k", answer["id"], "-12.5").startswith(
        "Learned the reward -12.5 of 1-"
    )
    again = decide(tmp_path, "tell", "k", answer["id"], "1", fails=True)
    assert again == f"Error: the reward of choice {answer['id']} is already known: -12.5"
    shown = decide(tmp_path, "ask", "k", "--at", "2026-11-16 12:00")
    assert shown.startswith("arm billing id 2-")
    assert "expected 1" in shown
    said = decide(tmp_path, "log", "k", "log.csv")
    assert said == "Wrote the log into log.csv; 1 reward is not known yet"
    assert pd.read_csv(tmp_path / "log.csv")["reward"].tolist()[0] == -12.5
    assert "billing" in decide(tmp_path, "plan", "k", "--at", "2026-11-17", "--steps", "24")
    decide(tmp_path, "plan", "k", "--at", "2026-11-17", "--steps", "30", "--csv", "plan.csv")
    assert list(pd.read_csv(tmp_path / "plan.csv")) == PLAN
    assert decide(tmp_path, "add-arm", "k", "chat") == "Arms: billing, sales, chat"
    assert decide(tmp_path, "retire-arm", "k", "sales") == "Arms: billing, chat"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (INIT, "'k' already exists"),
        (("ask", "none"), "none' does not exist: create a decider with periodic-gp decide init"),
        (("ask", "k", "--at", "soon"), "a time must be a datetime or text like"),
        (("tell", "k", "1-000000", "3"), "unknown choice '1-000000'"),
        (("tell", "k", "1-000000", "nan"), "unknown choice"),
        (("plan", "k", "--picture", "plan.doc"), "a picture's name must end in"),
        (("learn", "k", "none.csv"), "cannot read 'none.csv'"),
        (("plan", "k", "--steps", "0"), "steps must be a whole number"),
        (("log", "k", "nowhere/log.csv"), "cannot write"),
    ],
)
def test_decide_reports_mistakes_and_keeps_the_file(
    tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    kiosk().save(tmp_path / "k")
    before = (tmp_path / "k").read_bytes()
    assert sentence in decide(tmp_path, *words, fails=True)
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
    said = decide(tmp_path, "open", "k")
    assert said == f"choice_id time arm {second.id} 2026-11-16 10:00:00 {second.arm}"
    (row,) = json.loads(decide(tmp_path, "open", "k", "--json"))
    assert row == {"choice_id": second.id, "time": "2026-11-16 10:00:00", "arm": second.arm}
    decide(tmp_path, "tell", "k", second.id, "3")
    assert decide(tmp_path, "open", "k") == "No choice is open: all rewards are known."
    assert json.loads(decide(tmp_path, "open", "k", "--json")) == []


def test_decide_log_overwrites_only_if_asked(tmp_path: Path) -> None:
    kiosk().save(tmp_path / "k")
    (tmp_path / "log.csv").write_text("mine")
    assert "'log.csv' already exists" in decide(tmp_path, "log", "k", "log.csv", fails=True)
    plan = ("plan", "k", "--at", "2026-11-05", "--csv", "log.csv")
    assert "'log.csv' already exists" in decide(tmp_path, *plan, fails=True)
    assert (tmp_path / "log.csv").read_text() == "mine"
    decide(tmp_path, "log", "k", "log.csv", "--overwrite")
    assert (tmp_path / "log.csv").read_text().startswith("time,arm,")


def test_decide_plan_draws_a_picture(tmp_path: Path) -> None:
    decider = kiosk()
    decider.learn(table(3))
    decider.save(tmp_path / "k")
    words = ("plan", "k", "--at", "2026-11-05", "--steps", "3", "--picture", "plan.png")
    assert decide(tmp_path, *words).endswith("Wrote the figure into plan.png")
    assert (tmp_path / "plan.png").stat().st_size > 1000
    early = decide(tmp_path, "ask", "k", "--at", "2020-01-01", fails=True)
    assert "create the decider with an earlier --start ..." in early
    unknown = decide(tmp_path, "init", "z", *INIT[2:], "--agent", "qqqq", fails=True)
    assert (
        unknown
        == "Error: there is no agent 'qqqq'; 'periodic-gp agents' lists the available agents"
    )


def test_decide_learn_reports_skipped_rewards(tmp_path: Path) -> None:
    table(2).assign(other=1.0).to_csv(tmp_path / "past.csv")
    decide(tmp_path, *INIT, *QUICK)
    decide(tmp_path, "learn", "k", "past.csv")
    done = call("decide", "learn", "k", "past.csv", cwd=tmp_path)
    assert done.returncode == 0
    assert "ignored: 'other'" in done.stderr
    assert "96 of 96 rewards" in done.stderr
    assert "skipped; --again counts them again" in done.stderr
    assert "Learned 0 rewards" in done.stdout
    assert "Learned 96" in decide(tmp_path, "learn", "k", "past.csv", "--again")


def test_decide_learn_reads_messy_files(tmp_path: Path) -> None:
    """Whatever ``data check`` reads with some options, and a log with a column more."""
    (tmp_path / "messy.csv").write_bytes(
        "Zeit;Züri;Genf\n01.03.2026 00:00;1,5;2,5\n01.03.2026 01:00;defekt;3,5\n".encode("cp1252")
    )
    words = ("--arms", "Züri", "--arms", "Genf", "--step", "1h", "--seasons", "1 day")
    decide(tmp_path, "init", "k1", *words)
    assert "defekt" in decide(tmp_path, "learn", "k1", "messy.csv", fails=True)
    said = decide(tmp_path, "learn", "k1", "messy.csv", "--na-values", "defekt")
    assert "Learned 3 rewards" in said
    log = ["day,product,sold,store"] + [
        f"2026-03-0{i},{'ab'[i % 2]},{i},north" for i in range(1, 8)
    ]
    (tmp_path / "sold.csv").write_text("\n".join(log))
    (tmp_path / "log.csv").write_text("\n".join(["time,arm,reward,store", *log[1:]]))
    options = ("--arm-column", "product", "--reward-column", "sold")
    for name, file, given in (("k2", "sold.csv", options), ("k3", "log.csv", ())):
        decide(tmp_path, "init", name, *("--arms", "a", "--arms", "b", "--step", "1 day"))
        assert "Learned 7 rewards" in decide(tmp_path, "learn", name, file, *given)
