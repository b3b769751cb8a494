"""Sweeps: the same numbers wherever they run, whatever happens on the way."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evaluation
from evaluation.protocol import Protocol
from evaluation.results import Results
from evaluation.runner import dispatch, execute_all, run
from evaluation.runs import runs_of
from evaluation.store import Store
from evaluation.workers import InProcess, execute
from tests.platforms import linux_only, posix_only

AGENTS = Path(__file__).with_name("faulty_agents.py")
WORLD = "PeriodicGP-SyntheticDiscrete-v0"


def protocol(*agents: str, seeds: str = "0:2", seconds: float = 60.0, **change) -> Protocol:
    named = [f"{AGENTS}:{agent}" if agent[0].isupper() else agent for agent in agents]
    table = {"envs": [WORLD], "agents": named, "seeds": seeds, "horizon": 20}
    limits = {"seconds": seconds, "memory_mb": 400}
    return Protocol.from_dict({**table, "limits": limits, **change})


def parent_of(pid: str) -> str:
    return (Path("/proc") / pid / "stat").read_text().rpartition(")")[2].split()[1]


def worker_pids() -> list[int]:
    """The pool's workers: children of the fork server, which is a child of ours."""
    pids = []
    for pid in (folder.name for folder in Path("/proc").iterdir() if folder.name.isdecimal()):
        with contextlib.suppress(OSError):  # gone in the meantime
            server = parent_of(pid)
            command = (Path("/proc") / server / "cmdline").read_text()
            if "forkserver" in command and parent_of(server) == str(os.getpid()):
                pids.append(int(pid))
    return pids


def reasons(results: Results) -> dict[str, str]:
    return {run.agent.rpartition(":")[2]: run.reason or "" for run in results.failures}


@pytest.fixture(scope="module")
def plain() -> pd.DataFrame:
    """The steps of a small sweep, run in this process."""
    return run(protocol("random", "gp-ucb", "gp-thompson", "Good"), workers=0).steps


@pytest.mark.parametrize("where", [{"workers": 1}, {"workers": 3}, {"dask": "local", "workers": 2}])
def test_the_same_numbers_everywhere(plain: pd.DataFrame, where: dict) -> None:
    again = run(protocol("random", "gp-ucb", "gp-thompson", "Good"), **where).steps
    order = ["env", "agent", "seed", "t"]
    pd.testing.assert_frame_equal(
        plain.sort_values(order, ignore_index=True), again.sort_values(order, ignore_index=True)
    )


@linux_only
def test_bad_agents_cost_their_own_cells() -> None:
    bad = {
        "Raises": r"RuntimeError: a bad day \(faulty_agents.py, line \d+\)",
        "RaisesAtBirth": "RuntimeError: never born",
        "Hangs": "took more than 3 seconds",
        "HangsStubbornly": "took more than 3 seconds",
        "HangsInC": "took more than 3 seconds",
        "Leaves": "SystemExit: enough",
        "SaysTheUnspeakable": r"RuntimeError: bad \? .\[31m letters x+$",
        "Eats": "took more than 400 MB of memory",
        "Exits": r"its process died \(exit code 3\)",
        "ReturnsNaN": "InvalidAction: action must be a whole number .* got nan",
        "WrongShape": "InvalidAction: action must be a whole number",
        "WrongType": "InvalidAction: action must be a whole number .* got 'left'",
    }
    results = run(protocol("Good", *bad, "random", seeds="0:1", seconds=3.0), workers=2)
    found = reasons(results)
    assert found.keys() == bad.keys()
    for agent, pattern in bad.items():
        assert pd.Series([found[agent]]).str.match(pattern).all(), found[agent]
    assert set(results.totals["agent"]) >= {"random", f"{AGENTS}:Good"}


def test_leaving_is_no_way_out_in_process() -> None:
    found = reasons(run(protocol("Leaves", seeds="0:1"), workers=0))
    assert found["Leaves"].startswith("SystemExit: enough")


@pytest.mark.parametrize("workers", [0, 1])
def test_one_thread_everywhere(workers: int) -> None:
    assert not run(protocol("CountsThreads", seeds="0:1"), workers=workers).failures


def test_workers_know_the_data_of_now(
    imported_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the server that they start from is older than the change."""
    madrid = protocol("random", seeds="0:1", envs=["PeriodicGP-Madrid-v0"])
    simulated = run(madrid, workers=1).steps
    monkeypatch.setenv("PERIODIC_GP_DATA", str(imported_folder))
    again = Protocol.from_dict(madrid.to_dict())
    measured = [run(again, workers=n).steps for n in (0, 1)]
    pd.testing.assert_frame_equal(*measured)
    assert not measured[0]["reward"].equals(simulated["reward"])


def test_a_worker_with_other_data_or_code_refuses() -> None:
    run = runs_of(protocol("random", envs=["PeriodicGP-MadridSim-v0"]))[1]
    assert execute(run).reason is None
    assert "other data than the driver" in execute(replace(run, data="x")).reason
    assert "other code than the driver" in execute(replace(run, sources="x")).reason


@pytest.mark.parametrize("workers", [0, 1])
def test_an_edited_agent_is_another_agent(tmp_path: Path, workers: int) -> None:
    file = tmp_path / "mine.py"
    text = AGENTS.read_text()
    file.write_text(text)
    os.utime(file, (1e9, 1e9))
    table = {"envs": [WORLD], "agents": [f"{file}:Good"], "seeds": "0:2", "horizon": 5}
    store = Store()
    first = run(Protocol.from_dict(table), store=store, workers=workers)
    assert (first.steps["action"] == 0).all()
    file.write_text(text.replace("return 0 if", "return 7 if"))
    os.utime(file, (1e9, 1e9))  # as after two edits within a second
    again = run(Protocol.from_dict(table), store=store, workers=workers)
    assert (again.steps["action"] == 7).all()


@posix_only
def test_no_agent_has_a_second_life(tmp_path: Path) -> None:
    """One that dies is not told again what it has seen: that run has failed."""
    dying = f"DiesOnce:marker={tmp_path / 'marker'}"
    results = run(protocol(dying, "random", seeds="0:3"), workers=2)
    assert [failed.reason for failed in results.failures] == ["its process died (exit code 9)"]
    assert (tmp_path / "marker").exists()


@linux_only
def test_kill_9_of_a_pool_worker(tmp_path: Path) -> None:
    """Somebody kills a worker: the run that it was at has failed, and all others are run once."""
    log = tmp_path / "log"
    slow = protocol(f"Counts:log={log},pause=0.02", seeds="0:6")
    killed: list[int] = []

    def kill_one(progress) -> None:
        if progress.done >= 3 and not killed:
            workers = [p for p in worker_pids() if p not in killed]
            killed.append(workers[0])
            os.kill(workers[0], signal.SIGKILL)

    results = run(slow, workers=2, references=False, on_progress=kill_one)
    assert killed
    assert len(results.failures) <= 1
    assert all("process died (exit code -9)" in failed.reason for failed in results.failures)
    assert len(results.totals) + len(results.failures) == 6
    lives = len(log.read_text().split())  # the lost run may not have come to its agent
    assert len(results.totals) <= lives <= 6


@pytest.mark.parametrize("isolation", ["sandboxed", "Sandbox", ""])
def test_an_unknown_isolation_is_refused(isolation: str) -> None:
    """Taken for none, it would run strangers' code without any."""
    with pytest.raises(ValueError, match="isolation must be one of none, sandbox, got"):
        run(protocol("random"), workers=0, isolation=isolation)


def test_seeds_are_not_counted() -> None:
    with pytest.raises(ValueError, match=r"seeds must be a text .* or a list .*, got 3"):
        run(protocol("random"), workers=0, seeds=3)  # type: ignore[arg-type]


def test_seeds_may_be_of_numpy() -> None:
    results = run(protocol("random"), workers=0, seeds=np.arange(2))
    assert {found.seed for found in results.runs} == {0, 1}
    with pytest.raises(ValueError, match=r"seeds must be .* whole numbers from 0 on"):
        run(protocol("random"), workers=0, seeds=np.array([0.5]))


@pytest.mark.parametrize("workers", [-1, "2", 1.5, True])
def test_a_wrong_number_of_workers_is_refused(workers: Any) -> None:
    """A pool of -1 waited for ever."""
    said = "workers must be a whole number of at least 0, got"
    with pytest.raises(ValueError, match=said):
        run(protocol("random"), workers=workers)
    with pytest.raises(ValueError, match=said):
        execute_all([], workers=workers)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"protocol": 3}, "protocol must be a Protocol, the name of one or the path .*, got 3"),
        ({"store": 3}, "store must be the path of a file, a Store or None, got 3"),
        ({"envs": "PeriodicGP-RideShare-v0"}, r"envs must be a list, .*: write envs=\[...\]"),
        ({"envs": 3}, r"envs must be a list, got 3: write envs=\[...\]"),
        ({"agents": "random"}, r"agents must be a list, got 'random': write agents=\[...\]"),
        ({"agents": 5}, r"agents must be a list, got 5: write agents=\[...\]"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        evaluation.run(**{"protocol": "smoke", "seeds": "0:1", "workers": 0, **given})


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    counted = protocol(f"Counts:log={log}", seeds="0:4")
    run(counted, store=tmp_path / "s.sqlite", workers=0)
    assert len(log.read_text().split()) == 4
    seen = []
    run(counted, store=tmp_path / "s.sqlite", workers=0, on_progress=seen.append)
    assert len(log.read_text().split()) == 4
    assert (seen[0].done, seen[0].runs) == (8, 8)
    more = counted.restricted(seeds=range(6))
    run(more, store=tmp_path / "s.sqlite", workers=0)
    assert len(log.read_text().split()) == 6


def test_failures_are_kept_and_tried_again_when_asked(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    marker = tmp_path / "absent" / "marker"
    failing = protocol(f"DiesOnce:marker={marker}", seeds="0:1")
    assert len(run(failing, store=store, workers=0).failures) == 1  # no such folder
    marker.parent.mkdir()
    marker.touch()
    assert len(run(failing, store=store, workers=0).failures) == 1
    assert not run(failing, store=store, workers=0, retry_failed=True).failures


DRIVER = """
import sys
from pathlib import Path
from evaluation.runner import run
from tests.test_evaluation.test_sweep import counting
if __name__ == "__main__":
    run(counting(sys.argv[2]), store=sys.argv[1], workers=2)
"""


def counting(log: Path | str) -> Protocol:
    return protocol(f"Counts:log={log},pause=0.005", "random", seeds="0:12")


def drive(store: Path, log: Path) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", DRIVER, str(store), str(log)])


def finished(store: Path) -> int:
    if not store.exists() or store.stat().st_size == 0:
        return 0
    with Store(store, create=False) as opened:
        return sum(len(opened.runs(r.id)) for r in opened.sweeps())


@posix_only
def test_kill_9_of_the_driver_and_resume(tmp_path: Path) -> None:
    """Nothing is lost, nothing that was finished is run twice, the numbers are the same."""
    store, log, whole = tmp_path / "s.sqlite", tmp_path / "log", tmp_path / "whole.sqlite"
    driver = drive(store, log)
    while finished(store) < 8 and driver.poll() is None:
        time.sleep(0.02)
    driver.kill()
    driver.wait()
    assert 8 <= finished(store) < 36
    time.sleep(2.0)  # its workers finish what they have in hand and notice that they are alone
    lives = len(log.read_text().split())
    with Store(store, create=False) as opened:
        kept = sum("Counts" in run.agent for run in opened.runs(1))
    assert drive(store, log).wait() == 0
    assert len(log.read_text().split()) - lives == 12 - kept
    log.write_text("")
    run(counting(log), store=whole, workers=2)
    with Store(store, create=False) as a, Store(whole, create=False) as b:
        resumed, uninterrupted = (Results(s.source(s.sweeps()[0].id)) for s in (a, b))
        assert len(resumed.runs) == len(uninterrupted.runs) == 36
        pd.testing.assert_frame_equal(resumed.steps, uninterrupted.steps)


def test_two_drivers_on_one_store(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    drivers = [drive(store, tmp_path / "log") for _ in range(2)]
    assert [driver.wait() for driver in drivers] == [0, 0]
    with Store(store, create=False) as opened:
        assert len(opened.sweeps()) == 1
        assert len(opened.runs(1)) == 36


def test_three_lines_in_a_notebook() -> None:
    results = evaluation.run("smoke", agents=["random", "fixed"], seeds="0:2", workers=0)
    assert list(results.steps.columns) == [
        *("agent", "env", "seed", "t", "action", "reward", "regret"),
    ]
    assert isinstance(results.table(), pd.DataFrame)
    assert set(results.overall()["agent"]) == {"random", "fixed"}


def test_every_run_has_one_outcome() -> None:
    runs = runs_of(protocol("random", "Raises", seeds="0:5"))
    outcomes = list(dispatch(InProcess(), runs))
    assert sorted(o.key for o in outcomes) == sorted(c.key for c in runs)
    assert sum(o.reason is not None for o in outcomes) == 5
    assert all(np.isfinite(o.seconds) for o in outcomes)


def test_workers_import_libraries_once(tmp_path: Path) -> None:
    """A library of an agent is imported for the first of its runs only."""
    (tmp_path / "mine.py").write_text(
        "import os\nfrom tests.test_evaluation.faulty_agents import Counts\n"
        f"with open({str(tmp_path / 'imported')!r}, 'a') as file: print(os.getpid(), file=file)\n"
        "class Mine(Counts): pass\n"
    )
    log = tmp_path / "log"
    results = run(protocol(f"{tmp_path / 'mine.py'}:Mine:log={log}", seeds="0:5"), workers=1)
    assert not results.failures
    assert len(log.read_text().split()) == 5
    imported = (tmp_path / "imported").read_text().split()
    assert set(imported) - {str(os.getpid())} == set(log.read_text().split())
    assert len(imported) == 2  # here, where it is checked, and in the worker
